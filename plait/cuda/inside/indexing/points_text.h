// Points and rows of gather and scatter (ops/indexing/gather.h), as kernels get them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plait/cuda/inside/device/index_notes.h"
#include "plait/ops/indexing/gather.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

inline constexpr size_t kMostDims = 8;     // after adjacent ones were joined
inline constexpr size_t kMostIndices = 8;  // arrays of indices

// The points. Strides and steps are in elements; `steps` are those of x, and of numbers that count
// the rows of x.
struct Points {
  int64_t count = 1;
  int32_t rank = 0, indices = 0;
  int64_t sizes[kMostDims] = {};
  int64_t strides[kMostIndices][kMostDims] = {};  // arrays of indices
  int64_t batch_steps[kMostDims] = {}, batch_numbers[kMostDims] = {};
  Address data[kMostIndices] = {};
  int32_t dtypes[kMostIndices] = {};
  int64_t axis_sizes[kMostIndices] = {}, axis_steps[kMostIndices] = {};
  int64_t axis_numbers[kMostIndices] = {};
  uint64_t place = 0;  // that of the first point (index_notes.h)
  Address notes = 0;   // none: indices out of range are ignored
};

// The elements of a row: their distances in x, and in another array.
struct Row {
  int64_t count = 1;
  int32_t rank = 0, unused = 0;
  int64_t sizes[kMostDims] = {};
  int64_t steps[2][kMostDims] = {};
};

// Empty if there are too many dimensions or arrays: the host computes. All arrays are on one
// device. The places of notes are still missing.
std::optional<Points> points_of(const Array& x, std::span<const Array> indices,
                                const GatherAttributes& attributes);
// `other`: the layout of a row in another array, or null for a contiguous one.
std::optional<Row> row_of(const Array& x, const GatherAttributes& attributes,
                          const Layout* other = nullptr);
// The number of rows of x that points may name.
int64_t count_rows(const Array& x, const GatherAttributes& attributes);

// All that an error of these indices says.
CheckedOperation checked_operation(std::string_view function, const Array& x,
                                   std::span<const Array> indices,
                                   const GatherAttributes& attributes);

// Points, Row, find_row, row_offset, for points and a row of these ranks. Number: an unsigned type,
// of 32 bits if `narrow`, for the numbers of points and of elements.
std::string points_text(const Points& points, const Row& row, bool narrow);

}  // namespace plait::cuda
