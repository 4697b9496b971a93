// PyTorch's transformer: its layers, stacks of them, and both together. In boolean masks, true
// means that no attention goes there; numbers are added to the scores. What is said to be causal
// needs no mask.
//
//   const auto layer = nn::TransformerEncoderLayer::init(random::key(1), 8, 2, {.batch_first =
//   true}); const auto encoder = nn::TransformerEncoder::init(layer, 2); const Tensor y =
//   encoder(x, {.is_causal = true});
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/sequences/multihead_attention.h"
#include "plait/nn/sequences/transformer.h"
#include "plait/ops/neural/activation.h"

namespace plait::nn {

struct TransformerLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = relu;  // exact_gelu for "gelu"
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  DType dtype = DType::f32;
};

// Arguments of a call besides src.
struct TransformerEncoderCall {
  Tensor src_mask = {};              // [length, length] or [batch · heads, length, length]
  Tensor src_key_padding_mask = {};  // [batch, length]
  bool is_causal = false;
  Tensor key = {};  // key of dropout; by default the next one of the default stream
};
// Self-attention and a network of two linear layers, each with a residual connection and a norm
// behind it, or before it if norm_first.
struct TransformerEncoderLayer {
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  double dropout = 0.1;
  Activation activation = relu;
  bool norm_first = false;
  bool training = true;

  static TransformerEncoderLayer init(const Tensor& key, int64_t d_model, int64_t nhead,
                                      const TransformerLayerOptions& options = {});
  Tensor operator()(const Tensor& src, const TransformerEncoderCall& call = {}) const;
};

// Arguments of a call besides tgt and memory.
struct TransformerDecoderCall {
  Tensor tgt_mask = {}, memory_mask = {};
  Tensor tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool tgt_is_causal = false, memory_is_causal = false;
  Tensor key = {};  // key of dropout; by default the next one of the default stream
};
// Self-attention, attention to the memory, and a network of two linear layers.
struct TransformerDecoderLayer {
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  double dropout = 0.1;
  Activation activation = relu;
  bool norm_first = false;
  bool training = true;

  static TransformerDecoderLayer init(const Tensor& key, int64_t d_model, int64_t nhead,
                                      const TransformerLayerOptions& options = {});
  Tensor operator()(const Tensor& tgt, const Tensor& memory,
                    const TransformerDecoderCall& call = {}) const;
};

// Layers one after the other, then the norm.
struct TransformerEncoder {
  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;

  // Copies of the layer, which begin with the same weights.
  static TransformerEncoder init(const TransformerEncoderLayer& encoder_layer, int64_t num_layers,
                                 const std::optional<LayerNorm>& norm = {});
  Tensor operator()(const Tensor& src, const TransformerEncoderCall& call = {}) const;
};
struct TransformerDecoder {
  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;

  // Copies of the layer, which begin with the same weights.
  static TransformerDecoder init(const TransformerDecoderLayer& decoder_layer, int64_t num_layers,
                                 const std::optional<LayerNorm>& norm = {});
  Tensor operator()(const Tensor& tgt, const Tensor& memory,
                    const TransformerDecoderCall& call = {}) const;
};

struct TransformerOptions {
  int64_t d_model = 512, nhead = 8;
  int64_t num_encoder_layers = 6, num_decoder_layers = 6;
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  DType dtype = DType::f32;
};
// Arguments of a call besides src and tgt.
struct TransformerCall {
  Tensor src_mask = {}, tgt_mask = {}, memory_mask = {};
  Tensor src_key_padding_mask = {}, tgt_key_padding_mask = {}, memory_key_padding_mask = {};
  bool src_is_causal = false, tgt_is_causal = false, memory_is_causal = false;
  Tensor key = {};  // key of dropout; by default the next one of the default stream
};
// An encoder and a decoder, each with a norm at its end. All matrices begin with Xavier's uniform
// weights. Braces take an encoder and a decoder that are there.
struct Transformer {
  TransformerEncoder encoder;
  TransformerDecoder decoder;

  static Transformer init(const Tensor& key, const TransformerOptions& options = {});
  Tensor operator()(const Tensor& src, const Tensor& tgt, const TransformerCall& call = {}) const;

  // The causal mask as numbers to add: 0, and −∞ for later positions.
  static Tensor generate_square_subsequent_mask(Dim size, DType dtype = DType::f32);
};

}  // namespace plait::nn
