#include "plait/nn/initialization.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/random/random.h"

namespace plait::nn {
namespace {

// Standard deviation; 0 for an infinite variance, that is, without inputs.
double deviation_of(double variance) { return std::isfinite(variance) ? std::sqrt(variance) : 0; }
// Uniform numbers in ±√3 σ have the standard deviation σ.
double bound_of(double variance) { return std::sqrt(3.) * deviation_of(variance); }

double kaiming_variance(const Shape& shape, double slope) {
  expect_number("slope", slope);
  return 2 / (1 + slope * slope) / static_cast<double>(fans_of(shape).in);
}

double xavier_variance(const Shape& shape, double gain) {
  expect_number("gain", gain);
  const Fans fans = fans_of(shape);
  return 2 * gain * gain / static_cast<double>(fans.in + fans.out);
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2) {
    throw ShapeError("weights are {}, expected at least two dimensions: [outputs, inputs, …]",
                     shape.text());
  }
  const std::vector<int64_t> sizes = shape.to_sizes();
  int64_t space = 1;
  for (size_t i = 2; i < sizes.size(); ++i) space *= sizes[i];
  return {.in = sizes[1] * space, .out = sizes[0] * space};
}

Tensor uniform(const Tensor& key, const Shape& shape, double bound, DType dtype) {
  const Call call("nn::uniform", shape);
  expect_not_negative("bound", bound);
  if (bound == 0) return zeros(shape, dtype);  // an empty range has no numbers
  return random::uniform(key, shape, -bound, bound, dtype);
}

Tensor kaiming_uniform(const Tensor& key, const Shape& shape, double slope, DType dtype) {
  const Call call("nn::kaiming_uniform", shape);
  return uniform(key, shape, bound_of(kaiming_variance(shape, slope)), dtype);
}

Tensor kaiming_normal(const Tensor& key, const Shape& shape, double slope, DType dtype) {
  const Call call("nn::kaiming_normal", shape);
  return random::normal(key, shape, 0., deviation_of(kaiming_variance(shape, slope)), dtype);
}

Tensor xavier_uniform(const Tensor& key, const Shape& shape, double gain, DType dtype) {
  const Call call("nn::xavier_uniform", shape);
  return uniform(key, shape, bound_of(xavier_variance(shape, gain)), dtype);
}

Tensor xavier_normal(const Tensor& key, const Shape& shape, double gain, DType dtype) {
  const Call call("nn::xavier_normal", shape);
  return random::normal(key, shape, 0., deviation_of(xavier_variance(shape, gain)), dtype);
}

}  // namespace plait::nn
