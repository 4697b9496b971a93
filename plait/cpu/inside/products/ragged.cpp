#include "plait/cpu/inside/products/ragged.h"

#include <array>
#include <cstring>

#include "plait/cpu/inside/products/matmul.h"
#include "plait/ops/inside/products/row_groups.h"

namespace plait {
namespace {

Array rows_between(const Array& x, const RowGroup& group) {
  return x.view(x.layout().sliced(0, {.start = group.begin, .stop = group.end}));
}
Array matrix_at(const Array& x, size_t group) {
  return x.view(x.layout().picked(0, static_cast<int64_t>(group)));
}

}  // namespace

void ragged_dot(const Array& rows, const Array& matrices, const Array& group_sizes, Array& out) {
  const int64_t count = rows.sizes()[0];
  const RowGroups groups = row_groups(group_sizes, count);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].begin == groups[i].end) continue;
    Array product = rows_between(out, groups[i]);
    matmul(rows_between(rows, groups[i]), matrix_at(matrices, i), product);
  }
  Array rest = rows_between(out, {groups.empty() ? 0 : groups.back().end, count});
  std::memset(rest.writable_data(), 0,
              static_cast<size_t>(rest.element_count() * rest.element_size()));
}

void ragged_outer(const Array& a, const Array& b, const Array& group_sizes, Array& out) {
  const Array columns = a.view(a.layout().permuted(std::array<int64_t, 2>{1, 0}));
  const RowGroups groups = row_groups(group_sizes, a.sizes()[0]);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Slice slice{.start = groups[i].begin, .stop = groups[i].end};
    Array product = matrix_at(out, i);
    matmul(columns.view(columns.layout().sliced(1, slice)), rows_between(b, groups[i]), product);
  }
}

}  // namespace plait
