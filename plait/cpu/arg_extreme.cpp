// Finding where extremes are: the kernels of reductions say how great the greatest of each block of
// elements is, and only in the best block it is asked where.
#include <algorithm>
#include <vector>

#include "plait/core/element.h"
#include "plait/core/error.h"
#include "plait/core/thread_team.h"
#include "plait/cpu/axis_rows.h"
#include "plait/cpu/half_precision.h"
#include "plait/cpu/reduce_kernels.h"
#include "plait/cpu/row_view.h"
#include "plait/cpu/sort.h"

namespace plait {
namespace {

constexpr int64_t kBlock = 256;      // elements of a row that are compared before it is asked where
constexpr int64_t kBlocks = 64;      // given to a kernel at once
constexpr int64_t kShort = 32;       // rows that are not worth a kernel
constexpr int64_t kColumns = 512;    // rows gone through side by side
constexpr int64_t kFewColumns = 16;  // are rather made rows
constexpr int64_t kBelow = 32;       // elements of each, compared before it is asked where
constexpr int64_t kWork = 1 << 14;   // elements worth a thread
constexpr int64_t kPiece = 1 << 16;  // of long rows, elements to a piece that threads share
constexpr int64_t kManyGroups = 64;  // that threads share as they are

template <class T>
auto number_of(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return widened(x);
  } else {
    return x;
  }
}

// Whether a comes before all that are like b. NaN comes before numbers.
template <bool greatest, class A>
bool beats(A a, A b) {
  const bool is_further = greatest ? a > b : a < b;
  return is_further | ((a != a) & (b == b));
}

template <class A>
bool is_like(A a, A b) {
  return a == b || (a != a && b != b);
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
        width_(std::min(view_.inner, kColumns)) {}

  void run(int64_t* places) const {
    const int64_t groups = view_.outer * parts(), work = view_.length * width_;
    const int64_t pieces = work / kPiece;
    if (groups < kManyGroups && pieces > 1) return run_in_pieces(groups, pieces, places);
    parallel_for(groups, std::max<int64_t>(kWork / work, 1), [&](int64_t first, int64_t last) {
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

  static int64_t quotient_up(int64_t count, int64_t parts) { return (count + parts - 1) / parts; }
  int64_t parts() const { return quotient_up(view_.inner, width_); }
  int64_t column(int64_t group) const { return group % parts() * width_; }
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
    const T* x = x_ + group / parts() * view_.length * view_.inner + column(group);
    if (view_.inner == 1) {
      *found = end - begin < kShort ? find_in_short_row(x, begin, end) : find_in_row(x, begin, end);
    } else {
      find_in_columns(x, columns(group), begin, end, found);
    }
  }

  // The best of the pieces, the first of those alike.
  void store(int64_t group, int64_t pieces, Found* found, int64_t* places) const {
    int64_t* to = places + group / parts() * view_.inner + column(group);
    for (int64_t c = 0; c < columns(group); ++c) {
      Found best = found[c];
      for (int64_t piece = 1; piece < pieces; ++piece) {
        const Found& other = found[piece * width_ + c];
        if (beats<greatest>(other.number, best.number)) best = other;
      }
      to[c] = best.place;
    }
  }

  Found find_in_short_row(const T* x, int64_t begin, int64_t end) const {
    Found best{number_of(x[begin]), begin};
    for (int64_t i = begin + 1; i < end; ++i) {
      const Number number = number_of(x[i]);
      if (beats<greatest>(number, best.number)) best = {number, i};
    }
    return best;
  }

  Found find_in_row(const T* x, int64_t begin, int64_t end) const {
    Found best{number_of(x[begin]), begin};
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
    while (!is_like(number_of(x[best.place]), best.number)) ++best.place;
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
      while (!is_like(number_of(x[place * stride + c]), best[c])) ++place;
      found[c] = {best[c], place};
    }
  }

  static const std::byte* bytes(const T* x) { return reinterpret_cast<const std::byte*>(x); }

  const T* x_;
  RowView view_;
  const cpu::ReduceKernel& kernel_;
  int64_t width_;
};

template <class T>
void find_extremes(const Array& x, int64_t axis, bool greatest, int64_t* places) {
  greatest ? Search<T, true>(x, axis).run(places) : Search<T, false>(x, axis).run(places);
}

}  // namespace

void arg_extreme(const Array& x, int64_t axis, bool greatest, Array& places) {
  const int64_t length = x.sizes()[static_cast<size_t>(axis)];
  if (length == 0) {
    throw ValueError("{}: {}{} has nothing along axis {}", greatest ? "argmax" : "argmin",
                     name_of(x.dtype()), text_of_sizes(x.sizes()), axis);
  }
  if (x.element_count() == 0) return;
  const RowView view(x.sizes(), axis);
  if (view.inner > 1 && view.inner < kFewColumns && length > kShort) {
    return arg_extreme(dense_rows(x, axis), static_cast<int64_t>(x.rank()) - 1, greatest, places);
  }
  int64_t* out = places.writable_elements<int64_t>().data();
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      find_extremes<uint8_t>(x.contiguous(), axis, greatest, out);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Float16> ||
                         std::is_same_v<T, BFloat16>) {
      find_extremes<T>(x.contiguous(), axis, greatest, out);
    } else if constexpr (kIsPackedFloat<T>) {
      find_extremes<float>(x.converted(DType::f32).contiguous(), axis, greatest, out);
    } else {
      throw TypeError("argmax: {} has no order", name_of(x.dtype()));
    }
  });
}

}  // namespace plait
