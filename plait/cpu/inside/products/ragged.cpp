#include "plait/cpu/inside/products/ragged.h"

#include <array>
#include <cstring>

#include "plait/core/error.h"
#include "plait/cpu/inside/products/matmul.h"

namespace plait {
namespace {

Array rows_between(const Array& x, int64_t begin, int64_t end) {
  return x.view(x.layout().sliced(0, {.start = begin, .stop = end}));
}
Array matrix_at(const Array& x, int64_t i) { return x.view(x.layout().picked(0, i)); }

// Calls visit with each group's number and range of rows, and returns the first row behind all
// groups.
template <class Visit>
int64_t for_each_group(const Array& group_sizes, int64_t rows, Visit visit) {
  const Array sizes = group_sizes.converted(DType::i64).contiguous();
  int64_t group = 0, begin = 0;
  for (const int64_t size : sizes.elements<int64_t>()) {
    if (size < 0 || size > rows - begin) {
      throw ValueError("group {} has {} rows, but {} of {} are left", group, size, rows - begin,
                       rows);
    }
    visit(group++, begin, begin + size);
    begin += size;
  }
  return begin;
}

}  // namespace

void ragged_dot(const Array& rows, const Array& matrices, const Array& group_sizes, Array& out) {
  const int64_t count = rows.sizes()[0];
  const int64_t end =
      for_each_group(group_sizes, count, [&](int64_t group, int64_t begin, int64_t group_end) {
        if (begin == group_end) return;
        Array product = rows_between(out, begin, group_end);
        matmul(rows_between(rows, begin, group_end), matrix_at(matrices, group), product);
      });
  Array rest = rows_between(out, end, count);
  std::memset(rest.writable_data(), 0,
              static_cast<size_t>(rest.element_count() * rest.element_size()));
}

void ragged_outer(const Array& a, const Array& b, const Array& group_sizes, Array& out) {
  const Array columns = a.view(a.layout().permuted(std::array<int64_t, 2>{1, 0}));
  for_each_group(group_sizes, a.sizes()[0], [&](int64_t group, int64_t begin, int64_t end) {
    Array product = matrix_at(out, group);
    matmul(columns.view(columns.layout().sliced(1, {.start = begin, .stop = end})),
           rows_between(b, begin, end), product);
  });
}

}  // namespace plait
