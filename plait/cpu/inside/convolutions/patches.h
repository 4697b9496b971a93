// What each element of a convolution's result sees of the input, written out as the column of a
// matrix; and the way back.
#pragma once

#include <cstddef>

#include "plait/cpu/inside/convolutions/convolution_shape.h"

namespace plait {

// A part of the matrix of one image and group: rows are (channel of the group, element of the
// kernel), columns are places of the result.
struct PatchBlock {
  int64_t first_row, rows, first_place, places;
};

// From the channels of the group, which lie in row-major order, to a matrix in that order.
void gather_patches(const ConvolutionShape& shape, const PatchBlock& block,
                    const std::byte* channels, std::byte* patches);
// Adds each element of the matrix to the element of the channels that it was gathered from.
void scatter_patches(const ConvolutionShape& shape, const PatchBlock& block,
                     const std::byte* patches, std::byte* channels);

}  // namespace plait
