#include "plait/nn/sequences/transformer_layers.h"

#include <algorithm>
#include <limits>

#include "plait/nn/initialization.h"
#include "plait/nn/inside/attention_parts.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"

namespace plait::nn {
namespace {

// ---- Construction.

// Builds the part that both layers share: all but the attentions.
template <class Layer>
Layer block_of(const Tensor& keys, int64_t d_model, const TransformerLayerOptions& options) {
  expect_probability("dropout", options.dropout);
  expect_whole("dim_feedforward", options.dim_feedforward);
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  const auto norm = LayerNorm::init(
      d_model, {.bias = options.bias, .eps = options.layer_norm_eps, .dtype = options.dtype});
  Layer made;
  made.linear1 = Linear::init(keys[2], d_model, options.dim_feedforward, linear);
  made.linear2 = Linear::init(keys[3], options.dim_feedforward, d_model, linear);
  made.norm1 = made.norm2 = norm;
  made.dropout = options.dropout;
  made.activation = options.activation;
  made.norm_first = options.norm_first;
  return made;
}

MultiheadAttention attention_of(const Tensor& key, int64_t d_model, int64_t nhead,
                                const TransformerLayerOptions& options) {
  return MultiheadAttention::init(key, d_model, nhead,
                                  {.dropout = options.dropout,
                                   .bias = options.bias,
                                   .batch_first = options.batch_first,
                                   .dtype = options.dtype});
}

template <class Stack, class Layer>
Stack stack_of(const Layer& layer, int64_t num_layers, const std::optional<LayerNorm>& norm) {
  expect_whole("num_layers", num_layers, 0, kMostLayers);
  return {.layers = std::vector<Layer>(static_cast<size_t>(num_layers), layer), .norm = norm};
}

// The stack, with new weights in all of its matrices, which differ from layer to layer.
template <class Stack>
Stack with_xavier(Stack stack, const Tensor& key) {
  const auto count = static_cast<int64_t>(leaf_count(stack));
  const Tensor keys = keys_of(key, std::max<int64_t>(count, 1));
  int64_t place = 0;
  return map_leaves(std::move(stack), [&](const Tensor& leaf) {
    const Tensor own = keys[place++];
    return leaf.rank() > 1 ? xavier_uniform(own, leaf.shape(), 1, leaf.dtype()) : leaf;
  });
}

template <class Layer, class Stack>
Stack transformer_stack(const Tensor& key, int64_t num_layers, const TransformerOptions& options) {
  const auto layer = Layer::init(key, options.d_model, options.nhead,
                                 {.dim_feedforward = options.dim_feedforward,
                                  .dropout = options.dropout,
                                  .activation = options.activation,
                                  .layer_norm_eps = options.layer_norm_eps,
                                  .batch_first = options.batch_first,
                                  .norm_first = options.norm_first,
                                  .bias = options.bias,
                                  .dtype = options.dtype});
  const auto norm = LayerNorm::init(
      options.d_model,
      {.bias = options.bias, .eps = options.layer_norm_eps, .dtype = options.dtype});
  return with_xavier(stack_of<Stack>(layer, num_layers, norm), key);
}

// ---- Calls.

template <class Layer>
Drop drop_of(const Layer& layer) {
  return {layer.dropout, layer.training};
}

// x with what a part of the layer adds to it.
template <class Layer, class Part>
Tensor residual(const Layer& layer, const Tensor& x, const LayerNorm& norm, const Tensor& key,
                const Part& part) {
  const Drop drop = drop_of(layer);
  if (layer.norm_first) return x + drop(part(norm(x)), key);
  return norm(x + drop(part(x), key));
}

template <class Layer>
Tensor network(const Layer& layer, const Tensor& x, const Tensor& key) {
  return layer.linear2(drop_of(layer)(layer.activation(layer.linear1(x)), key));
}

// apply(layer, x, key) for each layer, then the norm.
template <class Stack, class Apply>
Tensor through(const Stack& stack, Tensor x, const Tensor& key, const Apply& apply) {
  const bool drops = std::any_of(stack.layers.begin(), stack.layers.end(),
                                 [](const auto& layer) { return drop_of(layer).is_active(); });
  const Drop drop{1, drops};
  const std::vector<Tensor> keys = drop.keys(key, static_cast<int64_t>(stack.layers.size()));
  for (size_t i = 0; i < stack.layers.size(); ++i) x = apply(stack.layers[i], x, keys[i]);
  return stack.norm ? (*stack.norm)(x) : x;
}

}  // namespace

TransformerEncoderLayer TransformerEncoderLayer::init(const Tensor& key, int64_t d_model,
                                                      int64_t nhead,
                                                      const TransformerLayerOptions& options) {
  const Call call("nn::TransformerEncoderLayer");
  const Tensor keys = keys_of(key, 4);
  auto made = block_of<TransformerEncoderLayer>(keys, d_model, options);
  made.self_attn = attention_of(keys[0], d_model, nhead, options);
  return made;
}

Tensor TransformerEncoderLayer::operator()(const Tensor& src,
                                           const TransformerEncoderCall& given) const {
  const Call call("nn::TransformerEncoderLayer", src);
  const std::vector<Tensor> keys = drop_of(*this).keys(given.key, 4);
  const auto attention = [&](const Tensor& x) {
    return self_attn(x, x, x,
                     {.key_padding_mask = given.src_key_padding_mask,
                      .need_weights = false,
                      .attn_mask = given.src_mask,
                      .is_causal = given.is_causal,
                      .key = keys[0]})
        .output;
  };
  const Tensor x = residual(*this, src, norm1, keys[1], attention);
  return residual(*this, x, norm2, keys[3],
                  [&](const Tensor& each) { return network(*this, each, keys[2]); });
}

TransformerDecoderLayer TransformerDecoderLayer::init(const Tensor& key, int64_t d_model,
                                                      int64_t nhead,
                                                      const TransformerLayerOptions& options) {
  const Call call("nn::TransformerDecoderLayer");
  const Tensor keys = keys_of(key, 4);
  auto made = block_of<TransformerDecoderLayer>(keys, d_model, options);
  made.norm3 = made.norm1;
  made.self_attn = attention_of(keys[0], d_model, nhead, options);
  made.multihead_attn = attention_of(keys[1], d_model, nhead, options);
  return made;
}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory,
                                           const TransformerDecoderCall& given) const {
  const Call call("nn::TransformerDecoderLayer", tgt, memory);
  const std::vector<Tensor> keys = drop_of(*this).keys(given.key, 6);
  const auto attention = [&](const Tensor& x) {
    return self_attn(x, x, x,
                     {.key_padding_mask = given.tgt_key_padding_mask,
                      .need_weights = false,
                      .attn_mask = given.tgt_mask,
                      .is_causal = given.tgt_is_causal,
                      .key = keys[0]})
        .output;
  };
  const auto to_memory = [&](const Tensor& x) {
    return multihead_attn(x, memory, memory,
                          {.key_padding_mask = given.memory_key_padding_mask,
                           .need_weights = false,
                           .attn_mask = given.memory_mask,
                           .is_causal = given.memory_is_causal,
                           .key = keys[2]})
        .output;
  };
  Tensor x = residual(*this, tgt, norm1, keys[1], attention);
  x = residual(*this, x, norm2, keys[3], to_memory);
  return residual(*this, x, norm3, keys[5],
                  [&](const Tensor& each) { return network(*this, each, keys[4]); });
}

TransformerEncoder TransformerEncoder::init(const TransformerEncoderLayer& encoder_layer,
                                            int64_t num_layers,
                                            const std::optional<LayerNorm>& norm) {
  const Call call("nn::TransformerEncoder");
  return stack_of<TransformerEncoder>(encoder_layer, num_layers, norm);
}

Tensor TransformerEncoder::operator()(const Tensor& src,
                                      const TransformerEncoderCall& given) const {
  const Call call("nn::TransformerEncoder", src);
  return through(*this, src, given.key, [&](const auto& layer, const Tensor& x, const Tensor& key) {
    TransformerEncoderCall own = given;
    own.key = key;
    return layer(x, own);
  });
}

TransformerDecoder TransformerDecoder::init(const TransformerDecoderLayer& decoder_layer,
                                            int64_t num_layers,
                                            const std::optional<LayerNorm>& norm) {
  const Call call("nn::TransformerDecoder");
  return stack_of<TransformerDecoder>(decoder_layer, num_layers, norm);
}

Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory,
                                      const TransformerDecoderCall& given) const {
  const Call call("nn::TransformerDecoder", tgt, memory);
  return through(*this, tgt, given.key, [&](const auto& layer, const Tensor& x, const Tensor& key) {
    TransformerDecoderCall own = given;
    own.key = key;
    return layer(x, memory, own);
  });
}

Transformer Transformer::init(const Tensor& key, const TransformerOptions& options) {
  const Call call("nn::Transformer");
  expect_whole("num_encoder_layers", options.num_encoder_layers, 0, kMostLayers);
  expect_whole("num_decoder_layers", options.num_decoder_layers, 0, kMostLayers);
  const Tensor keys = keys_of(key, 2);
  return {.encoder = transformer_stack<TransformerEncoderLayer, TransformerEncoder>(
              keys[0], options.num_encoder_layers, options),
          .decoder = transformer_stack<TransformerDecoderLayer, TransformerDecoder>(
              keys[1], options.num_decoder_layers, options)};
}

Tensor Transformer::operator()(const Tensor& src, const Tensor& tgt,
                               const TransformerCall& given) const {
  const Call call("nn::Transformer", src, tgt);
  Tensor first, second;
  if (given.key) {
    const Tensor keys = random::split_key(given.key, 2);
    first = keys[0];
    second = keys[1];
  }
  const Tensor memory = encoder(src, {.src_mask = given.src_mask,
                                      .src_key_padding_mask = given.src_key_padding_mask,
                                      .is_causal = given.src_is_causal,
                                      .key = first});
  return decoder(tgt, memory,
                 {.tgt_mask = given.tgt_mask,
                  .memory_mask = given.memory_mask,
                  .tgt_key_padding_mask = given.tgt_key_padding_mask,
                  .memory_key_padding_mask = given.memory_key_padding_mask,
                  .tgt_is_causal = given.tgt_is_causal,
                  .memory_is_causal = given.memory_is_causal,
                  .key = second});
}

Tensor Transformer::generate_square_subsequent_mask(Dim size, DType dtype) {
  const Call call("nn::Transformer::generate_square_subsequent_mask");
  return where(causal_mask(size, size), zeros({}, dtype), -std::numeric_limits<double>::infinity());
}

}  // namespace plait::nn
