#include "plait/comm/inside/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"

namespace plait::dist {
namespace {

constexpr int64_t kBlock = 1024;  // elements whose sums stay in the nearest cache

template <class T>
using Accumulator = std::conditional_t<kIsPackedFloat<T>, float, T>;

bool is_bitwise(ReduceOp op) {
  return op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
}

bool can_reduce(ReduceOp op, DType dtype) {
  const DTypeKind kind = kDTypes[static_cast<size_t>(dtype)].kind;
  if (kind == DTypeKind::key) return false;
  const bool is_number = kind == DTypeKind::floating || kind == DTypeKind::complex;
  if (is_bitwise(op)) return !is_number;
  if (op == ReduceOp::average) return is_number;
  return kind != DTypeKind::complex || (op != ReduceOp::min && op != ReduceOp::max);
}

// Integers wrap.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <ReduceOp op, class T>
T combine(T a, T b) {
  constexpr bool kIsInteger = std::is_integral_v<T>;
  if constexpr (op == ReduceOp::sum || op == ReduceOp::average) {
    return sum_of(a, b);
  } else if constexpr (op == ReduceOp::product) {
    return product_of(a, b);
  } else if constexpr (op == ReduceOp::min || op == ReduceOp::max) {
    if constexpr (kIsComplex<T>) {
      return a;  // refused
    } else {
      const bool takes_b = op == ReduceOp::min ? b < a : a < b;
      return takes_b || b != b ? b : a;  // a NaN stays
    }
  } else if constexpr (!kIsInteger) {
    return a;  // refused
  } else if constexpr (op == ReduceOp::band) {
    return static_cast<T>(a & b);
  } else if constexpr (op == ReduceOp::bor) {
    return static_cast<T>(a | b);
  } else {
    return static_cast<T>(a ^ b);
  }
}

template <ReduceOp op, class T>
void reduce_as(std::span<const std::byte* const> parts, std::byte* out, int64_t count) {
  using A = Accumulator<T>;
  alignas(64) std::array<A, kBlock> sums;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    const auto part_of = [&](size_t part) {
      return reinterpret_cast<const T*>(parts[part]) + begin;
    };
    const T* const first = part_of(0);
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = static_cast<A>(first[i]);
    for (size_t part = 1; part < parts.size(); ++part) {
      const T* const next = part_of(part);
      for (int64_t i = 0; i < size; ++i) {
        A& sum = sums[static_cast<size_t>(i)];
        sum = combine<op>(sum, static_cast<A>(next[i]));
      }
    }
    T* const result = reinterpret_cast<T*>(out) + begin;
    for (int64_t i = 0; i < size; ++i) {
      A sum = sums[static_cast<size_t>(i)];
      if constexpr (op == ReduceOp::average && !std::is_integral_v<A>) {
        sum /= static_cast<A>(parts.size());
      }
      result[i] = static_cast<T>(sum);
    }
  }
}

template <class T>
void reduce_by(ReduceOp op, std::span<const std::byte* const> parts, std::byte* out,
               int64_t count) {
  switch (op) {
    case ReduceOp::sum: return reduce_as<ReduceOp::sum, T>(parts, out, count);
    case ReduceOp::average: return reduce_as<ReduceOp::average, T>(parts, out, count);
    case ReduceOp::product: return reduce_as<ReduceOp::product, T>(parts, out, count);
    case ReduceOp::min: return reduce_as<ReduceOp::min, T>(parts, out, count);
    case ReduceOp::max: return reduce_as<ReduceOp::max, T>(parts, out, count);
    case ReduceOp::band: return reduce_as<ReduceOp::band, T>(parts, out, count);
    case ReduceOp::bor: return reduce_as<ReduceOp::bor, T>(parts, out, count);
    case ReduceOp::bxor: return reduce_as<ReduceOp::bxor, T>(parts, out, count);
  }
}

}  // namespace

void check_reduction(std::string_view function, ReduceOp op, DType dtype) {
  if (can_reduce(op, dtype)) return;
  throw TypeError("{}: there is no {} of {}", function, name_of(op), name_of(dtype))
      .hint(op == ReduceOp::average ? "convert it to a floating dtype, or take the sum" : "");
}

void reduce_parts(ReduceOp op, DType dtype, std::span<const std::byte* const> parts, std::byte* out,
                  int64_t count) {
  with_element_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, KeyBits>) reduce_by<T>(op, parts, out, count);
  });
}

}  // namespace plait::dist
