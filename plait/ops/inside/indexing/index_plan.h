// An index, read against the tensor that it is of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/ops/arrays/slice_range.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/indexing/index.h"

namespace plait {

// Slices and integers, and new axes, make a view of x: first the ranges, then the reshape. Where
// there are tensors in the index, they name rows of that view.
struct IndexPlan {
  std::vector<SliceRange> ranges = {};  // along each axis of x
  bool takes_all = true;                // whether each range is its whole axis
  Shape view = {};

  std::vector<Tensor> indices = {};  // one for each axis of `places`, stretched together
  GatherAttributes places = {};
  Shape points = {};  // of the indices, without the batch

  Shape result = {};

  bool has_tensors() const { return !indices.empty(); }
  Shape part() const;  // of x under the ranges
};

struct PlanOptions {
  // Integers name rows as tensors do, so that what lies outside is not refused here.
  bool integers_as_tensors = false;
  Outside outside = Outside::fails;
};

IndexPlan plan_index(const Tensor& x, std::span<const Index> indices,
                     const PlanOptions& options = {});
Tensor view_of(const Tensor& x, const IndexPlan& plan);

// The one mask of an index that besides it takes all there is, and the axis of x where it begins.
struct LoneMask {
  Tensor mask;
  size_t axis;
};
std::optional<LoneMask> find_lone_mask(const Tensor& x, std::span<const Index> indices);

}  // namespace plait
