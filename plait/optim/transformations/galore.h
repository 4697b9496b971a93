// GaLore: a transformation that works on gradients of matrices projected to few dimensions, so that
// its state is small.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plait/optim/transformations/combining.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

// Which axes of a parameter are the rows of a matrix, and which the columns.
struct GaLoreDimensionNumbers {
  std::vector<int64_t> reduction_axis{0};
  std::vector<int64_t> output_axis{1};
};
// Those of the parameter at a path; none if it is not projected.
using GaLoreDimensions = std::function<std::optional<GaLoreDimensionNumbers>(
    const std::string& path, const Tensor& parameter)>;

struct ScaleByGaLoreOptions {
  int64_t rank = 128;
  int64_t update_proj_gap = 200;  // steps from one projection to the next
  Number scale = 1;
  std::optional<Transformation> base_optimizer = {};  // scale_by_adam() without
  GaLoreDimensions weight_dimension_numbers = {};     // matrices are projected without
};
// Projects gradients to the `rank` leading singular vectors of a gradient, applies a transformation
// that reads no parameters, and projects back.
Transformation scale_by_galore(const ScaleByGaLoreOptions& options = {});
// The same with a rate, and decay of the whole parameters.
Transformation galore(Number learning_rate, const ScaleByGaLoreOptions& options = {},
                      Number weight_decay = 0, std::optional<Mask> mask = {});

}  // namespace plait::optim
