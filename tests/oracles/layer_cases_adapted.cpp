// Layers around others: weight and spectral norm, and low-rank adapters.
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/models/adapters.h"
#include "plait/nn/models/parametrizations.h"

#include "tests/oracles/layer_cases.h"

namespace plait {
namespace {

nn::Linear linear_of(const Tensor& key) { return nn::Linear::init(key, 3, 4, {.dtype = kF64}); }
nn::Conv2d conv_of(const Tensor& key) {
  return nn::Conv2d::init(key, 4, 6, 3, {.padding = 1, .groups = 2, .dtype = kF64});
}
nn::ConvTranspose1d conv_transpose_of(const Tensor& key) {
  return nn::ConvTranspose1d::init(key, 4, 6, 3, {.stride = 2, .dtype = kF64});
}

const LayerCases kNormCases{
    layer("weight_norm", [](const Tensor& key) { return nn::weight_norm(linear_of(key)); }),
    layer("weight_norm_dim", [](const Tensor& key) { return nn::weight_norm(conv_of(key), 1); }),
    layer("weight_norm_of_all",
          [](const Tensor& key) { return nn::weight_norm(conv_of(key), std::nullopt); }),
    layer("spectral_norm",
          [](const Tensor& key) { return nn::spectral_norm(key, linear_of(key)); }),
    layer("spectral_norm_eval",
          [](const Tensor& key) { return nn::spectral_norm(key, linear_of(key)); }),
    layer("spectral_norm_options",
          [](const Tensor& key) {
            return nn::spectral_norm(key, conv_of(key),
                                     {.n_power_iterations = 3, .eps = 1e-3, .dim = 1});
          }),
    layer("spectral_norm_transposed",
          [](const Tensor& key) { return nn::spectral_norm(key, conv_transpose_of(key)); }),
};

const LayerCases kAdapterCases{
    layer("lora_linear",
          [](const Tensor& key) {
            return nn::LoRALinear::from_layer(key, linear_of(key), {.rank = 2, .alpha = 3});
          }),
};

}  // namespace
}  // namespace plait
