#include "plait/ops/inside/products/row_groups.h"

#include "plait/core/error.h"

namespace plait {

RowGroups row_groups(const Array& group_sizes, int64_t rows) {
  const Array sizes = group_sizes.converted(DType::i64).contiguous();
  RowGroups groups;
  int64_t begin = 0;
  for (const int64_t size : sizes.elements<int64_t>()) {
    if (size < 0 || size > rows - begin) {
      throw ValueError("group {} has {} rows, but {} of {} are left", groups.size(), size,
                       rows - begin, rows);
    }
    groups.push_back({begin, begin + size});
    begin += size;
  }
  return groups;
}

}  // namespace plait
