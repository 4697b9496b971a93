#include "plait/nn/models/adapters.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/products/linear.h"

namespace plait::nn {
namespace {

Tensor weight_in(const Linear& layer) { return layer.weight; }
Tensor weight_in(const QuantizedLinear& layer) { return layer.weight(); }

Linear trained(const Linear& layer) { return layer; }
Linear trained(const QuantizedLinear& layer) { return layer.dequantized(); }

void expect_options(const LoRAOptions& options) {
  if (options.rank < 1) {
    throw ValueError("the rank is {}, expected 1 or more", options.rank).at(Location::of_caller());
  }
  if (options.alpha) expect_number("alpha", *options.alpha);
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    throw ValueError("dropout is {}, expected 0 to 1", options.dropout).at(Location::of_caller());
  }
}

double alpha_of(const LoRAOptions& options) {
  return options.alpha.value_or(static_cast<double>(options.rank));
}

Tensor first_lora_a(const Tensor& key, int64_t rank, int64_t inputs, DType dtype) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(inputs, 1)));
  return uniform(key, {rank, inputs}, bound, dtype);
}

// The layer, of which the product sees other inputs.
template <class Base>
Tensor adapted(const LoRA<Base>& layer, const Tensor& x, const Tensor& dropped) {
  const Tensor product = linear(linear(dropped, layer.lora_A), layer.lora_B);
  return layer.base(x) + product * (layer.alpha / static_cast<double>(layer.rank));
}

template <class Base>
bool drops(const LoRA<Base>& layer) {
  return layer.training && layer.dropout > 0;
}

}  // namespace

template <class Base>
LoRA<Base> LoRA<Base>::from_layer(const Tensor& key, const Base& layer,
                                  const LoRAOptions& options) {
  const Tensor whole = weight_in(layer);
  const Call call("nn::LoRA", whole);
  expect_options(options);
  const int64_t outputs = whole.shape(0).number(), inputs = whole.shape(1).number();
  return {.base = layer,
          .lora_A = first_lora_a(key, options.rank, inputs, whole.dtype()),
          .lora_B = zeros({outputs, options.rank}, whole.dtype()),
          .rank = options.rank,
          .alpha = alpha_of(options),
          .dropout = options.dropout};
}

template <class Base>
Tensor LoRA<Base>::operator()(const Tensor& x, const Tensor& key) const {
  return adapted(*this, x, drops(*this) ? plait::dropout(x, dropout, key) : x);
}

template <class Base>
Tensor LoRA<Base>::operator()(const Tensor& x) const {
  return adapted(*this, x, drops(*this) ? plait::dropout(x, dropout) : x);
}

template <class Base>
Tensor LoRA<Base>::weight() const {
  return weight_in(base) + matmul(lora_B, lora_A) * (alpha / static_cast<double>(rank));
}

template <class Base>
Linear LoRA<Base>::merged() const {
  Linear made = trained(base);
  made.weight = weight();
  return made;
}

LowRankWeight LowRankWeight::of(const Tensor& key, const Tensor& weight,
                                const LoRAOptions& options) {
  const Call call("nn::LowRankWeight", weight);
  expect_options(options);
  if (options.dropout != 0) {
    throw ValueError("dropout is {}, expected 0", options.dropout)
        .at(Location::of_caller())
        .hint("nn::LoRALinear has dropout, which is of a layer's inputs");
  }
  const Fans fans = fans_of(weight.shape());
  const int64_t outputs = weight.shape(0).number();
  return {.base = weight,
          .lora_A = first_lora_a(key, options.rank, fans.in, weight.dtype()),
          .lora_B = zeros({outputs, options.rank}, weight.dtype()),
          .scale = alpha_of(options) / static_cast<double>(options.rank)};
}

Tensor LowRankWeight::value() const {
  return base + reshape(matmul(lora_B, lora_A), base.shape()) * scale;
}

template struct LoRA<Linear>;
template struct LoRA<QuantizedLinear>;

}  // namespace plait::nn
