// Attention and transformers.
#include <string>

#include "plait/nn/sequences/multihead_attention.h"
#include "plait/nn/sequences/transformer_layers.h"
#include "plait/ops/arrays/reshape.h"

#include "tests/oracles/layer_cases.h"
#include "tests/oracles/sequence_cases.h"

namespace plait {
namespace {

// Registers make(place, flags) for all combinations of `count` flags, the last of which changes
// first.
template <class Make>
bool register_all(int count, const Make& make) {
  for (int place = 0; place < 1 << count; ++place) {
    const auto flag = [&](int i) { return (place >> (count - 1 - i) & 1) != 0; };
    const LayerCases registered{make(std::to_string(place), place, flag)};
  }
  return true;
}

// ---- Attention, called in one of five ways.

struct AttentionWay {
  int64_t way = 0;

  nn::MultiheadAttentionResult operator()(const nn::MultiheadAttention& layer, const Tensor& q,
                                          const Tensor& k, const Tensor& v, const Tensor& hidden,
                                          const Tensor& mask) const {
    switch (way) {
      case 0: return layer(q, k, v);
      case 1: return layer(q, k, v, {.need_weights = false});
      case 2: return layer(q, k, v, {.attn_mask = mask, .average_attn_weights = false});
      case 3:
        return layer(q, k, v,
                     {.key_padding_mask = hidden, .need_weights = false, .attn_mask = mask});
      default: return layer(q, k, v, {.key_padding_mask = hidden, .attn_mask = mask});
    }
  }
};

const bool kAttention = register_all(5, [](const std::string& name, int place, auto flag) {
  const nn::MultiheadAttentionOptions options{
      .bias = flag(4),
      .add_bias_kv = flag(2),
      .add_zero_attn = flag(3),
      .kdim = flag(1) ? std::optional<int64_t>(4) : std::nullopt,
      .vdim = flag(1) ? std::optional<int64_t>(7) : std::nullopt,
      .batch_first = flag(0),
      .dtype = kF64};
  return layer<5>("attention_" + name, [options, place](const Tensor& key) {
    return called(nn::MultiheadAttention::init(key, 6, 2, options), AttentionWay{place % 5});
  });
});

const LayerCases kFurther{
    layer("attention_self",
          [](const Tensor& key) {
            return called(nn::MultiheadAttention::init(
                              key, 6, 3, {.dropout = 0.5, .batch_first = true, .dtype = kF64}),
                          [](const auto& self, const Tensor& x) { return self(x, x, x); });
          }),
    layer("attention_causal",
          [](const Tensor& key) {
            return called(
                nn::MultiheadAttention::init(key, 6, 3, {.add_bias_kv = true, .dtype = kF64}),
                [](const auto& self, const Tensor& x) {
                  return self(x, x, x, {.need_weights = false, .is_causal = true});
                });
          }),
};

// ---- Transformers.

template <class Flag>
nn::TransformerLayerOptions options_of(const Flag& flag) {
  return {.dim_feedforward = 8,
          .dropout = 0,
          .activation = flag(3) ? nn::exact_gelu : nn::Activation(relu),
          .batch_first = flag(0),
          .norm_first = flag(1),
          .bias = flag(2),
          .dtype = kF64};
}

Tensor as_numbers(const Tensor& hidden) { return astype(hidden, kF64) * -5.; }

constexpr auto kEncode = [](const auto& self, const Tensor& x, const Tensor& mask,
                            const Tensor& padded) {
  return self(x, {.src_mask = mask, .src_key_padding_mask = as_numbers(padded)});
};
constexpr auto kDecode = [](const auto& self, const Tensor& x, const Tensor& memory,
                            const Tensor& mask, const Tensor& padded, const Tensor& hidden) {
  return self(x, memory,
              {.memory_mask = mask,
               .tgt_key_padding_mask = as_numbers(padded),
               .memory_key_padding_mask = as_numbers(hidden),
               .tgt_is_causal = true});
};

const bool kEncoderLayers = register_all(4, [](const std::string& name, int, auto flag) {
  const nn::TransformerLayerOptions options = options_of(flag);
  return layer<3>("encoder_layer_" + name, [options](const Tensor& key) {
    return called(nn::TransformerEncoderLayer::init(key, 6, 2, options), kEncode);
  });
});
const bool kDecoderLayers = register_all(4, [](const std::string& name, int, auto flag) {
  const nn::TransformerLayerOptions options = options_of(flag);
  return layer<5>("decoder_layer_" + name, [options](const Tensor& key) {
    return called(nn::TransformerDecoderLayer::init(key, 6, 2, options), kDecode);
  });
});

const LayerCases kTransformers{
    layer("encoder_layer_eval",
          [](const Tensor& key) {
            return nn::TransformerEncoderLayer::init(
                key, 6, 2,
                {.dim_feedforward = 8, .dropout = 0.5, .layer_norm_eps = 0.1, .dtype = kF64});
          }),
    layer("encoder",
          [](const Tensor& key) {
            const auto one = nn::TransformerEncoderLayer::init(
                key, 6, 2, {.dim_feedforward = 8, .dropout = 0, .dtype = kF64});
            return called(
                nn::TransformerEncoder::init(one, 2, nn::LayerNorm::init(6, {.dtype = kF64})),
                [](const auto& self, const Tensor& x) { return self(x, {.is_causal = true}); });
          }),
    layer<2>("decoder",
             [](const Tensor& key) {
               const auto one = nn::TransformerDecoderLayer::init(
                   key, 6, 2, {.dim_feedforward = 8, .dropout = 0, .dtype = kF64});
               return nn::TransformerDecoder::init(one, 2, nn::LayerNorm::init(6, {.dtype = kF64}));
             }),
    layer<3>("transformer",
             [](const Tensor& key) {
               return called(
                   nn::Transformer::init(key, {.d_model = 6,
                                               .nhead = 2,
                                               .num_encoder_layers = 2,
                                               .num_decoder_layers = 1,
                                               .dim_feedforward = 8,
                                               .dropout = 0,
                                               .activation = nn::exact_gelu,
                                               .dtype = kF64}),
                   [](const auto& self, const Tensor& x, const Tensor& y, const Tensor& mask) {
                     return self(x, y, {.memory_mask = mask, .tgt_is_causal = true});
                   });
             }),
    layer<2>("transformer_eval",
             [](const Tensor& key) {
               return nn::Transformer::init(key, {.d_model = 6,
                                                  .nhead = 2,
                                                  .num_encoder_layers = 2,
                                                  .num_decoder_layers = 1,
                                                  .dim_feedforward = 8,
                                                  .dropout = 0.5,
                                                  .batch_first = true,
                                                  .norm_first = true,
                                                  .bias = false,
                                                  .dtype = kF64});
             }),
};

}  // namespace
}  // namespace plait
