// The gradient of a convolution's kernel: products over all places of all images, cut into parts
// that are computed side by side and then added in order.
#pragma once

#include "plait/cuda/inside/windows/device_convolution.h"

namespace plait::cuda {

class WeightProducts {
 public:
  explicit WeightProducts(const DeviceConvolution& c) : c_(c) {}

  // True if so many images are summed in one product, for which their rows must be neighbours in
  // memory; false if each has its own product.
  bool joins_images(int64_t images) const;

  // Adds Σ out[n, g] · columns[n, g]ᵀ, with [images, groups, rows, places] both; the last call
  // writes the kernel's gradient.
  void add(const Array& out, const Array& columns, bool is_last);

 private:
  int64_t part_length(int64_t images, int64_t places) const;
  void add_parts(const Array& partial, bool is_last);

  const DeviceConvolution& c_;
  Array sums_;  // those of earlier calls
};

}  // namespace plait::cuda
