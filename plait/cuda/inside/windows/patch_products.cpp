#include "plait/cuda/inside/windows/patch_products.h"

#include <array>

#include "plait/cuda/inside/products/device_product.h"
#include "plait/cuda/inside/windows/weight_products.h"

namespace plait::cuda {
namespace {

Array reshaped_view(const Array& array, const Sizes& sizes) {
  return array.view(*array.layout().reshaped(sizes));
}

// out[n, g] = a[g] · b[n, g], where images have one place: they are the columns of one product.
// Matrices of several groups would interleave in `out`, which cuBLASLt may refuse.
void multiply_joined(CudaDevice& device, const Array& a, const Array& b, const Array& out) {
  constexpr std::array<int64_t, 4> kOrder = {1, 2, 0, 3};
  const auto turned = [&](const Array& x) {
    const Array rows = x.view(x.layout().permuted(kOrder));
    return rows.view(rows.layout().picked(3, 0));
  };
  Array target = turned(out);
  if (target.sizes()[0] == 1) return multiply(device, a, turned(b), target);
  Array product = Array::empty_on(out.device(), out.dtype(), target.sizes());
  multiply(device, a, turned(b), product);
  copy_elements(product, target);
}

// The same for any images.
void multiply_images(CudaDevice& device, const Array& a, const Array& b, Array out) {
  const bool joins = out.sizes()[0] > 1 && out.sizes()[3] == 1;
  joins ? multiply_joined(device, a, b, out) : multiply(device, a, b, out);
}

}  // namespace

void convolve_by_products(const DeviceConvolution& c, int64_t most_bytes) {
  const ConvolutionShape& s = c.shape;
  const Array weights = c.w.reshaped({s.groups, s.group_outputs(), s.patch()});
  const Array target = reshaped_view(c.out, {s.images, s.groups, s.group_outputs(), c.places()});
  if (s.is_pointwise()) {
    const Array x = c.x.reshaped({s.images, s.groups, s.group_inputs(), c.places()});
    return multiply_images(c.device, weights, x, target);
  }
  for (const PatchSlice& slice : patch_slices(s, size_of(s.dtype), most_bytes)) {
    const Array columns = empty_columns(c, slice, s.dtype, false);
    gather_patches(c, slice, columns);
    multiply_images(c.device, weights, columns, slice_of(target, slice));
  }
}

void find_input_gradient_by_products(const DeviceConvolution& c, int64_t most_bytes) {
  const ConvolutionShape& s = c.shape;
  const Array rows = c.w.reshaped({s.groups, s.group_outputs(), s.patch()});
  const Array weights = rows.view(rows.layout().permuted(std::array<int64_t, 3>{0, 2, 1}));
  const Array gradient = c.out.reshaped({s.images, s.groups, s.group_outputs(), c.places()});
  if (s.is_pointwise()) {
    const Sizes sizes{s.images, s.groups, s.group_inputs(), c.places()};
    return multiply_images(c.device, weights, gradient, reshaped_view(c.x, sizes));
  }
  Array sums;
  for (const PatchSlice& slice : patch_slices(s, size_of(c.stored()), most_bytes)) {
    if (!sums && slice.places < c.places()) {
      sums = Array::empty_on(c.place(), c.stored(), {s.inputs, s.in_places()});
    }
    const Array columns = empty_columns(c, slice, c.stored(), false);
    multiply_images(c.device, weights, slice_of(gradient, slice), columns);
    join_patches(c, slice, columns, sums);
  }
}

void find_weight_gradient_by_products(const DeviceConvolution& c, int64_t most_bytes) {
  const ConvolutionShape& s = c.shape;
  const Array gradient = c.out.reshaped({s.images, s.groups, s.group_outputs(), c.places()});
  WeightProducts products(c);
  if (s.is_pointwise()) {
    const Array x = c.x.reshaped({s.images, s.groups, s.group_inputs(), c.places()});
    return products.add(gradient, x, true);
  }
  const auto slices = patch_slices(s, size_of(s.dtype), most_bytes);
  for (const PatchSlice& slice : slices) {
    const Array columns = empty_columns(c, slice, s.dtype, products.joins_images(slice.images));
    gather_patches(c, slice, columns);
    products.add(slice_of(gradient, slice), columns, &slice == &slices.back());
  }
}

}  // namespace plait::cuda
