// im2col and its adjoint: the input elements that contribute to each element of a convolution's
// result, as columns of a matrix.
#pragma once

#include <cstddef>

#include "plait/ops/inside/neural/convolution_shape.h"

namespace plait {

// A block of the matrix for one image and group. Rows are (channel of the group, kernel element),
// columns are output positions.
struct PatchBlock {
  int64_t first_row, rows, first_place, places;
};

// im2col from the channels of the group, which are contiguous, to a row-major matrix.
void gather_patches(const ConvolutionShape& shape, const PatchBlock& block,
                    const std::byte* channels, std::byte* patches);
// col2im: adds each element of the matrix to the input element that it was gathered from.
void scatter_patches(const ConvolutionShape& shape, const PatchBlock& block,
                     const std::byte* patches, std::byte* channels);

}  // namespace plait
