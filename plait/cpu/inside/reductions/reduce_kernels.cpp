// Reductions. The order of additions does not depend on the vector length, so that a sum has the
// same bits at every level.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/reductions/reduce_kernels.cpp"
#include "plait/cpu/inside/reductions/reduce_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "plait/core/inside/system/immortal.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/elementwise/lanes.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

using ir::Reduction;

namespace hn = hwy::HWY_NAMESPACE;

// ---- Operations on two numbers, or two vectors; `before` is applied to each element first.

struct OfElements {
  static constexpr Reduced kReduced = Reduced::elements;
  template <class V>
  static HWY_INLINE V before(V x) {
    return x;
  }
};

struct Sum : OfElements {
  template <class A>
  static constexpr A identity() {
    return A(0);
  }
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return a + b;
  }
};
struct SumOfSquares : Sum {
  static constexpr Reduced kReduced = Reduced::squares;
  template <class V>
  static HWY_INLINE V before(V x) {
    return x * x;
  }
};
struct Product : OfElements {
  template <class A>
  static constexpr A identity() {
    return A(1);
  }
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return a * b;
  }
};
template <bool greatest>
struct Extreme : OfElements {
  template <class A>
  static constexpr A identity() {
    using Limits = std::numeric_limits<A>;
    if constexpr (Limits::has_infinity) return greatest ? -Limits::infinity() : Limits::infinity();
    return greatest ? Limits::lowest() : Limits::max();
  }
  // NaN propagates: if a is NaN, comparisons with b are false.
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    if constexpr (std::is_arithmetic_v<V>) {
      const V number = (greatest ? b > a : b < a) ? b : a;  // without a branch
      return b != b ? b : number;
    } else if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
      // The instructions Max and Min return their second operand if either is NaN.
      return hn::IfThenElse(b == b, greatest ? hn::Max(b, a) : hn::Min(b, a), b);
    } else {
      return greatest ? hn::Max(b, a) : hn::Min(b, a);
    }
  }
};
template <bool all>
struct Truth : OfElements {
  template <class A>
  static constexpr A identity() {
    return A(all);
  }
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    if constexpr (std::is_arithmetic_v<V>) return static_cast<V>(all ? a & b : a | b);
    return all ? a & b : a | b;
  }
};

// The operation that combines totals.
template <class Op>
using OfTotals = std::conditional_t<std::is_same_v<Op, SumOfSquares>, Sum, Op>;

// ---- T is the type in memory, A that of the computation.

template <class A, class T>
HWY_INLINE A load(const T* x) {
  if constexpr (std::is_same_v<T, A>) {
    return *x;
  } else {
    return widened(*x);
  }
}

template <class A>
using Tag = hn::ScalableTag<A>;

HWY_INLINE hn::Vec<Tag<float>> widened_vector(const BFloat16* x) {
  const hn::Rebind<hwy::bfloat16_t, Tag<float>> narrow;
  return hn::PromoteTo(Tag<float>(),
                       hn::LoadU(narrow, reinterpret_cast<const hwy::bfloat16_t*>(x)));
}

HWY_INLINE hn::Vec<Tag<float>> widened_vector(const Float16* x) {
  const Tag<float> d;
  const hn::Rebind<hwy::float16_t, Tag<float>> narrow;
  const auto number =
      hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(x)));
  if constexpr (hn::MaxLanes(Tag<float>()) != 4) {
    return number;
  } else {
    // Highway at SSE4 converts infinity and NaN of f16 to numbers from 2^16 on.
    const hn::Rebind<uint16_t, Tag<float>> codes;
    const hn::Rebind<uint32_t, Tag<float>> wide;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(codes, reinterpret_cast<const uint16_t*>(x)));
    const auto mantissa = hn::ShiftLeft<13>(bits & hn::Set(wide, 0x3ff));
    const auto sign = hn::ShiftLeft<16>(bits & hn::Set(wide, 0x8000));
    const auto special = hn::BitCast(d, mantissa | sign | hn::Set(wide, 0x7f800000));
    return hn::IfThenElse(hn::Abs(number) > hn::Set(d, 65535.0F), special, number);
  }
}

// Vectors of at most `most` elements; single elements if Highway has no such vectors, or no
// multiplication of them.
template <class Op, class A, int64_t most>
struct Lanes {
  static constexpr bool kAreVectors =
      std::is_arithmetic_v<A> && !(std::is_same_v<Op, Product> && std::is_same_v<A, uint64_t>);
  using D = hn::CappedTag<std::conditional_t<kAreVectors, A, uint8_t>, kAreVectors ? most : 1>;
  static constexpr auto kCount = static_cast<int64_t>(kAreVectors ? hn::MaxLanes(D()) : 1);

  template <class T>
  static HWY_INLINE auto load(const T* x) {
    if constexpr (!kAreVectors) {
      return *x;
    } else if constexpr (std::is_same_v<T, A>) {
      return hn::LoadU(D(), x);
    } else {
      return widened_vector(x);
    }
  }
  template <class V>
  static HWY_INLINE void store(const V& value, A* to) {
    if constexpr (kAreVectors) {
      hn::StoreU(value, D(), to);
    } else {
      *to = value;
    }
  }
};
constexpr int64_t kAny = 64;  // no limit

template <class Op, class V>
HWY_INLINE V join(V total, V a) {
  return Op::of(total, a);
}
template <class Op, class V>
HWY_INLINE V join(V total, V a, V b, V c, V d) {
  return Op::of(total, Op::of(Op::of(a, b), Op::of(c, d)));
}

// totals[i] is combined with element i of each row.
template <class Op, int64_t most = kAny, class A, class... T>
HWY_INLINE void join_each(int64_t count, A* totals, const T*... x) {
  using L = Lanes<Op, A, most>;
  int64_t i = 0;
  for (; i < count / L::kCount * L::kCount; i += L::kCount) {
    L::store(join<Op>(L::load(totals + i), Op::before(L::load(x + i))...), totals + i);
  }
  for (; i < count; ++i) totals[i] = join<Op>(totals[i], Op::before(load<A>(x + i))...);
}

// Four rows at a time, which are combined before they are added to the totals. So totals are read
// and written a fourth as often, and rounding errors accumulate over a fourth of the additions.
template <class Op, class T, class A>
void join_columns(const T* x, int64_t rows, int64_t stride, int64_t count, A* totals) {
  for (; rows >= 4; rows -= 4, x += 4 * stride) {
    join_each<Op>(count, totals, x, x + stride, x + 2 * stride, x + 3 * stride);
  }
  for (; rows > 0; --rows, x += stride) join_each<Op>(count, totals, x);
}

// Combines the halves of the totals repeatedly, down to one.
template <class Op, int64_t count, class A>
HWY_INLINE A fold(A* totals) {
  if constexpr (count == 1) {
    return totals[0];
  } else {
    join_each<OfTotals<Op>, count / 2>(count / 2, totals, totals + count / 2);
    return fold<Op, count / 2>(totals);
  }
}

// The remaining elements of a row, one by one.
template <class Op, class T, class A>
HWY_INLINE A join_rest(A total, const T* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) total = Op::of(total, Op::before(load<A>(x + i)));
  return total;
}

// The number of totals in the longest vector.
template <class A>
constexpr int64_t kSide = std::max<int64_t>(64 / sizeof(A), 4);

// A row: elements whose indices are equal modulo `width` share a total; the totals are then folded.
template <class Op, int64_t width, class T, class A>
HWY_INLINE A fold_row(const T* x, int64_t count) {
  using L = Lanes<Op, A, kAny>;
  constexpr int64_t kVectors = width / L::kCount;
  alignas(64) A totals[width];
  decltype(L::load(totals)) vectors[kVectors];
  std::fill_n(totals, width, Op::template identity<A>());
  for (int64_t v = 0; v < kVectors; ++v) vectors[v] = L::load(totals + v * L::kCount);
  const int64_t left = count % width, rest = count % kSide<A>;
  for (const T* end = x + (count - left); x != end; x += width) {
    for (int64_t v = 0; v < kVectors; ++v) {
      vectors[v] = Op::of(vectors[v], Op::before(L::load(x + v * L::kCount)));
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) L::store(vectors[v], totals + v * L::kCount);
  for (int64_t i = 0; i < left / kSide<A>; ++i, x += kSide<A>) {
    join_each<Op>(kSide<A>, totals + i * kSide<A>, x);
  }
  return join_rest<Op>(fold<Op, width>(totals), x, rest);
}

template <class Op, class T, class A>
HWY_INLINE A total_of_row(const T* x, int64_t count) {
  if (count >= 4 * kSide<A>) return fold_row<Op, 4 * kSide<A>, T, A>(x, count);
  if (count >= kSide<A>) return fold_row<Op, kSide<A>, T, A>(x, count);
  return join_rest<Op>(Op::template identity<A>(), x, count);
}

// ---- Kernels.

template <class Op, class A>
void clear(std::byte* totals, int64_t count) {
  std::fill_n(reinterpret_cast<A*>(totals), count, Op::template identity<A>());
}

template <class Op, class T, class A>
void add_rows(const std::byte* x, int64_t rows, int64_t stride, int64_t count, std::byte* totals) {
  const auto* from = reinterpret_cast<const T*>(x);
  auto* to = reinterpret_cast<A*>(totals);
  for (int64_t r = 0; r < rows; ++r) {
    to[r] = Op::of(to[r], total_of_row<Op, T, A>(from + r * stride, count));
  }
}

template <class Op, class T, class A>
void add_columns(const std::byte* x, int64_t rows, int64_t stride, int64_t count,
                 std::byte* totals) {
  join_columns<Op>(reinterpret_cast<const T*>(x), rows, stride, count,
                   reinterpret_cast<A*>(totals));
}

template <class Op, class A>
void combine(std::byte* totals, const std::byte* more, int64_t count) {
  join_each<OfTotals<Op>>(count, reinterpret_cast<A*>(totals), reinterpret_cast<const A*>(more));
}

template <class T, class A>
void store(const std::byte* totals, std::byte* out, int64_t stride, int64_t count) {
  const auto* from = reinterpret_cast<const A*>(totals);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<T>(from[i]);
}

template <class Op, class T, class A = T>
void add(ReduceKernels& kernels, Reduction reduction, DType dtype) {
  kernels.push_back({.reduction = reduction,
                     .reduced = Op::kReduced,
                     .dtype = dtype,
                     .element_size = sizeof(T),
                     .total_size = sizeof(A),
                     .clear = clear<Op, A>,
                     .add_rows = add_rows<Op, T, A>,
                     .add_columns = add_columns<Op, T, A>,
                     .combine = combine<Op, A>,
                     .store = store<T, A>});
}

template <class Op>
void add_floats(ReduceKernels& kernels, Reduction reduction) {
  add<Op, double>(kernels, reduction, DType::f64);
  add<Op, float>(kernels, reduction, DType::f32);
  add<Op, Float16, float>(kernels, reduction, DType::f16);
  add<Op, BFloat16, float>(kernels, reduction, DType::bf16);
}

template <class Op>
void add_arithmetic(ReduceKernels& kernels, Reduction reduction) {
  add_floats<Op>(kernels, reduction);
  for (const DType dtype : {DType::i64, DType::u64}) {
    add<Op, uint64_t>(kernels, reduction, dtype);  // wraps in the same way
  }
  add<Op, std::complex<float>>(kernels, reduction, DType::c64);
  add<Op, std::complex<double>>(kernels, reduction, DType::c128);
}

template <class Op>
void add_extremes(ReduceKernels& kernels, Reduction reduction) {
  add_floats<Op>(kernels, reduction);
  add<Op, int8_t>(kernels, reduction, DType::i8);
  add<Op, int16_t>(kernels, reduction, DType::i16);
  add<Op, int32_t>(kernels, reduction, DType::i32);
  add<Op, int64_t>(kernels, reduction, DType::i64);
  add<Op, uint8_t>(kernels, reduction, DType::u8);
  add<Op, uint16_t>(kernels, reduction, DType::u16);
  add<Op, uint32_t>(kernels, reduction, DType::u32);
  add<Op, uint64_t>(kernels, reduction, DType::u64);
}

}  // namespace

void add_reduce_kernels(ReduceKernels& kernels) {
  add_arithmetic<Sum>(kernels, Reduction::sum);
  add_floats<SumOfSquares>(kernels, Reduction::sum);
  add_arithmetic<Product>(kernels, Reduction::product);
  add_extremes<Extreme<true>>(kernels, Reduction::maximum);
  add_extremes<Extreme<false>>(kernels, Reduction::minimum);
  add<Truth<true>, uint8_t>(kernels, Reduction::all, DType::boolean);
  add<Truth<false>, uint8_t>(kernels, Reduction::any, DType::boolean);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<ReduceKernels> kReduceKernels = {PLAIT_EACH_LEVEL(add_reduce_kernels)};

namespace {

class Table {
 public:
  Table() {
    // Entries of levels that the machine does not support stay empty.
    for (size_t i = 0; i < static_cast<size_t>(best_cpu_level()); ++i) {
      ReduceKernels kernels;
      kReduceKernels[i](kernels);
      for (const ReduceKernel& kernel : kernels) {
        levels_[i][place_of(kernel.reduction, kernel.dtype, kernel.reduced)] = kernel;
      }
    }
  }
  const ReduceKernel* find(ir::Reduction reduction, DType dtype, Reduced reduced) const {
    const ReduceKernel& kernel =
        levels_[static_cast<size_t>(cpu_level()) - 1][place_of(reduction, dtype, reduced)];
    return kernel.clear != nullptr ? &kernel : nullptr;
  }

 private:
  static constexpr size_t kReductions = static_cast<size_t>(ir::Reduction::any) + 1;
  static size_t place_of(ir::Reduction reduction, DType dtype, Reduced reduced) {
    const size_t kind = static_cast<size_t>(reduced) * kReductions + static_cast<size_t>(reduction);
    return kind * kDTypeCount + static_cast<size_t>(dtype);
  }
  std::array<std::array<ReduceKernel, 2 * kReductions * kDTypeCount>, kCpuLevelCount> levels_{};
};

}  // namespace

const ReduceKernel* find_reduce_kernel(ir::Reduction reduction, DType dtype, Reduced reduced) {
  static Immortal<Table> table;
  return table->find(reduction, dtype, reduced);
}

}  // namespace plait::cpu
#endif
