// argmax and argmin: reduction kernels find the extreme of each block of elements, and only the
// best block is searched for its index.
#include <algorithm>
#include <numeric>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/order/cpu_sort.h"
#include "plait/cpu/inside/reductions/axis_rows.h"
#include "plait/cpu/inside/reductions/reduce_kernels.h"
#include "plait/cpu/inside/reductions/row_view.h"

namespace plait {
namespace {

constexpr int64_t kBlock = 1024;     // elements of a row that are reduced before a search
constexpr int64_t kBlocks = 16;      // passed to a kernel together
constexpr int64_t kLooked = 32;      // elements that are compared together
constexpr int64_t kShort = 32;       // shorter rows are not worth a kernel
constexpr int64_t kColumns = 512;    // rows that are processed side by side
constexpr int64_t kFewColumns = 16;  // fewer columns are transposed to rows
constexpr int64_t kBelow = 32;       // elements of each column that are reduced before a search
constexpr int64_t kWork = 1 << 14;   // elements worth a thread
constexpr int64_t kPiece = 1 << 15;  // elements of a long row per task of a thread
constexpr int64_t kManyGroups = 64;  // from this number on, threads share whole groups

template <class T>
auto number_of(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return widened(x);
  } else {
    return x;
  }
}

// True if a comes before all elements equal to b. NaN comes before numbers.
template <bool greatest, class A>
bool beats(A a, A b) {
  const bool is_further = greatest ? a > b : a < b;
  return is_further | ((a != a) & (b == b));
}

// The index of the first element equal to `wanted`, which must exist.
template <class T, class Number>
int64_t first_like(const T* x, int64_t begin, int64_t end, Number wanted) {
  const auto first_where = [&](const auto& is_like) {
    for (; begin + kLooked <= end; begin += kLooked) {
      int32_t count = 0;  // counted without branches, so that the loop is vectorised
      for (int64_t i = 0; i < kLooked; ++i) count += is_like(number_of(x[begin + i])) ? 1 : 0;
      if (count != 0) break;
    }
    while (!is_like(number_of(x[begin]))) ++begin;
    return begin;
  };
  if (wanted != wanted) return first_where([](Number x) { return x != x; });
  return first_where([&](Number x) { return x == wanted; });
}

template <class T, bool greatest>
class Search {
 public:
  using Number = decltype(number_of(T()));

  Search(const Array& x, int64_t axis)
      : x_(reinterpret_cast<const T*>(x.data())),
        view_(x.sizes(), axis),
        kernel_(*cpu::find_reduce_kernel(greatest ? ir::Reduction::maximum : ir::Reduction::minimum,
                                         kDTypeOf<T>)),
        width_(std::min(view_.inner, kColumns)),
        parts_(quotient_up(view_.inner, width_)) {}

  void run(int64_t* places) const {
    const int64_t groups = view_.outer * parts_, work = view_.length * width_;
    const int64_t pieces = work / kPiece;
    if (groups < kManyGroups && pieces > 1) return run_in_pieces(groups, pieces, places);
    parallel_for(groups, std::max<int64_t>(kWork / work, 1), [&](int64_t first, int64_t last) {
      if (view_.inner == 1) {
        for (int64_t row = first; row < last; ++row) {
          places[row] = find_in_row(x_ + row * view_.length, 0, view_.length).place;
        }
        return;
      }
      std::vector<Found> found(static_cast<size_t>(width_));
      for (int64_t group = first; group < last; ++group) {
        find(group, 0, view_.length, found.data());
        store(group, 1, found.data(), places);
      }
    });
  }

 private:
  struct Found {
    Number number;
    int64_t place;
  };

  int64_t column(int64_t group) const { return group % parts_ * width_; }
  int64_t columns(int64_t group) const { return std::min(width_, view_.inner - column(group)); }

  void run_in_pieces(int64_t groups, int64_t pieces, int64_t* places) const {
    const int64_t each = quotient_up(view_.length, pieces);
    std::vector<Found> found(static_cast<size_t>(groups * pieces * width_));
    parallel_chunks(groups * pieces, [&](int64_t i) {
      const int64_t begin = std::min(i % pieces * each, view_.length - 1);
      const int64_t end = std::min(begin + each, view_.length);
      find(i / pieces, begin, end, &found[static_cast<size_t>(i * width_)]);
    });
    for (int64_t group = 0; group < groups; ++group) {
      store(group, pieces, &found[static_cast<size_t>(group * pieces * width_)], places);
    }
  }

  void find(int64_t group, int64_t begin, int64_t end, Found* found) const {
    const T* x = x_ + group / parts_ * view_.length * view_.inner + column(group);
    if (view_.inner == 1) {
      *found = find_in_row(x, begin, end);
    } else {
      find_in_columns(x, columns(group), begin, end, found);
    }
  }

  // Combines the pieces: the best one, and the first of equal ones.
  void store(int64_t group, int64_t pieces, Found* found, int64_t* places) const {
    int64_t* to = places + group / parts_ * view_.inner + column(group);
    for (int64_t c = 0; c < columns(group); ++c) {
      Found best = found[c];
      for (int64_t piece = 1; piece < pieces; ++piece) {
        const Found& other = found[piece * width_ + c];
        if (beats<greatest>(other.number, best.number)) best = other;
      }
      to[c] = best.place;
    }
  }

  Found find_in_row(const T* x, int64_t begin, int64_t end) const {
    Found best{number_of(x[begin]), begin};
    if (end - begin < kShort) {
      for (int64_t i = begin + 1; i < end; ++i) {
        const Number number = number_of(x[i]);
        const bool is_better = beats<greatest>(number, best.number);  // unpredictable, therefore
                                                                      // without a branch
        best.number = is_better ? number : best.number;
        best.place = is_better ? i : best.place;
      }
      return best;
    }
    Number numbers[kBlocks];
    for (int64_t at = begin; at < end; at += kBlock * kBlocks) {
      const int64_t count = std::min(end - at, kBlock * kBlocks), whole = count / kBlock;
      const int64_t blocks = quotient_up(count, kBlock);
      auto* totals = reinterpret_cast<std::byte*>(numbers);
      kernel_.clear(totals, blocks);
      kernel_.add_rows(bytes(x + at), whole, kBlock, kBlock, totals);
      kernel_.add_rows(bytes(x + at + whole * kBlock), blocks - whole, 0, count % kBlock,
                       totals + whole * kernel_.total_size);
      for (int64_t block = 0; block < blocks; ++block) {
        if (beats<greatest>(numbers[block], best.number)) {
          best = {numbers[block], at + block * kBlock};
        }
      }
    }
    best.place = first_like(x, best.place, end, best.number);
    return best;
  }

  void find_in_columns(const T* x, int64_t count, int64_t begin, int64_t end, Found* found) const {
    const int64_t stride = view_.inner;
    Number best[kColumns], here[kColumns];
    int32_t blocks[kColumns] = {};
    for (int64_t c = 0; c < count; ++c) best[c] = number_of(x[begin * stride + c]);
    for (int64_t at = begin; at < end; at += kBelow) {
      auto* totals = reinterpret_cast<std::byte*>(here);
      kernel_.clear(totals, count);
      kernel_.add_columns(bytes(x + at * stride), std::min(kBelow, end - at), stride, count,
                          totals);
      const auto block = static_cast<int32_t>((at - begin) / kBelow);
      for (int64_t c = 0; c < count; ++c) {
        const bool is_better = beats<greatest>(here[c], best[c]);
        best[c] = is_better ? here[c] : best[c];
        blocks[c] = is_better ? block : blocks[c];
      }
    }
    for (int64_t c = 0; c < count; ++c) {
      int64_t place = begin + blocks[c] * kBelow;
      while (beats<greatest>(best[c], number_of(x[place * stride + c]))) ++place;
      found[c] = {best[c], place};
    }
  }

  static const std::byte* bytes(const T* x) { return reinterpret_cast<const std::byte*>(x); }

  const T* x_;
  RowView view_;
  const cpu::ReduceKernel& kernel_;
  int64_t width_;  // rows of a group
  int64_t parts_;  // groups side by side
};

template <class T>
void find_extremes(const Array& x, int64_t axis, bool greatest, int64_t* places) {
  greatest ? Search<T, true>(x, axis).run(places) : Search<T, false>(x, axis).run(places);
}

void find_in_dense(const Array& x, int64_t axis, bool greatest, int64_t* places) {
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      find_extremes<uint8_t>(x, axis, greatest, places);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Float16> ||
                         std::is_same_v<T, BFloat16>) {
      find_extremes<T>(x, axis, greatest, places);
    } else if constexpr (kIsPackedFloat<T>) {
      find_extremes<float>(x.converted(DType::f32).contiguous(), axis, greatest, places);
    } else {
      throw TypeError("argmax: {} has no order", name_of(x.dtype()));
    }
  });
}

// The axes in the order of their strides.
std::vector<int64_t> order_in_memory(const Layout& layout) {
  std::vector<int64_t> order(layout.rank());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](int64_t axis) {
    return std::abs(layout.strides[static_cast<size_t>(axis)]);
  });
  return order;
}

// If x is contiguous apart from the order of its axes, it is searched without a copy.
void find_permuted(const Array& x, int64_t axis, std::vector<int64_t> order, bool greatest,
                   Array& places) {
  const Array permuted = x.view(x.layout().permuted(order));
  const auto at = std::ranges::find(order, axis);
  const int64_t searched = at - order.begin();
  order.erase(at);
  for (int64_t& kept : order) kept -= kept > axis ? 1 : 0;
  Array target = places.view(places.layout().permuted(order));
  Array found = Array::empty(DType::i64, target.sizes());
  arg_extreme(permuted, searched, greatest, found);
  copy_elements(found, target);
}

}  // namespace

void arg_extreme(const Array& x, int64_t axis, bool greatest, Array& places) {
  const int64_t length = x.sizes()[static_cast<size_t>(axis)];
  if (length == 0) {
    throw ValueError("{}: {}{} is empty along axis {}", greatest ? "argmax" : "argmin",
                     name_of(x.dtype()), text_of_sizes(x.sizes()), axis);
  }
  if (x.element_count() == 0) return;
  const std::vector<int64_t> order = order_in_memory(x.layout());
  if (!x.is_contiguous() && x.layout().permuted(order).is_contiguous()) {
    return find_permuted(x, axis, order, greatest, places);
  }
  const RowView view(x.sizes(), axis);
  if (view.inner > 1 && view.inner < kFewColumns && length > kShort) {
    return arg_extreme(dense_rows(x, axis), static_cast<int64_t>(x.rank()) - 1, greatest, places);
  }
  find_in_dense(x.contiguous(), axis, greatest, places.writable_elements<int64_t>().data());
}

}  // namespace plait
