// Analysis of an index for a given tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/ops/arrays/slice_range.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/indexing/index.h"

namespace plait {

// Slices, integers and new axes make a view of x: first the ranges are taken, then the result is
// reshaped. Index tensors, if any, select rows of that view.
struct IndexPlan {
  std::vector<SliceRange> ranges = {};  // one per axis of x
  bool takes_all = true;                // true if every range is its whole axis
  Shape view = {};

  std::vector<Tensor> indices = {};  // one per axis in `places`, broadcast to one shape
  GatherAttributes places = {};
  Shape points = {};  // shape of the indices without batch dimensions

  Shape result = {};

  bool has_tensors() const { return !indices.empty(); }
  Shape part() const;  // shape of x after the ranges are taken
};

struct PlanOptions {
  // Treat integers like index tensors, so that an integer out of range throws no error here.
  bool integers_as_tensors = false;
  Outside outside = Outside::fails;
};

IndexPlan plan_index(const Tensor& x, std::span<const Index> indices,
                     const PlanOptions& options = {});
Tensor view_of(const Tensor& x, const IndexPlan& plan);

// The mask of an index that consists of one mask and full slices, and the first axis of x that it
// covers.
struct LoneMask {
  Tensor mask;
  size_t axis;
};
std::optional<LoneMask> find_lone_mask(const Tensor& x, std::span<const Index> indices);

}  // namespace plait
