#include "plait/cuda/inside/indexing/points_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/cuda/inside/device/index_notes.h"

namespace plait::cuda {
namespace {

constexpr std::string_view kPoints = R"(
struct Points {
  i64 count;
  i32 rank, indices;
  i64 sizes[8], strides[8][8], batch_steps[8], batch_numbers[8];
  const void* data[8];
  i32 dtypes[8];
  i64 axis_sizes[8], axis_steps[8], axis_numbers[8];
  u64 place;
  Notes* notes;
};
struct Row {
  i64 count;
  i32 rank, unused;
  i64 sizes[8], steps[2][8];
};

INLINE i64 load_index(const void* data, int dtype, i64 at) {
  switch (dtype) {
    case 0: return ((const i8*)data)[at];
    case 1: return ((const i16*)data)[at];
    case 2: return ((const i32*)data)[at];
    case 4: return ((const u8*)data)[at];
    case 5: return ((const u16*)data)[at];
    case 6: return ((const u32*)data)[at];
    default: return ((const i64*)data)[at];
  }
}

// Where in x the row of a point is: its distance from the first element, and its number. Negative
// if an index is out of range, which is noted if `notes`.
struct Found { i64 offset, number; };
INLINE Found find_row(const Points& p, const Number position, bool notes) {
  Number point = position;
  i64 at[INDICES] = {};
  Found found = {0, 0};
  #pragma unroll
  for (int d = POINT_RANK - 1; d >= 0; --d) {
    const Number size = (Number)p.sizes[d], rest = d > 0 ? point / size : 0;
    const i64 place = d > 0 ? point - rest * size : point;
    point = rest;
    #pragma unroll
    for (int i = 0; i < INDICES; ++i) at[i] += place * p.strides[i][d];
    found.offset += place * p.batch_steps[d];
    found.number += place * p.batch_numbers[d];
  }
  int bad = -1;
  i64 bad_index = 0;
  #pragma unroll
  for (int i = INDICES - 1; i >= 0; --i) {
    const i64 index = load_index(p.data[i], p.dtypes[i], at[i]), size = p.axis_sizes[i];
    const bool from_end = index < 0 && p.dtypes[i] < 4;
    const i64 place = from_end ? index + size : index;
    if ((u64)place >= (u64)size) {
      bad = i;
      bad_index = index;
    } else {
      found.offset += place * p.axis_steps[i];
      found.number += place * p.axis_numbers[i];
    }
  }
  if (bad < 0) return found;
  found.number = -1;
  if (notes && p.notes) note_index(p.notes, p.place + position, bad_index, bad);
  return found;
}

INLINE i64 row_offset(const Row& row, int which, Number element) {
  i64 offset = 0;
  #pragma unroll
  for (int d = ROW_RANK - 1; d >= 0; --d) {
    const Number size = (Number)row.sizes[d], rest = d > 0 ? element / size : 0;
    offset += (i64)(d > 0 ? element - rest * size : element) * row.steps[which][d];
    element = rest;
  }
  return offset;
}
)";

// As load_index expects.
int32_t code_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return 0;
    case DType::i16: return 1;
    case DType::i32: return 2;
    case DType::u8: return 4;
    case DType::u16: return 5;
    case DType::u32: return 6;
    case DType::u64: return 7;
    default: return 3;
  }
}

// Layout of the batch dimensions of x among the points.
Layout batch_layout(const Sizes& points, const Sizes& strides, int64_t batch) {
  Layout layout{points, Sizes(points.size(), 0), 0};
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) layout.strides[i] = strides[i];
  return layout;
}

Layout row_layout(const Layout& x, const GatherAttributes& attributes) {
  Layout layout;
  for (auto axis = static_cast<size_t>(attributes.batch); axis < x.rank(); ++axis) {
    if (std::ranges::binary_search(attributes.axes, static_cast<int64_t>(axis))) continue;
    layout.sizes.push_back(x.sizes[axis]);
    layout.strides.push_back(x.strides[axis]);
  }
  return layout;
}

// The strides of a contiguous array of one element for each row of x, along the axes of x.
Sizes number_strides(const Array& x, const GatherAttributes& attributes) {
  Sizes strides(x.rank(), 0);
  int64_t next = 1;
  for (size_t axis = x.rank(); axis-- > 0;) {
    const bool is_indexed = axis < static_cast<size_t>(attributes.batch) ||
                            std::ranges::binary_search(attributes.axes, static_cast<int64_t>(axis));
    if (!is_indexed) continue;
    strides[axis] = next;
    next *= x.sizes()[axis];
  }
  return strides;
}

}  // namespace

std::optional<Points> points_of(const Array& x, std::span<const Array> indices,
                                const GatherAttributes& attributes) {
  if (indices.size() > kMostIndices) return std::nullopt;
  const Sizes numbers = number_strides(x, attributes);
  const Sizes& sizes = indices[0].sizes();
  const Layout batch = batch_layout(sizes, x.layout().strides, attributes.batch);
  const Layout batch_numbers = batch_layout(sizes, numbers, attributes.batch);
  std::vector<const Layout*> layouts;
  for (const Array& array : indices) layouts.push_back(&array.layout());
  layouts.push_back(&batch);
  layouts.push_back(&batch_numbers);
  const JointLayout joint(layouts);
  const size_t rank = joint.sizes.size();
  if (rank > kMostDims) return std::nullopt;
  Points points{.count = indices[0].element_count(),
                .rank = static_cast<int32_t>(rank),
                .indices = static_cast<int32_t>(indices.size())};
  std::ranges::copy(joint.sizes, points.sizes);
  std::ranges::copy(joint.strides[indices.size()], points.batch_steps);
  std::ranges::copy(joint.strides[indices.size() + 1], points.batch_numbers);
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto axis = static_cast<size_t>(attributes.axes[i]);
    std::ranges::copy(joint.strides[i], points.strides[i]);
    points.data[i] = reinterpret_cast<Address>(indices[i].device_data());
    points.dtypes[i] = code_of(indices[i].dtype());
    points.axis_sizes[i] = x.sizes()[axis];
    points.axis_steps[i] = x.layout().strides[axis];
    points.axis_numbers[i] = numbers[axis];
  }
  return points;
}

std::optional<Row> row_of(const Array& x, const GatherAttributes& attributes, const Layout* other) {
  const Layout layout = row_layout(x.layout(), attributes);
  const Layout contiguous = Layout::contiguous(layout.sizes);
  const Layout* both[] = {&layout, other != nullptr ? other : &contiguous};
  const JointLayout joint(both);
  if (joint.sizes.size() > kMostDims) return std::nullopt;
  Row row{.count = layout.element_count(), .rank = static_cast<int32_t>(joint.sizes.size())};
  std::ranges::copy(joint.sizes, row.sizes);
  for (size_t i = 0; i < 2; ++i) std::ranges::copy(joint.strides[i], row.steps[i]);
  return row;
}

int64_t count_rows(const Array& x, const GatherAttributes& attributes) {
  int64_t count = 1;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const bool is_indexed = axis < static_cast<size_t>(attributes.batch) ||
                            std::ranges::binary_search(attributes.axes, static_cast<int64_t>(axis));
    if (is_indexed) count *= x.sizes()[axis];
  }
  return count;
}

CheckedOperation checked_operation(std::string_view function, const Array& x,
                                   std::span<const Array> indices,
                                   const GatherAttributes& attributes) {
  CheckedOperation operation{.function = function,
                             .dtype = x.dtype(),
                             .sizes = x.sizes(),
                             .axes = attributes.axes,
                             .location = Location::of_caller()};
  for (const Array& array : indices) operation.index_dtypes.push_back(array.dtype());
  return operation;
}

std::string points_text(const Points& points, const Row& row, bool narrow) {
  return fmt::format(
      "typedef {} Number;\n#define POINT_RANK {}\n#define INDICES {}\n#define ROW_RANK {}\n{}{}",
      narrow ? "u32" : "u64", points.rank, points.indices, row.rank, kIndexNotesText, kPoints);
}

}  // namespace plait::cuda
