// im2col and its adjoint on a device: the elements of x that meet a kernel, as columns of matrices.
// They are made in slices, whose memory is bounded.
#pragma once

#include <vector>

#include "plait/cuda/inside/windows/device_convolution.h"

namespace plait::cuda {

inline constexpr int64_t kColumnBytes = int64_t{256} << 20;

// Some images, or some places of one image.
struct PatchSlice {
  int64_t first_image, images, first_place, places;
};

// Slices of at most so many bytes, with at least one place; a function of sizes.
std::vector<PatchSlice> patch_slices(const ConvolutionShape& shape, int64_t element_size,
                                     int64_t most_bytes);

// That part of an array [images, …, places].
Array slice_of(const Array& array, const PatchSlice& slice);

// Columns, [images, groups, patch, places]. In memory, the images of a row are neighbours if
// `joined`; else each image has its own matrices.
Array empty_columns(const DeviceConvolution& c, const PatchSlice& slice, DType dtype, bool joined);
void gather_patches(const DeviceConvolution& c, const PatchSlice& slice, const Array& columns);
// The adjoint: adds columns, of dtype stored(), into x. If a slice has some of an image's places,
// `sums` keeps one image from slice to slice: [inputs, in places].
void join_patches(const DeviceConvolution& c, const PatchSlice& slice, const Array& columns,
                  const Array& sums);

}  // namespace plait::cuda
