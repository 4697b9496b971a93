// Layers without weights that rearrange their input.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// Returns its input; a placeholder for another layer.
struct Identity {
  Tensor operator()(const Tensor& x) const { return x; }
};

// Merges the dimensions from start_dim to end_dim.
struct Flatten {
  int64_t start_dim = 1;
  int64_t end_dim = -1;

  Tensor operator()(const Tensor& x) const;
};

// Splits a dimension into several of these sizes, one of which may be -1.
struct Unflatten {
  int64_t dim = 1;
  std::vector<int64_t> unflattened_size;

  Tensor operator()(const Tensor& x) const;
};

// Moves channels into space: [..., c·r², h, w] becomes [..., c, h·r, w·r].
struct PixelShuffle {
  int64_t upscale_factor = 1;

  Tensor operator()(const Tensor& x) const;
};

// Moves space into channels: [..., c, h·r, w·r] becomes [..., c·r², h, w].
struct PixelUnshuffle {
  int64_t downscale_factor = 1;

  Tensor operator()(const Tensor& x) const;
};

// Interleaves groups of channels, which are along dimension 1: the first channel of each group,
// then the second of each, and so on.
struct ChannelShuffle {
  int64_t groups = 1;

  Tensor operator()(const Tensor& x) const;
};

// The elements of each window of [..., channels, height, width], as columns [..., channels ·
// elements, windows]. One number counts for both dimensions.
struct Unfold {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> dilation = {1};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> stride = {1};

  Tensor operator()(const Tensor& images) const;
};

// Sums the columns of Unfold into images of output_size.
struct Fold {
  std::vector<int64_t> output_size;
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> dilation = {1};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> stride = {1};

  Tensor operator()(const Tensor& columns) const;
};

}  // namespace plait::nn
