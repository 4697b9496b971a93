// Binary search in sorted rows.
#include <algorithm>
#include <array>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/order/cpu_sort.h"
#include "plait/cpu/inside/order/order_key.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 10;   // searches worth a thread
constexpr int64_t kInterleaved = 8;  // searches that run interleaved

// For each value, the number of row elements before it. All searches take the same steps, so that
// their memory accesses overlap.
template <int64_t count, bool behind, class T>
void count_before(const T* row, int64_t length, const T* values, int64_t* places) {
  using Key = decltype(OrderKey<T>::of(*values));
  std::array<Key, count> keys;
  std::array<int64_t, count> begins{};
  for (int64_t i = 0; i < count; ++i) keys[i] = OrderKey<T>::of(values[i]);
  const auto is_before = [&](int64_t at, int64_t i) {
    const Key other = OrderKey<T>::of(row[at]);
    return behind ? other <= keys[i] : other < keys[i];
  };
  for (int64_t left = length; left > 1; left -= left / 2) {
    const int64_t half = left / 2;
    for (int64_t i = 0; i < count; ++i) {
      begins[i] = is_before(begins[i] + half - 1, i) ? begins[i] + half : begins[i];
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    places[i] = begins[i] + (length > 0 && is_before(begins[i], i) ? 1 : 0);
  }
}

template <class T, bool behind>
void search_rows(const Array& sorted, const Array& values, int64_t* places) {
  const int64_t length = sorted.sizes().back(), each = values.sizes().back();
  const auto* rows = reinterpret_cast<const T*>(sorted.data());
  const auto* wanted = reinterpret_cast<const T*>(values.data());
  parallel_for(values.element_count(), kWork, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const T* row = rows + i / each * length;
      const int64_t row_end = std::min(end, (i / each + 1) * each);
      for (; i + kInterleaved <= row_end; i += kInterleaved) {
        count_before<kInterleaved, behind>(row, length, wanted + i, places + i);
      }
      for (; i < row_end; ++i) count_before<1, behind>(row, length, wanted + i, places + i);
    }
  });
}

}  // namespace

void search_sorted(const Array& sorted, const Array& values, bool behind, Array& places) {
  if (values.element_count() == 0) return;
  const Array rows = sorted.contiguous(), wanted = values.contiguous();
  int64_t* out = places.writable_elements<int64_t>().data();
  with_element_type(sorted.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasOrder<T>) {
      behind ? search_rows<T, true>(rows, wanted, out) : search_rows<T, false>(rows, wanted, out);
    } else {
      throw TypeError("searchsorted: {} has no order", name_of(sorted.dtype()));
    }
  });
}

}  // namespace plait
