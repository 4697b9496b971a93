// Attention and transformers: options that PyTorch's lack, caches, transforms, dropout and errors.
// tests/oracles/layers_oracle.py compares all that PyTorch has with it.
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "plait/nn/models/mode.h"
#include "plait/nn/models/state.h"
#include "plait/nn/sequences/multihead_attention.h"
#include "plait/nn/sequences/transformer.h"
#include "plait/nn/sequences/transformer_layers.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/transform/control/control.h"

#include "tests/nn/sequence_ways.h"
#include "tests/support/errors.h"

namespace plait::sequence_ways {
namespace {

constexpr DType kDouble = DType::f64;
constexpr auto kApply = [](const auto& layer, const Tensor& x) { return layer(x); };
constexpr auto kApplyToBoth = [](const auto& layer, const Tensor& x) { return layer(x, x); };

struct ByHand {
  Tensor context = {};
  Tensor keep = {};  // [queries, keys]
  Tensor bias = {};  // [heads, queries, keys]
  bool is_rotated = false;
};

// Rotates the pairs (i, i + width / 2) by position / 10000^(2i / width).
Tensor rotated_by_hand(const Tensor& x) {
  const int64_t half = x.shape(-1).number() / 2;
  const Tensor frequency = power(10000., astype(iota(half), kDouble) * (-1. / half));
  const Tensor angle = expand_dims(astype(iota(x.shape(-2)), kDouble), 1) * frequency;
  const Tensor a = x[{ellipsis, Slice{0, half}}], b = x[{ellipsis, Slice{half, {}}}];
  return concat(std::vector{a * cos(angle) - b * sin(angle), b * cos(angle) + a * sin(angle)}, -1);
}

// Attention one head after the other, from the weights of the layer.
Tensor by_hand(const nn::Attention& layer, const Tensor& x, const ByHand& how) {
  const Tensor context = how.context ? how.context : x;
  const int64_t width = layer.head_dim, end = layer.heads * width,
                second = end + layer.kv_heads * width;
  Tensor q, k, v;
  if (layer.qkv) {
    const auto parts = split_at((*layer.qkv)(x), {end, second}, -1);
    const auto others = split_at((*layer.qkv)(context), {end, second}, -1);
    std::tie(q, k, v) = std::tuple(parts[0], others[1], others[2]);
  } else {
    std::tie(q, k, v) = std::tuple((*layer.q)(x), (*layer.k)(context), (*layer.v)(context));
  }
  std::vector<Tensor> seen;
  for (int64_t head = 0; head < layer.heads; ++head) {
    const auto at = [&](const Tensor& each, int64_t i) {
      return each[{ellipsis, Slice{i * width, (i + 1) * width}}];
    };
    const int64_t own = head / (layer.heads / layer.kv_heads);
    Tensor queries = at(q, head), keys = at(k, own);
    if (how.is_rotated)
      std::tie(queries, keys) = std::pair(rotated_by_hand(queries), rotated_by_hand(keys));
    Tensor scores = matmul(queries, matrix_transpose(keys)) / std::sqrt(static_cast<double>(width));
    if (how.bias) scores = scores + how.bias[head];
    if (how.keep) scores = where(how.keep, scores, -std::numeric_limits<double>::infinity());
    seen.push_back(matmul(softmax(scores, -1), at(v, own)));
  }
  return layer.out(concat(seen, -1));
}

nn::Attention attention_with(nn::AttentionOptions options, int64_t heads = 4, uint64_t seed = 1) {
  options.dtype = kDouble;
  return nn::Attention::init(random::key(seed), 8, heads, options);
}

TEST(Attention, OptionsAreThoseOfALoopOverHeads) {
  const Tensor x = drawn(2, {3, 7, 8}), context = drawn(3, {3, 5, 8}), place = iota(7);
  const Tensor ahead = expand_dims(place, 1) - place;
  const Tensor causal = greater_equal(ahead, 0), near = less(absolute(ahead), 3);
  const Tensor slopes = tensor(std::vector<double>{0.25, 1. / 16, 1. / 64, 1. / 256}, {4, 1, 1});
  const Tensor alibi = slopes * astype(negative(absolute(ahead)), kDouble);
  const std::vector<std::pair<nn::AttentionOptions, ByHand>> cases{
      {{}, {}},
      {{.is_causal = true}, {.keep = causal}},
      {{.joined = false}, {}},
      {{.num_kv_heads = 2}, {}},
      {{.is_causal = true, .num_kv_heads = 1, .joined = false}, {.keep = causal}},
      {{.num_kv_heads = 2, .head_dim = 3}, {}},
      {{.is_causal = true, .window = 3}, {.keep = causal & near}},
      {{.window = 3}, {.keep = near}},
      {{.positions = nn::ALiBi{4}}, {.bias = alibi}},
      {{.is_causal = true, .positions = nn::ALiBi{4}}, {.keep = causal, .bias = alibi}},
      {{.positions = nn::RoPE::init(2)}, {.is_rotated = true}},
      {{.bias = false, .out_bias = true}, {}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto layer = attention_with(cases[i].first);
    EXPECT_LT(greatest_difference(layer(x), by_hand(layer, x, cases[i].second)), 1e-12) << i;
  }
  for (const size_t i : {0, 2, 3}) {
    const auto layer = attention_with(cases[i].first);
    EXPECT_LT(greatest_difference(layer(x, {.context = context}),
                                  by_hand(layer, x, {.context = context})),
              1e-12);
  }
  const Tensor wide = drawn(4, {3, 5, 6});
  const auto crossed = attention_with({.joined = false, .context_dim = 6});
  EXPECT_LT(
      greatest_difference(crossed(x, {.context = wide}), by_hand(crossed, x, {.context = wide})),
      1e-12);
}

TEST(Attention, NormsQueriesAndKeys) {
  const Tensor x = drawn(2, {3, 7, 8});
  for (const nn::QkNorm kind : {nn::QkNorm::layer_norm, nn::QkNorm::rms_norm}) {
    const auto layer = attention_with({.qk_norm = kind}, 2);
    const auto normed = [&](const Tensor& each) {
      return kind == nn::QkNorm::layer_norm ? layer_norm(each, {4}) : rms_norm(each, {4});
    };
    const auto parts = split((*layer.qkv)(x), 3, -1);
    std::array<Tensor, 3> by_head;
    for (size_t i = 0; i < 3; ++i) by_head[i] = swapaxes(unflatten(parts[i], -1, {2, 4}), -3, -2);
    const Tensor seen =
        scaled_dot_product_attention(normed(by_head[0]), normed(by_head[1]), by_head[2]);
    EXPECT_LT(greatest_difference(layer(x), layer.out(reshape(swapaxes(seen, -3, -2), {3, 7, 8}))),
              1e-12);
    EXPECT_TRUE(nn::state(layer).contains("q_norm.weight"));
    EXPECT_TRUE(nn::state(layer).contains("k_norm.weight"));
  }
}

TEST(Attention, PositionsMayBeGiven) {
  const Tensor x = drawn(2, {3, 6, 8});
  const auto layer = attention_with({.positions = nn::RoPE::init(4)}, 2);
  EXPECT_LT(greatest_difference(layer(x, {.positions = iota(6) + 5}), layer(x)), 1e-12);
  const Tensor order =
      tensor(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 0, 1, 2, 0, 1, 2, 5, 4, 3, 2, 1, 0}, {3, 6});
  const Tensor mixed = layer(x, {.positions = order});
  EXPECT_LT(greatest_difference(mixed[0], layer(x)[0]), 1e-12);
  EXPECT_LT(greatest_difference(mixed[2], flip(layer(flip(x, 1))[2], 0)), 1e-12);
  EXPECT_GT(greatest_difference(mixed[1], layer(x)[1]), 1e-3);
}

const std::vector<nn::AttentionOptions> kCached{
    {.is_causal = true},
    {.is_causal = true, .num_kv_heads = 2, .joined = false},
    {.is_causal = true, .window = 3},
    {.is_causal = true, .positions = nn::RoPE::init(2)},
    {.is_causal = true, .positions = nn::ALiBi{4}},
    {.is_causal = true,
     .num_kv_heads = 1,
     .window = 2,
     .positions = nn::RoPE::init(2, {.is_interleaved = true})}};

TEST(AttentionCache, InPartsItIsTheWhole) {
  const Tensor x = drawn(2, {3, 7, 8});
  for (const nn::AttentionOptions& options : kCached) {
    const auto layer = attention_with(options);
    nn::KeyValueCache cache = layer.cache(9, {3});
    std::vector<Tensor> found;
    for (const auto& [first, last] : {std::pair{0, 3}, {3, 4}, {4, 7}}) {
      Tensor y;
      std::tie(y, cache) = layer(x[{Slice{}, Slice{first, last}}], cache);
      found.push_back(y);
    }
    EXPECT_EQ(cache.position.item<int64_t>(), 7);
    EXPECT_LT(greatest_difference(concat(found, 1), layer(x)), 1e-12);
  }
}

TEST(AttentionCache, OneThatIsNotCausalSeesWhatIsFilled) {
  const Tensor x = drawn(2, {3, 5, 8});
  const auto layer = attention_with({});
  const auto [y, cache] = layer(x, layer.cache(9, {3}));
  EXPECT_LT(greatest_difference(y, layer(x)), 1e-12);
  const Tensor more = drawn(3, {3, 2, 8}), all = concat(std::vector{x, more}, 1);
  EXPECT_LT(greatest_difference(layer(more, cache).first, layer(more, {.context = all})), 1e-12);
}

constexpr auto kStepByStep = [](const nn::Attention& layer, const Tensor& x) {
  const auto step = [&](const nn::KeyValueCache& cache, const Tensor& row) {
    auto [y, next] = layer(expand_dims(row, 1), cache);
    return std::pair(next, squeeze(y, 1));
  };
  return scan(step, layer.cache(8, {x.shape(0)}), swapaxes(x, 0, 1)).second;
};

TEST(AttentionCache, InScanAndJit) {
  const Tensor x = drawn(2, {3, 7, 8});
  for (const size_t i : {0, 3, 5}) {
    const auto layer = attention_with(kCached[i]);
    const Tensor wanted = swapaxes(layer(x), 0, 1);
    EXPECT_LT(greatest_difference(kStepByStep(layer, x), wanted), 1e-12);
    EXPECT_LT(greatest_difference(jit(kStepByStep)(layer, x), wanted), 1e-12);
    const auto whole = [](const nn::Attention& each, const Tensor& y) {
      return swapaxes(each(y), 0, 1);
    };
    expect_close(tensors_of(grad(Loss{kStepByStep})(layer, x)),
                 tensors_of(grad(Loss{whole})(layer, x)), "gradient");
  }
  const auto layer = attention_with(kCached[3]);
  const auto step = jit([](const nn::Attention& each, const Tensor& y,
                           const nn::KeyValueCache& cache) { return each(y, cache); });
  nn::KeyValueCache cache = layer.cache(8, {3});
  Tensor y;
  for (int64_t place = 0; place < 7; ++place) {
    std::tie(y, cache) = step(layer, x[{Slice{}, Slice{place, place + 1}}], cache);
  }
  EXPECT_LT(greatest_difference(y[{Slice{}, 0}], layer(x)[{Slice{}, 6}]), 1e-12);
  EXPECT_EQ(step.stats().traces, 1);
}

TEST(AttentionCache, AFullOneIsRefused) {
  const auto layer = nn::Attention::init(random::key(1), 8, 4, {.is_causal = true});
  const auto call = [](const nn::Attention& each, const nn::KeyValueCache& cache) {
    return each(ones({2, 8}), cache).first;
  };
  const auto cache = layer(ones({2, 8}), layer.cache(3)).second;
  expect_contains(what_of<CheckError>([&] { call(layer, cache); }), {"KeyValueCache is full"});
  expect_contains(what_of<CheckError>([&] { jit(call)(layer, cache); }), {"KeyValueCache is full"});
}

TEST(MultiheadAttention, IsCausalWithoutAMask) {
  const auto layer = nn::MultiheadAttention::init(
      random::key(1), 6, 2, {.add_bias_kv = true, .batch_first = true, .dtype = kDouble});
  const Tensor x = drawn(2, {3, 5, 6}), hidden = triu(ones({5, 5}, DType::boolean), 1);
  for (const bool needs_weights : {false, true}) {
    const Tensor wanted =
        layer(x, x, x, {.need_weights = needs_weights, .attn_mask = hidden}).output;
    const auto found = layer(x, x, x, {.need_weights = needs_weights, .is_causal = true});
    EXPECT_LT(greatest_difference(found.output, wanted), 1e-12);
    EXPECT_EQ(found.weights.has_value(), needs_weights);
  }
}

TEST(MultiheadAttention, ProjectsOneInputTogetherLikeThree) {
  const auto layer =
      nn::MultiheadAttention::init(random::key(1), 6, 2, {.batch_first = true, .dtype = kDouble});
  const Tensor x = drawn(2, {3, 5, 6}), same = x + 0., other = drawn(3, {3, 5, 6});
  const auto call = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return layer(q, k, v).output;
  };
  EXPECT_LT(greatest_difference(call(x, x, x), call(x, same, same)), 1e-12);
  EXPECT_LT(greatest_difference(call(x, x, other), call(x, same, other)), 1e-12);
  EXPECT_LT(greatest_difference(call(other, x, x), call(other, x, same)), 1e-12);
}

TEST(MultiheadAttention, AQueryThatSeesNothingHasZeros) {
  auto layer =
      nn::MultiheadAttention::init(random::key(1), 6, 2, {.batch_first = true, .dtype = kDouble});
  layer.out_proj.bias = drawn(7, {6});
  const Tensor x = drawn(2, {1, 4, 6}), hidden = ones({1, 4}, DType::boolean);
  for (const bool needs_weights : {false, true}) {
    const auto [output, weights] =
        layer(x, x, x, {.key_padding_mask = hidden, .need_weights = needs_weights});
    EXPECT_EQ(greatest_difference(output, broadcast_to(*layer.out_proj.bias, {1, 4, 6})), 0);
    EXPECT_EQ(weights ? max(absolute(*weights)).item<double>() : 0, 0);
  }
}

TEST(MultiheadAttention, BeginsAsPyTorchHasIt) {
  const auto layer = nn::MultiheadAttention::init(random::key(3), 64, 4, {.add_bias_kv = true});
  EXPECT_EQ(layer.in_proj_weight->type().text(), "f32[192, 64]");
  const auto size = [](const Tensor& x) { return mean(absolute(x)).item<double>(); };
  EXPECT_NEAR(size(*layer.in_proj_weight), std::sqrt(6. / 256) / 2, 2e-3);
  EXPECT_NEAR(size(layer.out_proj.weight), 1 / 16., 2e-3);
  EXPECT_EQ(size(*layer.in_proj_bias), 0);
  EXPECT_EQ(size(*layer.out_proj.bias), 0);
  EXPECT_NEAR(size(*layer.bias_k), std::sqrt(1. / 64) * std::sqrt(2 / M_PI), 0.03);
  const auto model = nn::Transformer::init(random::key(1), {.d_model = 16,
                                                            .nhead = 2,
                                                            .num_encoder_layers = 2,
                                                            .num_decoder_layers = 0,
                                                            .dim_feedforward = 32});
  const Tensor one = model.encoder.layers[0].linear1.weight,
               other = model.encoder.layers[1].linear1.weight;
  EXPECT_GT(greatest_difference(one, other), 0.1);
  EXPECT_NEAR(max(absolute(one)).item<double>(), std::sqrt(6. / 48), 0.02);
  EXPECT_TRUE(model.decoder.layers.empty());
}

TEST(Transformers, DropoutIsByAKey) {
  const Tensor x = drawn(2, {2, 64, 8}), key = random::key(3);
  const auto expect_dropout = [&](const auto& layer, const auto& call) {
    EXPECT_EQ(greatest_difference(call(layer, key), call(layer, key)), 0);
    EXPECT_GT(greatest_difference(call(layer, Tensor()), call(layer, Tensor())), 1e-3);
    EXPECT_GT(greatest_difference(call(layer, key), call(nn::eval(layer), key)), 1e-3);
    EXPECT_EQ(greatest_difference(call(nn::eval(layer), Tensor()), call(nn::eval(layer), key)), 0);
  };
  expect_dropout(attention_with({.num_kv_heads = 2, .dropout = 0.5}),
                 [&](const auto& layer, const Tensor& by) { return layer(x, {.key = by}); });
  const nn::TransformerLayerOptions options{
      .dim_feedforward = 16, .dropout = 0.5, .dtype = kDouble};
  const auto encoder = nn::TransformerEncoderLayer::init(random::key(1), 8, 2, options);
  expect_dropout(encoder,
                 [&](const auto& layer, const Tensor& by) { return layer(x, {.key = by}); });
  expect_dropout(nn::TransformerEncoder::init(encoder, 2),
                 [&](const auto& layer, const Tensor& by) { return layer(x, {.key = by}); });
  expect_dropout(nn::Transformer::init(random::key(1), {.d_model = 8,
                                                        .nhead = 2,
                                                        .num_encoder_layers = 1,
                                                        .num_decoder_layers = 1,
                                                        .dim_feedforward = 16,
                                                        .dtype = kDouble}),
                 [&](const auto& layer, const Tensor& by) { return layer(x, x, {.key = by}); });
  const auto attention =
      nn::MultiheadAttention::init(random::key(1), 8, 2, {.dropout = 0.5, .batch_first = true});
  const Tensor narrow = astype(x, DType::f32);
  const auto [output, weights] =
      attention(narrow, narrow, narrow, {.average_attn_weights = false, .key = key});
  EXPECT_NEAR(mean(astype(equal(*weights, 0), DType::f32)).item<double>(), 0.5, 0.03);
}

// With these weights a layer adds 1 · 2 · 2 where neither the inner nor the outer dropout is.
template <class Layer>
Tensor added_by_network(Layer layer, const Tensor& x, const auto& call) {
  layer.linear1.weight = zeros({8, 8}, kDouble);
  layer.linear1.bias = ones({8}, kDouble);
  layer.linear2.weight = eye(8, 8, kDouble);
  layer.linear2.bias = zeros({8}, kDouble);
  layer.self_attn.out_proj.weight = zeros({8, 8}, kDouble);
  if constexpr (requires { layer.multihead_attn; }) {
    layer.multihead_attn.out_proj.weight = zeros({8, 8}, kDouble);
  }
  return call(layer) - x;
}

TEST(Transformers, AllPlacesOfDropoutInABlock) {
  const Tensor x = drawn(2, {2, 300, 8});
  const nn::TransformerLayerOptions options{.dim_feedforward = 8,
                                            .dropout = 0.5,
                                            .batch_first = true,
                                            .norm_first = true,
                                            .dtype = kDouble};
  const auto check_shares = [](const Tensor& added) {
    const Tensor is_there = greater(absolute(added), 1e-9);
    EXPECT_NEAR(mean(astype(is_there, kDouble)).item<double>(), 0.25, 0.04);
    EXPECT_LT(max(absolute(where(is_there, added - 4, 0.))).item<double>(), 1e-9);
  };
  check_shares(added_by_network(nn::TransformerEncoderLayer::init(random::key(1), 8, 2, options), x,
                                [&](const auto& layer) { return layer(x); }));
  check_shares(added_by_network(nn::TransformerDecoderLayer::init(random::key(1), 8, 2, options), x,
                                [&](const auto& layer) { return layer(x, x); }));
}

TEST(Transformers, DropoutOfAlmostNothingChangesNothing) {
  // The attention weights are computed for dropout, by the same masks and groups.
  const Tensor x = drawn(2, {3, 7, 8}), mask = drawn(3, {7, 7});
  for (nn::AttentionOptions options : kCached) {
    options.dropout = 1e-13;
    const auto layer = attention_with(options), still = nn::eval(layer);
    for (const Tensor& given : {Tensor(), mask, greater(mask, -1)}) {
      EXPECT_LT(greatest_difference(layer(x, given), still(x, given)), 1e-11);
    }
    const nn::KeyValueCache cache = layer.cache(9, {3});
    EXPECT_LT(greatest_difference(layer(x, cache).first, still(x, cache).first), 1e-11);
  }
}

TEST(Transformers, CopiesBeginAlikeAndHaveTheirOwnNames) {
  const auto layer =
      nn::TransformerEncoderLayer::init(random::key(1), 8, 2, {.dim_feedforward = 16});
  const auto encoder = nn::TransformerEncoder::init(layer, 2, nn::LayerNorm::init(8));
  const nn::State state = nn::state(encoder);
  EXPECT_EQ(state.size(), 2 * 12 + 2);
  EXPECT_EQ(
      greatest_difference(state.at("layers.0.linear1.weight"), state.at("layers.1.linear1.weight")),
      0);
  EXPECT_TRUE(state.contains("layers.1.self_attn.out_proj.bias"));
  EXPECT_TRUE(state.contains("norm.weight"));
  const Tensor mask = nn::Transformer::generate_square_subsequent_mask(3, kDouble);
  EXPECT_EQ(mask.text(), "[[  0. -inf -inf]\n [  0.   0. -inf]\n [  0.   0.   0.]] : f64[3, 3]");
}

TEST(Transformers, InAllWays) {
  const Tensor x = drawn(2, {2, 3, 4});
  const auto all_ways = [&](const auto& make, const auto& call) {
    expect_all_ways(make, call, x, 1e-10);
  };
  all_ways(
      [](const Tensor& key) {
        return nn::MultiheadAttention::init(
            key, 4, 2, {.add_bias_kv = true, .batch_first = true, .dtype = kDouble});
      },
      [](const auto& layer, const Tensor& y) { return layer(y, y, y * 2.); });
  all_ways(
      [](const Tensor& key) {
        return nn::MultiheadAttention::init(key, 4, 2, {.add_zero_attn = true, .dtype = kDouble});
      },
      [](const auto& layer, const Tensor& y) { return layer(y, y, y, {.need_weights = false}); });
  all_ways(
      [](const Tensor& key) {
        return nn::Attention::init(key, 4, 2,
                                   {.is_causal = true,
                                    .num_kv_heads = 1,
                                    .window = 2,
                                    .positions = nn::RoPE::init(2),
                                    .dtype = kDouble});
      },
      kApply);
  all_ways(
      [](const Tensor& key) {
        return nn::Attention::init(key, 4, 2,
                                   {.joined = false,
                                    .positions = nn::ALiBi{2},
                                    .qk_norm = nn::QkNorm::rms_norm,
                                    .dtype = kDouble});
      },
      kApply);
  all_ways(
      [](const Tensor& key) {
        return nn::Attention::init(key, 4, 2, {.is_causal = true, .dtype = kDouble});
      },
      [](const auto& layer, const Tensor& y) { return layer(y, layer.cache(6, {2})); });
  const auto small = [](bool norm_first) {
    return nn::TransformerLayerOptions{.dim_feedforward = 6,
                                       .activation = nn::exact_gelu,
                                       .norm_first = norm_first,
                                       .dtype = kDouble};
  };
  all_ways(
      [&](const Tensor& key) {
        return nn::eval(nn::TransformerEncoderLayer::init(key, 4, 2, small(false)));
      },
      kApply);
  all_ways(
      [&](const Tensor& key) {
        return nn::eval(nn::TransformerDecoderLayer::init(key, 4, 2, small(true)));
      },
      kApplyToBoth);
  all_ways(
      [](const Tensor& key) {
        return nn::eval(nn::Transformer::init(key, {.d_model = 4,
                                                    .nhead = 2,
                                                    .num_encoder_layers = 1,
                                                    .num_decoder_layers = 1,
                                                    .dim_feedforward = 6,
                                                    .activation = nn::exact_gelu,
                                                    .batch_first = true,
                                                    .dtype = kDouble}));
      },
      [](const auto& layer, const Tensor& y) { return layer(y, y, {.tgt_is_causal = true}); });
}

TEST(Transformers, SymbolicBatchAndLength) {
  const std::vector<Tensor> inputs{drawn(1, {2, 3, 4}), drawn(2, {4, 5, 4}), drawn(3, {3, 6, 4}),
                                   drawn(4, {5, 2, 4})};
  const Tensor key = random::key(1);
  expect_symbolic_sizes(
      nn::MultiheadAttention::init(key, 4, 2,
                                   {.add_bias_kv = true, .batch_first = true, .dtype = kDouble}),
      [](const auto& layer, const Tensor& x) { return layer(x, x, x, {.is_causal = true}); },
      inputs);
  expect_symbolic_sizes(nn::Attention::init(key, 4, 2,
                                            {.is_causal = true,
                                             .num_kv_heads = 1,
                                             .window = 2,
                                             .positions = nn::RoPE::init(2),
                                             .dtype = kDouble}),
                        kApply, inputs);
  expect_symbolic_sizes(
      nn::Attention::init(key, 4, 2, {.positions = nn::ALiBi{2}, .dtype = kDouble}), kApply,
      inputs);
  const nn::TransformerLayerOptions options{.dim_feedforward = 6, .dropout = 0, .dtype = kDouble};
  expect_symbolic_sizes(nn::TransformerEncoderLayer::init(key, 4, 2, options), kApply, inputs);
  expect_symbolic_sizes(
      nn::TransformerDecoderLayer::init(key, 4, 2, options),
      [](const auto& layer, const Tensor& x) { return layer(x, x, {.tgt_is_causal = true}); },
      inputs);
  expect_symbolic_sizes(nn::Transformer::init(key, {.d_model = 4,
                                                    .nhead = 2,
                                                    .num_encoder_layers = 1,
                                                    .num_decoder_layers = 1,
                                                    .dim_feedforward = 6,
                                                    .dropout = 0,
                                                    .dtype = kDouble}),
                        kApplyToBoth, inputs);
}

TEST(Transformers, RefuseInvalidOptions) {
  const Tensor key = random::key(1), x = ones({2, 3, 4});
  const auto refused = [](auto work, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of(work), parts);
  };
  using Multihead = nn::MultiheadAttention;
  refused([&] { Multihead::init(key, 6, 4); },
          {"nn::MultiheadAttention", "4 heads of an embed_dim of 6"});
  refused([&] { Multihead::init(key, 6, 0); }, {"num_heads is 0", "attention_layers_test.cpp"});
  refused([&] { Multihead::init(key, 6, 2, {.dropout = -0.1}); }, {"dropout is -0.1"});
  refused([&] { Multihead::init(key, 6, 2, {.kdim = 0}); }, {"kdim is 0"});
  const auto multihead = Multihead::init(key, 4, 2);
  refused([&] { multihead(x, x, x[0]); }, {"have 3, 3 and 2 dimensions"});
  refused([&] { multihead(x, x, x, {.attn_mask = ones({1, 1, 3, 3})}); },
          {"attn_mask is f32[1, 1, 3, 3]"});
  const auto hidden = [](const Shape& shape) { return zeros(shape, DType::boolean); };
  const Tensor numbers = ones({3, 3}, DType::i64);
  refused([&] { multihead(x, x, x, {.attn_mask = numbers}); },
          {"nn::MultiheadAttention", "attn_mask is i64[3, 3], expected bool", "attn_mask != 0"});
  const auto first = Multihead::init(key, 4, 2, {.add_zero_attn = true, .batch_first = true});
  refused([&] { first(x, x, x, {.key_padding_mask = ones({2, 3}, DType::i64)}); },
          {"key_padding_mask is i64[2, 3], expected bool"});
  for (const Shape& shape : {Shape{1, 3}, Shape{3}, Shape{2, 1}, Shape{2, 4}}) {
    refused([&] { first(x, x, x, {.key_padding_mask = hidden(shape)}); },
            {"ShapeError", "key_padding_mask is bool[", "expected [2, 3]: [batch, keys]"});
  }
  first(x, x, x, {.key_padding_mask = hidden({2, 3})});
  multihead(x, x, x, {.key_padding_mask = hidden({3, 2})});
  first(x[0], x[0], x[0], {.key_padding_mask = hidden({3})});
  refused([&] { first(x[0], x[0], x[0], {.key_padding_mask = hidden({1, 3})}); },
          {"expected [3]: [keys]"});
  refused([&] { nn::Attention::init(key, 4, 2)(x, numbers); },
          {"nn::Attention", "attn_mask is i64[3, 3]"});
  using nn::Attention;
  refused([&] { Attention::init(key, 8, 4, {.num_kv_heads = 3}); }, {"4 heads share 3 heads"});
  refused([&] { Attention::init(key, 8, 4, {.window = 0}); }, {"window is 0, expected 1 or more"});
  refused([&] { Attention::init(key, 8, 4, {.dropout = 2}); }, {"dropout is 2"});
  refused([&] { Attention::init(key, 8, 4, {.positions = nn::RoPE::init(4)}); },
          {"a RoPE for heads of 4, expected one for 2"});
  refused([&] { Attention::init(key, 8, 4, {.positions = nn::ALiBi{2}}); },
          {"an ALiBi for 2 heads, expected one for 4"});
  refused([&] { Attention::init(key, 8, 4, {.context_dim = 6}); },
          {"a context of 6 beside inputs of 8", "joined = false"});
  const auto rotated = Attention::init(key, 4, 2, {.positions = nn::RoPE::init(2)});
  refused([&] { rotated(x, {.context = x}); }, {"a context has no cache, and no positions"});
  refused([&] { rotated(x, rotated.cache(4, {2}), {.context = x}); }, {"a context has no cache"});
  refused([&] { nn::TransformerEncoderLayer::init(key, 8, 3); },
          {"nn::TransformerEncoderLayer", "3 heads of an embed_dim of 8"});
  refused([&] { nn::TransformerDecoderLayer::init(key, 8, 2, {.dim_feedforward = -1}); },
          {"dim_feedforward is -1"});
  refused([&] { nn::TransformerDecoderLayer::init(key, 8, 2, {.dropout = 7}); },
          {"nn::TransformerDecoderLayer", "dropout is 7"});
  const auto layer = nn::TransformerEncoderLayer::init(key, 8, 2, {.dim_feedforward = 4});
  refused([&] { layer(ones({3, 2, 8}), {.src_key_padding_mask = ones({2, 3}, DType::i64)}); },
          {"key_padding_mask is i64[2, 3]"});
  refused([&] { nn::TransformerEncoder::init(layer, -1); },
          {"nn::TransformerEncoder", "num_layers is -1"});
  refused([&] { nn::Transformer::init(key, {.num_encoder_layers = -1}); },
          {"nn::Transformer", "num_encoder_layers is -1"});
}

}  // namespace
}  // namespace plait::sequence_ways
