// Finding places: of values in rows that are in order, and of the extremes of rows that are not.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/thread_team.h"
#include "plait/cpu/axis_rows.h"
#include "plait/cpu/order_key.h"
#include "plait/cpu/row_view.h"
#include "plait/cpu/sort.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 14;   // elements worth a thread
constexpr int64_t kBlock = 1024;     // elements compared before it is asked where
constexpr int64_t kLanes = 16;       // of these, side by side
constexpr int64_t kColumns = 256;    // rows gone through side by side
constexpr int64_t kPiece = 1 << 16;  // of a long row, elements to a piece that threads share

// How many in the row come before the value.
template <class T>
int64_t count_before(const T* row, int64_t length, T value, bool behind) {
  const auto key = OrderKey<T>::of(value);
  int64_t begin = 0;
  while (length > 0) {
    const int64_t half = length / 2;
    const auto middle = OrderKey<T>::of(row[begin + half]);
    const bool is_before = behind ? middle <= key : middle < key;
    begin = is_before ? begin + half + 1 : begin;
    length = is_before ? length - half - 1 : half;
  }
  return begin;
}

template <class T>
void search_rows(const Array& sorted, const Array& values, bool behind, int64_t* places) {
  const int64_t length = sorted.sizes().back(), each = values.sizes().back();
  const auto* rows = reinterpret_cast<const T*>(sorted.data());
  const auto* wanted = reinterpret_cast<const T*>(values.data());
  parallel_for(values.element_count(), kWork / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      places[i] = count_before(rows + i / each * length, length, wanted[i], behind);
    }
  });
}

// ---- Extremes. The greatest key wins: that of a NaN, whichever extreme is wanted.

template <class T>
typename OrderKey<T>::Key extreme_key(T x, bool greatest) {
  using Key = typename OrderKey<T>::Key;
  const Key key = OrderKey<T>::of(x);
  constexpr bool kHasNaN = std::is_floating_point_v<T> || kIsPackedFloat<T>;
  if (greatest || (kHasNaN && key == OrderKey<T>::kNaN)) return key;
  return static_cast<Key>(~key);
}

template <class Key>
struct Found {
  Key key;
  int64_t place;
};

template <class T, bool greatest>
typename OrderKey<T>::Key block_extreme(const T* row, int64_t begin, int64_t end) {
  typename OrderKey<T>::Key best = 0;
  for (int64_t i = begin; i < end; ++i) best = std::max(best, extreme_key(row[i], greatest));
  return best;
}

// Floats are compared as such, many side by side; a NaN is noted by the way.
template <class T, bool greatest>
  requires std::is_floating_point_v<T>
typename OrderKey<T>::Key block_extreme(const T* row, int64_t begin, int64_t end) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::array<T, kLanes> best;
  std::array<typename OrderKey<T>::Key, kLanes> nan{};
  best.fill(greatest ? -kInfinity : kInfinity);
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto at = static_cast<size_t>(lane);
      const T x = row[i + lane];
      best[at] = (greatest ? x > best[at] : x < best[at]) ? x : best[at];
      nan[at] |= x != x;
    }
  }
  auto key = extreme_key(greatest ? -kInfinity : kInfinity, greatest);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const T x = nan[lane] != 0 ? std::numeric_limits<T>::quiet_NaN() : best[lane];
    key = std::max(key, extreme_key(x, greatest));
  }
  for (; i < end; ++i) key = std::max(key, extreme_key(row[i], greatest));
  return key;
}

// In blocks: first what the extreme of each is, and in the end where it is in the best of them.
template <class T, bool greatest>
Found<typename OrderKey<T>::Key> find_in(const T* row, int64_t begin, int64_t end) {
  using Key = typename OrderKey<T>::Key;
  Key best = 0;
  int64_t best_block = begin;
  for (int64_t block = begin; block < end; block += kBlock) {
    const Key here = block_extreme<T, greatest>(row, block, std::min(block + kBlock, end));
    if (here > best) {
      best = here;
      best_block = block;
    }
  }
  int64_t place = best_block;
  while (extreme_key(row[place], greatest) != best) ++place;
  return {best, place};
}

template <class T, bool greatest>
void find_in_rows(const T* x, const RowView& view, int64_t* places) {
  const int64_t length = view.length;
  if (view.outer < 8 && length > 4 * kPiece) {
    const int64_t pieces = (length + kPiece - 1) / kPiece;
    std::vector<Found<typename OrderKey<T>::Key>> found(static_cast<size_t>(pieces));
    for (int64_t row = 0; row < view.outer; ++row) {
      parallel_chunks(pieces, [&](int64_t piece) {
        found[static_cast<size_t>(piece)] = find_in<T, greatest>(
            x + row * length, piece * kPiece, std::min((piece + 1) * kPiece, length));
      });
      places[row] = std::ranges::max_element(found, {}, &decltype(found)::value_type::key)->place;
    }
    return;
  }
  parallel_for(view.outer, std::max<int64_t>(kWork / length, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      places[row] = find_in<T, greatest>(x + row * length, 0, length).place;
    }
  });
}

// Rows that lie side by side, some columns at a time.
template <class T, bool greatest>
void find_in_columns(const T* x, const RowView& view, int64_t* places) {
  const int64_t blocks = (view.inner + kColumns - 1) / kColumns;
  const int64_t width = std::min(view.inner, kColumns);
  const int64_t grain = std::max<int64_t>(kWork / (view.length * width), 1);
  parallel_for(view.outer * blocks, grain, [&](int64_t first, int64_t last) {
    std::vector<typename OrderKey<T>::Key> best(static_cast<size_t>(width));
    for (int64_t unit = first; unit < last; ++unit) {
      const int64_t outer = unit / blocks, column = unit % blocks * width;
      const int64_t count = std::min(width, view.inner - column);
      const T* from = x + outer * view.length * view.inner + column;
      int64_t* to = places + outer * view.inner + column;
      std::fill(best.begin(), best.end(), 0);
      std::fill_n(to, count, 0);
      for (int64_t i = 0; i < view.length; ++i, from += view.inner) {
        for (int64_t c = 0; c < count; ++c) {
          const auto key = extreme_key(from[c], greatest);
          auto& most = best[static_cast<size_t>(c)];
          to[c] = key > most ? i : to[c];
          most = std::max(most, key);
        }
      }
    }
  });
}

template <class T, bool greatest>
void find_extremes(const Array& x, int64_t axis, int64_t* places) {
  const RowView view(x.sizes(), axis);
  const auto* elements = reinterpret_cast<const T*>(x.data());
  if (view.inner == 1) return find_in_rows<T, greatest>(elements, view, places);
  find_in_columns<T, greatest>(elements, view, places);
}

}  // namespace

void search_sorted(const Array& sorted, const Array& values, bool behind, Array& places) {
  if (values.element_count() == 0) return;
  const Array rows = sorted.contiguous(), wanted = values.contiguous();
  int64_t* out = places.writable_elements<int64_t>().data();
  with_element_type(sorted.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasOrder<T>) {
      search_rows<T>(rows, wanted, behind, out);
    } else {
      throw TypeError("searchsorted: {} has no order", name_of(sorted.dtype()));
    }
  });
}

void arg_extreme(const Array& x, int64_t axis, bool greatest, Array& places) {
  if (x.sizes()[static_cast<size_t>(axis)] == 0) {
    throw ValueError("{}: {}{} has nothing along axis {}", greatest ? "argmax" : "argmin",
                     name_of(x.dtype()), text_of_sizes(x.sizes()), axis);
  }
  if (x.element_count() == 0) return;
  const Array dense = x.contiguous();
  int64_t* out = places.writable_elements<int64_t>().data();
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasOrder<T>) {
      greatest ? find_extremes<T, true>(dense, axis, out)
               : find_extremes<T, false>(dense, axis, out);
    } else {
      throw TypeError("argmax: {} has no order", name_of(x.dtype()));
    }
  });
}

}  // namespace plait
