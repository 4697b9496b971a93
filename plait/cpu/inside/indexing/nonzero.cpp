// Indices of nonzero elements: each thread counts in its parts, then writes its indices behind
// those of earlier parts.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/indexing/cpu_gather.h"

namespace plait {
namespace {

constexpr int64_t kPart = 1 << 16;  // elements

template <class T>
bool is_nonzero(T value) {
  if constexpr (kIsPackedFloat<T>) {
    return static_cast<typename T::Bits>(value.bits() << 1) != 0;
  } else {
    return value != T{};
  }
}

// Counts in x[begin…end), as a flat array.
template <class T>
int64_t count_nonzero(const T* x, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) count += is_nonzero(x[i]) ? 1 : 0;
  return count;
}

template <class T>
constexpr int64_t kWord = std::max<int64_t>(8 / sizeof(T), 1);  // elements of eight bytes

// True if the next kWord elements are all zero bits.
template <class T>
bool is_zero_word(const T* x, int64_t i, int64_t end) {
  if (sizeof(T) > 8 || i + kWord<T> > end) return false;
  uint64_t word = 0;
  std::memcpy(&word, x + i, sizeof(word));
  return word == 0;
}

// Calls found(i) for each nonzero element; zeros are skipped eight bytes at a time.
template <class T, class Found>
void for_each_nonzero(const T* x, int64_t begin, int64_t end, Found found) {
  for (int64_t i = begin; i < end;) {
    if (is_zero_word(x, i, end)) {
      i += kWord<T>;
      continue;
    }
    for (const int64_t stop = std::min(i + kWord<T>, end); i < stop; ++i) {
      if (is_nonzero(x[i])) found(i);
    }
  }
}

// Writes the flat indices of last - column nonzero elements. Branch-free: each index is written,
// and the position advances only if the element is nonzero.
template <class T>
void write_flat_places(const T* x, int64_t begin, int64_t end, int64_t column, int64_t last,
                       int64_t* places) {
  for (int64_t i = begin; column < last;) {
    if (is_zero_word(x, i, end)) {
      i += kWord<T>;
      continue;
    }
    for (const int64_t stop = std::min(i + kWord<T>, end); i < stop && column < last; ++i) {
      places[column] = i;
      column += is_nonzero(x[i]) ? 1 : 0;
    }
  }
}

// Writes the indices of the nonzero elements in [begin, end) to columns `column` to `last` of the
// result.
template <class T>
void write_places(const T* x, std::span<const int64_t> sizes, int64_t begin, int64_t end,
                  int64_t column, int64_t last, int64_t columns, int64_t* places) {
  if (sizes.size() == 1) return write_flat_places(x, begin, end, column, last, places);
  // Row by row, so that one division per row suffices.
  const int64_t width = sizes.empty() ? 1 : sizes.back();
  for (int64_t at = begin; at < end;) {
    const int64_t row = at / width, stop = std::min((row + 1) * width, end), first = column;
    for_each_nonzero(x, at, stop, [&](int64_t i) {
      if (!sizes.empty()) {
        places[(static_cast<int64_t>(sizes.size()) - 1) * columns + column] = i - row * width;
      }
      ++column;
    });
    int64_t rest = row;
    for (size_t axis = sizes.empty() ? 0 : sizes.size() - 1; column > first && axis-- > 0;) {
      int64_t* const line = places + static_cast<int64_t>(axis) * columns;
      std::fill(line + first, line + column, rest % sizes[axis]);
      rest /= sizes[axis];
    }
    at = stop;
  }
}

template <class T>
Array nonzero_in(const Array& x) {
  const auto* elements = reinterpret_cast<const T*>(x.data());
  const int64_t count = x.element_count(), parts = (count + kPart - 1) / kPart;
  std::vector<int64_t> ends(static_cast<size_t>(parts) + 1, 0);
  const auto end_of = [&](int64_t part) { return std::min((part + 1) * kPart, count); };
  parallel_chunks(parts, [&](int64_t part) {
    ends[static_cast<size_t>(part) + 1] = count_nonzero(elements, part * kPart, end_of(part));
  });
  for (size_t part = 0; part + 1 < ends.size(); ++part) ends[part + 1] += ends[part];
  Array result = Array::empty(DType::i64, {static_cast<int64_t>(x.rank()), ends.back()});
  auto* const places = reinterpret_cast<int64_t*>(result.writable_data());
  parallel_chunks(parts, [&](int64_t part) {
    const auto at = static_cast<size_t>(part);
    write_places(elements, x.sizes(), part * kPart, end_of(part), ends[at], ends[at + 1],
                 ends.back(), places);
  });
  return result;
}

}  // namespace

Array nonzero_of(const Array& x) {
  const Array contiguous = x.contiguous();
  return with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, KeyBits>) {
      return Array();
    } else {
      return nonzero_in<T>(contiguous);
    }
  });
}

}  // namespace plait
