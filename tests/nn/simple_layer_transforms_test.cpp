// Simple layers under transforms: a stack of models by vmap, jit for every batch size, remat, and
// second derivatives.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/nn/layers/activation_layers.h"
#include "plait/nn/layers/adaptive_softmax.h"
#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/instance_norm.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/layers/padding_layers.h"
#include "plait/nn/layers/pooling_layers.h"
#include "plait/nn/layers/resampling_layers.h"
#include "plait/nn/layers/shape_layers.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

namespace plait::simple_layer_transforms_tests {
namespace {

constexpr DType kF64 = DType::f64;
const Tensor kKey = random::key(3);

double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return a.shape().element_count().number() == 0 ? 0 : max(absolute(a - b)).item<double>();
}

template <class Layer>
Layer scaled(const Layer& layer) {
  return map_leaves(layer,
                    [](const Tensor& x) { return is_floating(x.dtype()) ? x * 1.5 : x + 1; });
}

// The results of the call, and the layer after it, as tensors.
template <class Layer>
std::vector<Tensor> called(Layer layer, const Tensor& x) {
  const auto output = layer(x);
  return tensors_of(std::pair{output, layer});
}

template <class Layer>
void expect_stacks(const Layer& layer, const Tensor& x) {
  const Layer other = scaled(layer);
  const Layer stacked = map_leaves(
      [](const Tensor& a, const Tensor& b) { return stack(std::vector{a, b}); }, layer, other);
  const Tensor other_x = is_floating(x.dtype()) ? x * 0.5 + 0.25 : x;
  const auto results = vmap([](const Layer& each, const Tensor& y) { return called(each, y); })(
      stacked, stack(std::vector{x, other_x}));
  const auto first = called(layer, x), second = called(other, other_x);
  ASSERT_EQ(results.size(), first.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_LT(difference(results[i][0], first[i]), 1e-9);
    EXPECT_LT(difference(results[i][1], second[i]), 1e-9);
  }
}

template <class Layer>
void expect_all_batches(const Layer& layer, const Tensor& x) {
  const auto run = jit([](const Layer& each, const Tensor& y) { return called(each, y); });
  for (const int64_t count : {4, 2, 3, 5}) {
    std::vector<Tensor> parts(static_cast<size_t>(count), slice_axis(x, 0, 0, 1));
    parts.back() = slice_axis(x, 0, 1, 1);
    const Tensor batch = concat(parts, 0);
    const auto expected = called(layer, batch), found = run(layer, batch);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_LT(difference(found[i], expected[i]), 1e-9);
  }
  EXPECT_LE(run.stats().traces, 2);
}

template <class Layer>
void expect_remat(const Layer& layer, const Tensor& x) {
  const auto call = [](Layer each, const Tensor& y) { return each(y); };
  const auto loss = [](auto function) {
    return [function](const Tensor& y, const Layer& each) { return sum(sin(function(each, y))); };
  };
  const Tensor expected = grad(loss(call))(x, layer);
  EXPECT_LT(difference(grad(loss(remat(call)))(x, layer), expected), 1e-9);
  const auto slopes = [loss](auto function) {
    return [loss, function](const Tensor& y, const Layer& each) {
      return sum(square(grad(loss(function))(y, each)));
    };
  };
  const Tensor second = grad(slopes(call))(x, layer);
  EXPECT_LT(difference(grad(slopes(remat(call)))(x, layer), second), 1e-8);
  // A finite difference along one direction.
  const Tensor along = random::normal(random::key(9), x.shape(), 0., 1., kF64) * 1e-6;
  const Tensor change = slopes(call)(x + along, layer) - slopes(call)(x - along, layer);
  EXPECT_NEAR(change.item<double>() / 2e-6, sum(second * along).item<double>() / 1e-6,
              1e-4 * (1 + std::abs(change.item<double>() / 2e-6)));
}

template <class Layer>
void expect_transforms(const Layer& layer, const Tensor& x) {
  SCOPED_TRACE(testing::PrintToString(reflect::type_name<Layer>()));
  expect_stacks(layer, x);
  expect_all_batches(layer, x);
  if (is_floating(x.dtype())) expect_remat(layer, x);
}

Tensor normal(const Shape& shape) { return random::normal(kKey, shape, 0., 1., kF64); }

TEST(SimpleLayerTransforms, Activations) {
  const Tensor x = normal({3, 4, 6});
  expect_transforms(nn::Mish{}, x);
  expect_transforms(nn::PReLU::init({.num_parameters = 4, .dtype = kF64}), x);
  expect_transforms(nn::CELU{.alpha = 0.5}, x);
  expect_transforms(nn::Softplus{.threshold = 1}, x);
  expect_transforms(nn::LogSoftmax{.dim = 1}, x);
  expect_transforms(nn::GLU{}, x);
  expect_transforms(nn::SwiGLU{.dim = 1}, x);
}

TEST(SimpleLayerTransforms, Shapes) {
  const Tensor x = normal({3, 4, 6, 6});
  expect_transforms(nn::Flatten{}, x);
  expect_transforms(nn::Flatten{.start_dim = 0}, x);
  expect_transforms(nn::Unflatten{.dim = 1, .unflattened_size = {2, -1}}, x);
  expect_transforms(nn::PixelShuffle{2}, x);
  expect_transforms(nn::ChannelShuffle{2}, x);
  expect_transforms(nn::Unfold{.kernel_size = {2}, .stride = {2}}, x);
  expect_transforms(nn::Fold{.output_size = {4}, .kernel_size = {2}}, normal({3, 8, 9}));
  expect_transforms(nn::ZeroPad2d{{-1, 2, 0, 1}}, x);
  expect_transforms(nn::ReflectionPad2d{{2}}, x);
  expect_transforms(nn::CircularPad2d{{1, 2, 0, 1}}, x);
  expect_transforms(
      nn::Upsample{
          .scale_factor = {1.5}, .mode = Interpolation::linear, .recompute_scale_factor = true},
      x);
  expect_transforms(nn::UpsamplingNearest2d{.scale_factor = {2}}, x);
}

TEST(SimpleLayerTransforms, Pooling) {
  const Tensor x = normal({3, 2, 5, 6});
  expect_transforms(nn::MaxPool2d{.kernel_size = {2}, .stride = {1}}, x);
  expect_transforms(nn::LPPool2d{.norm_type = 3, .kernel_size = {2}}, absolute(x) + 0.5);
  expect_transforms(nn::AdaptiveAvgPool2d{{3, -1}}, x);
  expect_transforms(nn::AdaptiveMaxPool2d{{2}}, x);
  const auto pool = [](const Tensor& images) {
    const auto [values, indices] = nn::MaxPool2d{.kernel_size = {2}}.with_indices(images);
    return nn::MaxUnpool2d{.kernel_size = {2}}(values, indices, {5, 6});
  };
  expect_transforms(pool, x);
}

TEST(SimpleLayerTransforms, Norms) {
  const Tensor x = normal({3, 4, 5});
  expect_transforms(nn::BatchNorm1d::init(4, {.dtype = kF64}), x);
  expect_transforms(nn::BatchNorm1d::init(4, {.momentum = std::nullopt, .dtype = kF64}), x);
  expect_transforms(nn::SyncBatchNorm::init(4, "", {.dtype = kF64}), x);
  expect_transforms(
      nn::InstanceNorm1d::init(4, {.affine = true, .track_running_stats = true, .dtype = kF64}), x);
  expect_transforms(nn::LocalResponseNorm{3, 0.5}, x);
}

TEST(SimpleLayerTransforms, Weights) {
  const Tensor ids = tensor(std::vector<int64_t>{0, 3, 3, 4, 1, 2}, {3, 2});
  expect_transforms(
      nn::Embedding::init(
          kKey, 5, 3, {.padding_idx = 1, .max_norm = 1, .scale_grad_by_freq = true, .dtype = kF64}),
      ids);
  expect_transforms(nn::EmbeddingBag::init(kKey, 5, 3, {.padding_idx = 1, .dtype = kF64}), ids);
  expect_transforms(nn::EmbeddingBag::init(kKey, 5, 3, {.mode = BagMode::max, .dtype = kF64}), ids);
  expect_transforms(nn::Conv1d::init(kKey, 4, 2, 2, {.same_padding = true, .dtype = kF64}),
                    normal({3, 4, 5}));
}

}  // namespace
}  // namespace plait::simple_layer_transforms_tests
