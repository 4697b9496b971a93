// Finding the places of values in rows that are in order.
#include "plait/core/error.h"
#include "plait/core/thread_team.h"
#include "plait/cpu/order_key.h"
#include "plait/cpu/sort.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 10;  // searches worth a thread

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
  parallel_for(values.element_count(), kWork, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      places[i] = count_before(rows + i / each * length, length, wanted[i], behind);
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
      search_rows<T>(rows, wanted, behind, out);
    } else {
      throw TypeError("searchsorted: {} has no order", name_of(sorted.dtype()));
    }
  });
}

}  // namespace plait
