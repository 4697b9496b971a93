#include "plait/cpu/inside/indexing/scatter_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/indexing/indexed_rows.h"

namespace plait {
namespace {

constexpr int64_t kLongRow = 16;  // elements; the updates of longer rows are summed first

struct Set {
  template <class T>
  static T of(T, T b) {
    return b;
  }
};
// Integers wrap.
struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
template <class T>
bool is_nan(T a) {
  if constexpr (kIsPackedFloat<T>) {
    return std::isnan(static_cast<float>(a));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(a);
  } else {
    return false;
  }
}
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return b < a || is_nan(b) ? b : a;
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a < b || is_nan(b) ? b : a;
  }
};

template <class Op, class T>
T combined(T a, T b) {
  if constexpr (kIsPackedFloat<T> && (std::is_same_v<Op, Add> || std::is_same_v<Op, Multiply>)) {
    return T(Op::of(static_cast<float>(a), static_cast<float>(b)));
  } else {
    return Op::of(a, b);
  }
}

// Calls visit(offset in x, offset in the updates) for each line along the innermost dimension.
template <class Visit>
void for_each_line(const JointLayout& row, size_t axis, int64_t to, int64_t from, Visit& visit) {
  if (axis + 1 >= row.sizes.size()) return visit(to, from);
  for (int64_t i = 0; i < row.sizes[axis]; ++i) {
    for_each_line(row, axis + 1, to + i * row.strides[0][axis], from + i * row.strides[1][axis],
                  visit);
  }
}

struct Strides {
  int64_t to = 1, from = 1;

  explicit Strides(const JointLayout& row) {
    if (row.sizes.empty()) return;
    to = row.strides[0].back();
    from = row.strides[1].back();
  }
};

template <class Op, class T>
void combine_line(T* to, const T* from, const Strides& strides, int64_t count) {
  if (strides.to == 1 && strides.from == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = combined<Op>(to[i], from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      T& element = to[i * strides.to];
      element = combined<Op>(element, from[i * strides.from]);
    }
  }
}

template <class Op, class T>
void combine_rows(const RowUpdates& updates, const RowPart& part, std::byte* x,
                  const std::byte* from_bytes) {
  const Strides strides(updates.row);
  const int64_t first = part.first_column, count = part.last_column - first;
  for (int64_t i = part.begin; i < part.end; ++i) {
    const int64_t point = part.point(i), offset = updates.offsets[point];
    if (offset == IndexedRows::kNowhere) continue;
    T* const to = reinterpret_cast<T*>(x) + offset;
    const T* const from = reinterpret_cast<const T*>(from_bytes) + point * updates.apart;
    if (updates.row_count == 1) {
      *to = combined<Op>(*to, *from);
      continue;
    }
    const auto line = [&](int64_t to_offset, int64_t from_offset) {
      combine_line<Op>(to + to_offset + first * strides.to,
                       from + from_offset + first * strides.from, strides, count);
    };
    for_each_line(updates.row, 0, 0, 0, line);
  }
}

// Combines the updates of points order[begin…end) with each other, then with one line of a row.
template <class Op, class T>
void combine_group(const RowUpdates& updates, const RowPart& part, T* to, const T* from) {
  using Wide = std::conditional_t<kIsPackedFloat<T>, float, T>;
  constexpr int64_t kColumns = 256;
  const Strides strides(updates.row);
  std::array<Wide, kColumns> sums;
  for (int64_t first = 0; first < updates.inner(); first += kColumns) {
    const int64_t count = std::min(kColumns, updates.inner() - first);
    for (int64_t i = part.begin; i < part.end; ++i) {
      const T* const update = from + part.point(i) * updates.apart + first * strides.from;
      for (int64_t k = 0; k < count; ++k) {
        Wide& sum = sums[static_cast<size_t>(k)];
        const auto value = static_cast<Wide>(update[k * strides.from]);
        sum = i == part.begin ? value : Op::of(sum, value);
      }
    }
    T* const line = to + first * strides.to;
    for (int64_t k = 0; k < count; ++k) {
      T& element = line[k * strides.to];
      element = T(Op::of(static_cast<Wide>(element), sums[static_cast<size_t>(k)]));
    }
  }
}

// A group that begins before `begin` belongs to the previous part, and one that begins before `end`
// to this one.
template <class Op, class T>
void combine_groups(const RowUpdates& updates, const RowPart& part, std::byte* x,
                    const std::byte* from_bytes) {
  const auto offset = [&](int64_t i) { return updates.offsets[part.point(i)]; };
  int64_t i = part.begin;
  while (i > 0 && i < part.end && offset(i) == offset(i - 1)) ++i;
  while (i < part.end) {
    RowPart group{.order = part.order, .begin = i, .end = i + 1};
    while (group.end < updates.points && offset(group.end) == offset(i)) ++group.end;
    T* const to = reinterpret_cast<T*>(x) + offset(i);
    const auto* from = reinterpret_cast<const T*>(from_bytes);
    const auto line = [&](int64_t to_offset, int64_t from_offset) {
      combine_group<Op>(updates, group, to + to_offset, from + from_offset);
    };
    for_each_line(updates.row, 0, 0, 0, line);
    i = group.end;
  }
}

struct Word16 {
  uint64_t halves[2];
};

RowLoop loop_of_set(DType dtype) {
  switch (size_of(dtype)) {
    case 1: return combine_rows<Set, uint8_t>;
    case 2: return combine_rows<Set, uint16_t>;
    case 4: return combine_rows<Set, uint32_t>;
    case 8: return combine_rows<Set, uint64_t>;
    default: return combine_rows<Set, Word16>;
  }
}

template <class Op>
RowLoops arithmetic_loops(DType dtype) {
  return with_element_type(dtype, []<class T>(std::type_identity<T>) -> RowLoops {
    if constexpr (kIsPackedFloat<T>) {
      return {combine_rows<Op, T>, combine_groups<Op, T>, 1};
    } else if constexpr ((std::is_floating_point_v<T> || kIsComplex<T>) &&
                         std::is_same_v<Op, Add>) {
      return {combine_rows<Op, T>, combine_groups<Op, T>, kLongRow};
    } else if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, KeyBits>) {
      return {.loop = combine_rows<Op, T>};
    } else {
      return {};
    }
  });
}

template <class Op>
RowLoops order_loops(DType dtype) {
  return with_element_type(dtype, []<class T>(std::type_identity<T>) -> RowLoops {
    if constexpr (!kIsComplex<T> && !std::is_same_v<T, KeyBits>) {
      return {.loop = combine_rows<Op, T>};
    } else {
      return {};
    }
  });
}

}  // namespace

RowLoops find_row_loops(Combine combine, DType dtype) {
  switch (combine) {
    case Combine::set: return {.loop = loop_of_set(dtype)};
    case Combine::add: return arithmetic_loops<Add>(dtype);
    case Combine::multiply: return arithmetic_loops<Multiply>(dtype);
    case Combine::minimum: return order_loops<Minimum>(dtype);
    case Combine::maximum: return order_loops<Maximum>(dtype);
  }
  return {};
}

}  // namespace plait
