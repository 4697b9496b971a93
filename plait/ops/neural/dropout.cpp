#include "plait/ops/neural/dropout.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/random/random.h"

namespace plait {
namespace {

void expect_numbers(const Tensor& x) {
  if (!is_key(x.dtype())) return;
  throw TypeError("{} is not a number", x.type().text()).at(Location::of_caller());
}

void expect_probability(double probability) {
  if (probability >= 0 && probability <= 1) return;
  throw ValueError("the probability is {}, expected 0 to 1", probability).at(Location::of_caller());
}

// Which parts are kept, of this shape.
Tensor kept(std::string_view function, const Shape& shape, double probability, const Tensor& key) {
  random::expect_one_key(function, key);
  return random::bernoulli(key, 1 - probability, shape);
}

// The first dimensions of x, and 1 instead of the others.
Shape first_dimensions(const Tensor& x, size_t count) {
  Shape shape(x.shape().dims().first(count));
  while (shape.rank() < x.rank()) shape.append(1);
  return shape;
}

void expect_space(std::string_view function, const Tensor& x, size_t least, size_t most) {
  if (x.rank() >= least && x.rank() <= most) return;
  throw ShapeError("{}: x is {}, expected {} or {} dimensions", function, x.type().text(), least,
                   most)
      .at(Location::of_caller());
}

Tensor drop_channels(std::string_view function, const Tensor& x, size_t space, double probability,
                     const Tensor& key) {
  const Call call(function, x, key);
  expect_probability(probability);
  expect_space(function, x, space + 1, space + 2);
  const bool has_batch = x.rank() == space + 2 || space == 2;
  const Shape shape = first_dimensions(x, has_batch ? 2 : 1);
  return dropout(x, kept(function, shape, probability, key), probability);
}

// alpha_dropout with a mask, which is broadcast to x.
Tensor alpha_dropped(const Tensor& x, double probability, const Tensor& keep) {
  const Tensor numbers = astype(x, inexact(x.dtype()));
  if (probability == 1) return zeros_like(numbers);
  constexpr double kAlpha = 1.7580993408473766;  // minus the limit of selu at −∞
  const double scale = 1 / std::sqrt((kAlpha * kAlpha * probability + 1) * (1 - probability));
  const double shift = kAlpha * scale * probability;
  return where(keep, numbers * scale + shift, shift - kAlpha * scale);
}

using Keyed = Tensor(const Tensor& x, double probability, const Tensor& key);

Tensor with_next_key(std::string_view function, Keyed* keyed, const Tensor& x, double probability) {
  const Call call(function, x);
  return random::from_stream([&](const Tensor& key) { return keyed(x, probability, key); });
}

}  // namespace

Tensor dropout(const Tensor& x, const Tensor& keep, double probability) {
  const Call call("dropout", x, keep);
  expect_probability(probability);
  const Tensor numbers = astype(x, inexact(x.dtype()));
  const double scale = probability == 1 ? 0 : 1 / (1 - probability);
  return where(broadcast_to_shape("keep", keep, x.shape()), numbers * scale, 0);
}

Tensor dropout(const Tensor& x, double probability, const Tensor& key) {
  const Call call("dropout", x, key);
  expect_probability(probability);
  return dropout(x, kept("dropout", x.shape(), probability, key), probability);
}

Tensor dropout(const Tensor& x, double probability) {
  const Call call("dropout", x);
  // Checks come before a key is drawn, so that a refused call does not advance the stream.
  expect_probability(probability);
  expect_numbers(x);
  return dropout(x, probability, random::draw_key());
}

Tensor dropout1d(const Tensor& x, double probability, const Tensor& key) {
  return drop_channels("dropout1d", x, 1, probability, key);
}
Tensor dropout2d(const Tensor& x, double probability, const Tensor& key) {
  return drop_channels("dropout2d", x, 2, probability, key);
}
Tensor dropout3d(const Tensor& x, double probability, const Tensor& key) {
  return drop_channels("dropout3d", x, 3, probability, key);
}

Tensor alpha_dropout(const Tensor& x, double probability, const Tensor& key) {
  const Call call("alpha_dropout", x, key);
  expect_probability(probability);
  return alpha_dropped(x, probability, kept("alpha_dropout", x.shape(), probability, key));
}

Tensor feature_alpha_dropout(const Tensor& x, double probability, const Tensor& key) {
  const Call call("feature_alpha_dropout", x, key);
  expect_probability(probability);
  if (x.rank() < 2) {
    throw ShapeError("feature_alpha_dropout: {} has no dimensions for batch and channels",
                     x.type().text())
        .at(Location::of_caller());
  }
  const Shape shape = first_dimensions(x, 2);
  return alpha_dropped(x, probability, kept("feature_alpha_dropout", shape, probability, key));
}

Tensor drop_path(const Tensor& x, double probability, const Tensor& key) {
  const Call call("drop_path", x, key);
  expect_probability(probability);
  if (x.rank() == 0) {
    throw ShapeError("drop_path: {} has no dimension of samples", x.type().text())
        .at(Location::of_caller());
  }
  const Shape shape = first_dimensions(x, 1);
  return dropout(x, kept("drop_path", shape, probability, key), probability);
}

Tensor dropout1d(const Tensor& x, double probability) {
  return with_next_key("dropout1d", dropout1d, x, probability);
}
Tensor dropout2d(const Tensor& x, double probability) {
  return with_next_key("dropout2d", dropout2d, x, probability);
}
Tensor dropout3d(const Tensor& x, double probability) {
  return with_next_key("dropout3d", dropout3d, x, probability);
}
Tensor alpha_dropout(const Tensor& x, double probability) {
  return with_next_key("alpha_dropout", alpha_dropout, x, probability);
}
Tensor feature_alpha_dropout(const Tensor& x, double probability) {
  return with_next_key("feature_alpha_dropout", feature_alpha_dropout, x, probability);
}
Tensor drop_path(const Tensor& x, double probability) {
  return with_next_key("drop_path", drop_path, x, probability);
}

}  // namespace plait
