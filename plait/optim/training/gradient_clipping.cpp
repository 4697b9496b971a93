#include "plait/optim/training/gradient_clipping.h"

#include <cmath>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/step_numbers.h"

namespace plait::optim {
namespace {

// A scalar on the device of a tensor: those of a gradient may be on several.
Tensor beside(const Tensor& scalar, const Tensor& tensor) {
  const Device there = tensor.device();
  return scalar.device() == there ? scalar : to_device(scalar, there);
}

}  // namespace

Tensor total_norm_of(std::span<const Tensor> gradients, double norm_type) {
  if (!(norm_type > 0)) {
    throw ValueError("optim::get_total_norm: norm_type is {}, expected a number above 0", norm_type)
        .at(Location::of_caller());
  }
  DType dtype = DType::f32;
  std::vector<Tensor> sizes;
  for (const Tensor& each : gradients) {
    if (!is_trained(each)) continue;
    if (plait::real_dtype(each.dtype()) == DType::f64) dtype = DType::f64;
    sizes.push_back(absolute(each));
  }
  if (sizes.empty()) {
    throw ValueError("optim::get_total_norm: the gradient has no tensors")
        .at(Location::of_caller());
  }
  const bool is_largest = std::isinf(norm_type);
  Tensor total;
  for (const Tensor& each : sizes) {
    const Tensor wide_size = astype(each, dtype);
    const Tensor own = is_largest       ? max(wide_size)
                       : norm_type == 2 ? sum_of_squares(wide_size)
                                        : sum(power(wide_size, norm_type));
    const Tensor part = beside(own, sizes.front());
    total = !total ? part : is_largest ? maximum(total, part) : total + part;
  }
  if (is_largest) return total;
  return norm_type == 2 ? sqrt(total) : power(total, 1 / norm_type);
}

Tensor clipping_factor(const Tensor& norm, double max_norm) {
  Number(max_norm).expect_within("optim::clip_grad_norm: max_norm", 0, kInfinity);
  return minimum(max_norm / (as_f64(norm) + 1e-6), 1.);
}

Tensor scaled_by(const Tensor& gradient, const Tensor& factor) {
  if (!is_trained(gradient)) return gradient;
  const Tensor own = astype(beside(factor, gradient), plait::real_dtype(wide(gradient.dtype())));
  return astype(as_wide(gradient) * own, gradient.dtype());
}

Tensor clipped_to(const Tensor& gradient, double clip_value) {
  Number(clip_value).expect_within("optim::clip_grad_value: clip_value", 0, kInfinity);
  if (!is_trained(gradient) || is_complex(gradient.dtype())) return gradient;
  return clip(gradient, -clip_value, clip_value);
}

}  // namespace plait::optim
