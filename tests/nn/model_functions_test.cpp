// Functions of models: orthogonal weights, fused normalisations, parameters as one vector; and
// losses with optax's names. Numbers are compared with PyTorch's and optax's by
// tests/oracles/functions_oracle.py.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/nn/initialization.h"
#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/losses/distance_losses.h"
#include "plait/nn/losses/more_losses.h"
#include "plait/nn/losses/optax_losses.h"
#include "plait/nn/models/freeze.h"
#include "plait/nn/models/fusion.h"
#include "plait/nn/models/mode.h"
#include "plait/nn/models/orthogonal.h"
#include "plait/nn/models/sequential.h"
#include "plait/nn/models/state.h"
#include "plait/nn/models/vectors.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/sgd.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"

namespace plait::model_function_tests {
namespace {

using nn::Linear;
using nn::OrthogonalMap;

Linear layer_of(int64_t inputs, int64_t outputs) {
  return Linear::init(random::key(3), inputs, outputs, {.dtype = DType::f64});
}
Tensor numbers(const Shape& shape) {
  return random::normal(random::key(7), shape, 0., 1., DType::f64);
}
double distance(const Tensor& a, const Tensor& b) { return max(absolute(a - b)).item<double>(); }

// How far the Gram matrix of the columns, or rows, is from the identity.
double distance_from_orthogonal(const Tensor& weight) {
  const bool is_wide = weight.shape(0).number() < weight.shape(1).number();
  const Tensor tall = is_wide ? matrix_transpose(weight) : weight;
  const Tensor transposed = matrix_transpose(tall);
  const Tensor gram = matmul(is_complex(tall.dtype()) ? conj(transposed) : transposed, tall);
  return distance(gram, eye(gram.shape(0).number(), -1, tall.dtype()));
}

TEST(Orthogonal, HasTheNamesOfPyTorch) {
  const auto layer = nn::orthogonal(layer_of(3, 5));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : nn::state(layer)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"bias", "parametrizations.weight.0.base",
                                             "parametrizations.weight.original"}));
  EXPECT_LT(distance_from_orthogonal(nn::remove_parametrizations(layer).weight), 1e-12);
  const nn::Orthogonal<Linear> plain =
      nn::orthogonal(layer_of(3, 5), {.use_trivialization = false});
  EXPECT_FALSE(plain.parametrizations.weight.trivialized.has_value());
  EXPECT_LT(distance_from_orthogonal(plain.parametrizations.weight.value()), 1e-12);
}

TEST(Orthogonal, StaysSoInTraining) {
  const Tensor x = numbers({6, 3});
  for (const OrthogonalMap map :
       {OrthogonalMap::matrix_exp, OrthogonalMap::cayley, OrthogonalMap::householder}) {
    auto model = nn::orthogonals(nn::Sequential{layer_of(3, 5), layer_of(5, 2)}, {"*.weight"},
                                 {.orthogonal_map = map});
    optim::SGD<decltype(model)> optimizer(model, {.lr = 0.1});
    const auto loss_of = [&](const decltype(model)& at) -> Tensor {
      return mean(square(at(x) - 1));
    };
    const double before = loss_of(model).item<double>();
    for (int i = 0; i < 10; ++i) {
      std::tie(model, optimizer) = optimizer.update(model, grad(loss_of)(model));
    }
    EXPECT_LT(loss_of(model).item<double>(), before);
    const auto whole = model.whole();
    EXPECT_LT(distance_from_orthogonal(std::get<0>(whole).weight), 1e-12);
    EXPECT_LT(distance_from_orthogonal(std::get<1>(whole).weight), 1e-12);
  }
}

TEST(Orthogonal, IsUnitaryForComplexNumbers) {
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}}) {
    const Tensor weight = make_complex(numbers(shape), 2. * numbers(shape));
    auto made = nn::OrthogonalWeight::of(weight);
    EXPECT_LT(distance_from_orthogonal(made.value()), 1e-12);
    made.original = made.original + 0.3 * weight;
    EXPECT_LT(distance_from_orthogonal(made.value()), 1e-12);
  }
  const Tensor weight = nn::orthogonal(random::key(5), {4, 4}, 1, DType::f64);
  EXPECT_EQ(distance(nn::OrthogonalWeight::of(weight).trivialized->base, weight), 0);
}

TEST(Orthogonal, RefusesWhatCannotBe) {
  expect_contains(what_of<ShapeError>([] { return nn::OrthogonalWeight::of(ones({3})); }),
                  {"nn::orthogonal", "the weight is f32[3], expected a matrix"});
  expect_contains(what_of<TypeError>([] {
                    return nn::OrthogonalWeight::of(make_complex(ones({3, 2}), ones({3, 2})),
                                                    {.orthogonal_map = OrthogonalMap::householder});
                  }),
                  {"the weight is c64[3, 2], and the map householder is for real numbers"});
  expect_contains(
      what_of<TypeError>([] { return nn::OrthogonalWeight::of(reshape(iota(4), {2, 2})); }),
      {"the weight is i64[2, 2], expected floats"});
}

nn::BatchNorm2d norm_of(int64_t channels) {
  nn::BatchNorm2d made = nn::BatchNorm2d::init(channels, {.dtype = DType::f64});
  made.running_mean = nn::Buffer(numbers({channels}));
  made.running_var = nn::Buffer(exp(numbers({channels})));
  made.weight = 1. + numbers({channels});
  return nn::eval(made);
}

TEST(Fusion, ComputesTheNormalisedLayer) {
  const Tensor images = numbers({2, 4, 5, 6});
  const auto conv = nn::Conv2d::init(random::key(1), 4, 6, 3, {.groups = 2, .dtype = DType::f64});
  const auto wide = nn::ConvTranspose2d::init(random::key(1), 4, 6, 3,
                                              {.groups = 2, .bias = false, .dtype = DType::f64});
  const nn::BatchNorm2d bn = norm_of(6);
  EXPECT_LT(distance(nn::fuse_conv_bn_eval(conv, bn)(images), bn(conv(images))), 1e-12);
  EXPECT_LT(distance(nn::fuse_conv_bn_eval(wide, bn)(images), bn(wide(images))), 1e-12);
  const Linear linear = layer_of(3, 5);
  const Tensor x = numbers({4, 3});
  for (const int64_t channels : {5, 1}) {
    const nn::BatchNorm& norm = norm_of(channels);
    const Tensor scale = rsqrt(*norm.running_var + norm.eps) * *norm.weight;
    const Tensor wanted = (linear(x) - *norm.running_mean) * scale + *norm.bias;
    EXPECT_LT(distance(nn::fuse_linear_bn_eval(linear, norm)(x), wanted), 1e-12);
  }
}

TEST(Fusion, RefusesWhatCannotBe) {
  const auto conv = nn::Conv2d::init(random::key(1), 4, 6, 3);
  expect_contains(
      what_of<ValueError>([&] { return nn::fuse_conv_bn_eval(conv, nn::BatchNorm2d::init(6)); }),
      {"nn::fuse_conv_bn_eval: bn is in training mode", "nn::eval(bn)"});
  expect_contains(
      what_of<ShapeError>([&] { return nn::fuse_conv_bn_eval(conv, norm_of(4)); }),
      {"nn::fuse_conv_bn_eval: bn has 4 channels, and the layer 6 outputs, expected as many"});
  expect_contains(what_of<ValueError>([&] {
                    return nn::fuse_linear_bn_eval(
                        layer_of(3, 5),
                        nn::eval(nn::BatchNorm1d::init(5, {.track_running_stats = false})));
                  }),
                  {"nn::fuse_linear_bn_eval: bn has no running statistics"});
}

struct Mixed {
  Linear layer = layer_of(3, 2);
  nn::Buffer mean = nn::Buffer(ones({4}));
  Tensor narrow = astype(ones({2}), DType::f16);
};

TEST(ParameterVectors, AreInTheOrderOfTheFields) {
  const Mixed model;
  const Tensor vector = nn::parameters_to_vector(model);
  EXPECT_EQ(vector.text(),
            concat(std::vector<Tensor>{flatten(model.layer.weight), *model.layer.bias,
                                       astype(model.narrow, DType::f64)})
                .text());
  const Mixed made = nn::vector_to_parameters(2. * vector, model);
  EXPECT_EQ(distance(made.layer.weight, 2. * model.layer.weight), 0);
  EXPECT_EQ(made.narrow.dtype(), DType::f16);
  EXPECT_EQ(made.mean.text(), model.mean.text());
  const auto frozen = nn::freeze(model, {"layer.weight"});
  EXPECT_EQ(nn::parameters_to_vector(frozen).shape(0).number(), 4);
  EXPECT_EQ(nn::parameters_to_vector(frozen.whole()).shape(0).number(), 10);
}

TEST(ParameterVectors, RefuseWhatDoesNotFit) {
  expect_contains(
      what_of<ShapeError>([] { return nn::vector_to_parameters(ones({9}), layer_of(3, 2)); }),
      {"nn::vector_to_parameters: the vector is f32[9], expected [8], as many numbers as the",
       "of a model like this one"});
  expect_contains(what_of<TypeError>([] {
                    return nn::vector_to_parameters(make_complex(ones({8}), ones({8})),
                                                    layer_of(3, 2));
                  }),
                  {"the vector is c64[8], and the parameters are real", "real(x)"});
  expect_contains(what_of<ValueError>([] { return nn::parameters_to_vector(iota(3)); }),
                  {"nn::parameters_to_vector: there are no parameters"});
}

TEST(OptaxLosses, TakeRowsAloneAndNarrowNumbers) {
  const Tensor scores = numbers({5, 4}), labels = remainder(iota(5), 4);
  const auto one = [](const Tensor& row, const Tensor& label) {
    return nn::multiclass_sparsemax_loss(row, label);
  };
  EXPECT_LT(distance(vmap(one)(scores, labels), nn::multiclass_sparsemax_loss(scores, labels)),
            1e-12);
  const Tensor narrow = astype(scores, DType::bf16);
  EXPECT_EQ(nn::multiclass_perceptron_loss(narrow, labels).dtype(),
            nn::hinge_loss(narrow, narrow).dtype());
  const auto city = [](const Tensor& a, const Tensor& b) { return sum(absolute(a - b), -1); };
  const Tensor near = scores + 1., far = scores - 3.;
  EXPECT_NEAR(
      nn::triplet_margin_with_distance_loss(
          scores, near, far,
          nn::TripletMarginWithDistanceLoss<decltype(city)>{.distance_function = city, .margin = 9})
          .item<double>(),
      1, 1e-12);
}

TEST(OptaxLosses, RefuseWhatCannotBe) {
  const Tensor x = ones({3, 4});
  expect_contains(what_of<ShapeError>([&] { return nn::perceptron_loss(x, ones({4})); }),
                  {"nn::perceptron_loss", "the arguments are f32[3, 4] and f32[4]"});
  expect_contains(what_of<TypeError>([&] { return nn::multiclass_sparsemax_loss(x, ones({3})); }),
                  {"nn::multiclass_sparsemax_loss", "expected indices of classes"});
  expect_contains(
      what_of<ShapeError>([&] { return nn::multiclass_perceptron_loss(x, zeros({}, DType::i64)); }),
      {"the scores are f32[3, 4] and the labels i64[]"});
  expect_contains(what_of<ShapeError>(
                      [&] { return nn::multiclass_generalized_dice_loss(ones({4}), ones({4})); }),
                  {"the targets are f32[4], expected [batch, …, classes]"});
}

}  // namespace
}  // namespace plait::model_function_tests
