// Layers with weights, and norms.
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/layers/pooling_layers.h"
#include "plait/nn/models/sequential.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"

#include "tests/oracles/layer_cases.h"

namespace plait {
namespace {

using nn::Sequential;

const LayerCases kCases{
    layer("linear", [](const Tensor& key) { return nn::Linear::init(key, 3, 4, {.dtype = kF64}); }),
    layer("linear_without_bias",
          [](const Tensor& key) {
            return nn::Linear::init(key, 3, 4, {.bias = false, .dtype = kF64});
          }),
    layer("embedding",
          [](const Tensor& key) { return nn::Embedding::init(key, 5, 3, {.dtype = kF64}); }),
    layer("layer_norm", [](const Tensor&) { return nn::LayerNorm::init({3, 4}, {.dtype = kF64}); }),
    layer("group_norm", [](const Tensor&) { return nn::GroupNorm::init(2, 4, {.dtype = kF64}); }),
    layer("rms_norm", [](const Tensor&) { return nn::RMSNorm::init(4, {.dtype = kF64}); }),
    layer("layer_norm_eps",
          [](const Tensor&) {
            return nn::LayerNorm::init(4, {.bias = false, .eps = 0.1, .dtype = kF64});
          }),
    layer("layer_norm_without_weight",
          [](const Tensor&) { return nn::LayerNorm::init(4, {.weight = false, .dtype = kF64}); }),
    layer("group_norm_eps",
          [](const Tensor&) { return nn::GroupNorm::init(2, 4, {.eps = 0.1, .dtype = kF64}); }),
    layer(
        "group_norm_without_weight",
        [](const Tensor&) { return nn::GroupNorm::init(2, 4, {.affine = false, .dtype = kF64}); }),
    layer("rms_norm_eps",
          [](const Tensor&) { return nn::RMSNorm::init(4, {.eps = 0.1, .dtype = kF64}); }),
    layer(
        "rms_norm_without_weight",
        [](const Tensor&) { return nn::RMSNorm::init({3, 4}, {.weight = false, .dtype = kF64}); }),
    layer("conv1d",
          [](const Tensor& key) {
            return nn::Conv1d::init(key, 4, 6, 3,
                                    {.stride = 2, .padding = 1, .groups = 2, .dtype = kF64});
          }),
    layer("conv2d_reflect",
          [](const Tensor& key) {
            return nn::Conv2d::init(
                key, 3, 4, 3, {.padding = {2, 1}, .padding_mode = PadMode::reflect, .dtype = kF64});
          }),
    layer("conv3d",
          [](const Tensor& key) {
            return nn::Conv3d::init(key, 2, 3, {2, 3, 1},
                                    {.dilation = {1, 2, 1}, .bias = false, .dtype = kF64});
          }),
    layer("conv_transpose2d",
          [](const Tensor& key) {
            return nn::ConvTranspose2d::init(
                key, 4, 6, {3, 2},
                {.stride = 2, .padding = 1, .output_padding = {1, 0}, .groups = 2, .dtype = kF64});
          }),
    layer("conv_transpose1d_dilated",
          [](const Tensor& key) {
            return nn::ConvTranspose1d::init(key, 4, 3, 3,
                                             {.bias = false, .dilation = 2, .dtype = kF64});
          }),
    layer("sequential",
          [](const Tensor& key) {
            const Tensor keys = random::split_key(key, 2);
            return Sequential{nn::Linear::init(keys[0], 3, 5, {.dtype = kF64}), relu,
                              nn::Linear::init(keys[1], 5, 2, {.dtype = kF64})};
          }),
    layer("max_pool2d", [](const Tensor&) { return nn::MaxPool2d{.kernel_size = {2}}; }),
    layer("avg_pool1d",
          [](const Tensor&) {
            return nn::AvgPool1d{.kernel_size = {3}, .stride = {2}, .padding = {1}};
          }),
};

}  // namespace
}  // namespace plait
