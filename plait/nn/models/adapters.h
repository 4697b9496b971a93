// Low-rank adapters of Linear layers (Hu et al., 2021).
#pragma once

#include <cstdint>
#include <optional>

#include "plait/nn/buffers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/models/quantized.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct LoRAOptions {
  int64_t rank = 8;
  std::optional<double> alpha = {};  // the rank by default
  double dropout = 0;
};
// A layer that is not trained, `base`, plus a product of low rank that is: alpha / rank · lora_B
// lora_A. lora_B begins with zeros, so that the layer begins as its base.
//
//   auto layer = nn::LoRALinear::from_layer(key, linear, {.rank = 4});
//   nn::Linear whole = layer.merged();   // layer.base is the Linear without the product
//
template <class Base>
struct LoRA {
  Buffers<Base> base;
  Tensor lora_A;  // [rank, inputs]; NOLINT: the name is of files
  Tensor lora_B;  // [outputs, rank]; NOLINT
  int64_t rank = 8;
  double alpha = 8;
  double dropout = 0;  // dropout of the inputs of the product, in training
  bool training = true;

  static LoRA from_layer(const Tensor& key, const Base& layer, const LoRAOptions& options = {});
  // Without a key, dropout draws the next key of the default stream.
  Tensor operator()(const Tensor& x, const Tensor& key) const;
  Tensor operator()(const Tensor& x) const;
  Tensor weight() const;                // weight of the whole layer
  [[nodiscard]] Linear merged() const;  // a Linear of this weight, to be trained
};
// A weight [outputs, inputs, …] that is not trained, plus such a product; for models whose weights
// are computed (by_path.h). Dropout, which is of a layer's inputs, must be 0.
struct LowRankWeight {
  Buffer base;
  Tensor lora_A;  // [rank, everything else]; NOLINT: the name is of files
  Tensor lora_B;  // [outputs, rank]; NOLINT
  double scale = 1;

  static LowRankWeight of(const Tensor& key, const Tensor& weight, const LoRAOptions& options = {});
  Tensor value() const;
  const LowRankWeight& next() const { return *this; }
};

using LoRALinear = LoRA<Linear>;
using LoRAQuantizedLinear = LoRA<QuantizedLinear>;

}  // namespace plait::nn
