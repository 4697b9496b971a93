// Expected values are those of torch.nn.functional (PyTorch 2.15) in f64.
#include "plait/ops/neural/attention.h"

#include "plait/core/error.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

TEST(Attention, AsPyTorch) {
  const Tensor q = wave({1, 2, 3, 4}), k = wave({1, 2, 5, 4}, 0.9), v = wave({1, 2, 5, 2}, 1.1);
  expect_values(scaled_dot_product_attention(q, k, v),
                {-0.0339336502, 0.33199691, 0.301372927, -0.15506283, 0.156885724, 0.47219293,
                 0.308683408, 0.45418511, -0.453953165, -0.115591617, 0.333836235, 0.286588638});
  expect_values(scaled_dot_product_attention(q, k, v, {.is_causal = true}),
                {0, 0.89120736, 0.620997379, 0.0855178181, 0.0118256747, 0.264776675, -0.999990207,
                 -0.449647465, -0.568018129, -0.0599061016, 0.122085927, -0.142939665});
  expect_values(scaled_dot_product_attention(q, k, v, {.attn_mask = wave({3, 5}, 2), .scale = 0.3}),
                {0.325573423, 0.117920733, -0.260651766, -0.286782745, 0.216842381, 0.640777418,
                 0.466740573, 0.694750802, -0.118781104, -0.304877026, -0.07947476, 0.222779287});
  expect_values(scaled_dot_product_attention(wave({1, 4, 2, 2}), wave({1, 2, 3, 2}, 0.9),
                                             wave({1, 2, 3, 2}, 1.1)),
                {0.11345755, 0.191729091, 0.367918624, 0.163573398, -0.056765459, -0.0820024085,
                 -0.596722769, -0.384177131, 0.00938942407, 0.236872295, 0.226902391, -0.225556983,
                 0.0566632216, -0.215527656, -0.195674916, 0.159290234});
}

TEST(Attention, GivesZerosToFullyMaskedRows) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Tensor q = wave({2, 3, 4}, 0.7, dtype), k = wave({2, 2, 4}, 0.9, dtype);
    const Tensor v = wave({2, 2, 3}, 1.1, dtype);
    const Tensor mask = reshape(tensor<bool>({true, true, false, false, true, false}), {3, 2});
    const Tensor out = scaled_dot_product_attention(q, k, v, {.attn_mask = mask});
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_TRUE(all(isfinite(out)).item<bool>());
    EXPECT_EQ(max(absolute(slice(out, 1, {.start = 1, .stop = 2}))).item<double>(), 0);
    const Tensor added = where(mask, 0.0, -INFINITY);
    expect_same(scaled_dot_product_attention(q, k, v, {.attn_mask = added}), out, 0);
  }
}

TEST(Attention, SharedHeadsAreRepeatedOnes) {
  const Tensor q = wave({2, 6, 3, 4}), k = wave({2, 2, 5, 4}, 0.9), v = wave({2, 2, 5, 3}, 1.1);
  const auto repeated = [](const Tensor& x) {
    const Shape s = x.shape();
    return reshape(broadcast_to(expand_dims(x, 2), {s[0], s[1], 3, s[2], s[3]}),
                   {s[0], 6, s[2], s[3]});
  };
  const Sizes masks[] = {{5}, {3, 5}, {6, 3, 5}, {6, 1, 5}, {2, 1, 3, 5}, {2, 6, 3, 1}};
  for (const Sizes& mask : masks) {
    const AttentionOptions options{.attn_mask = wave(mask, 2), .is_causal = true};
    expect_same(scaled_dot_product_attention(q, k, v, options),
                scaled_dot_product_attention(q, repeated(k), repeated(v), options), 1e-12);
  }
  // Heads of a single query are rows of one product.
  const Tensor one = wave({2, 6, 1, 4});
  for (const Sizes& mask : {Sizes{5}, Sizes{6, 1, 5}, Sizes{2, 1, 1, 5}}) {
    const AttentionOptions options{.attn_mask = wave(mask, 2)};
    expect_same(scaled_dot_product_attention(one, k, v, options),
                scaled_dot_product_attention(one, repeated(k), repeated(v), options), 1e-12);
  }
  EXPECT_THROW(scaled_dot_product_attention(q, k, v, {.attn_mask = wave({2, 3, 5})}), ShapeError);
  EXPECT_THROW(scaled_dot_product_attention(q, k, v, {.attn_mask = iota(5)}), TypeError);
  // Values of more batches than there are of queries and keys.
  for (const Tensor& queries : {wave({6, 3, 4}), wave({6, 1, 4})}) {
    const Tensor several = wave({7, 2, 5, 3}, 1.1), keys = wave({2, 5, 4}, 0.9);
    const Tensor all = scaled_dot_product_attention(queries, keys, several);
    EXPECT_EQ(all.shape(), Shape({7, 6, queries.shape(-2), 3}));
    const auto second = [](const Tensor& x) {
      return squeeze(slice(x, 0, {.start = 2, .stop = 3}), 0);
    };
    expect_same(second(all), scaled_dot_product_attention(queries, keys, second(several)), 1e-12);
  }
  EXPECT_THROW(scaled_dot_product_attention(wave({2, 5, 3, 4}), k, v), ShapeError);
  EXPECT_THROW(scaled_dot_product_attention(q, wave({2, 2, 5, 3}), v), ShapeError);
  EXPECT_THROW(scaled_dot_product_attention(q, k, wave({2, 2, 4, 3})), ShapeError);
}

TEST(Attention, TracedAndWithSymbolicSizes) {
  const Tensor q = wave({2, 4, 3, 4}), k = wave({2, 2, 5, 4}, 0.9), v = wave({2, 2, 5, 3}, 1.1);
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, {.is_causal = true});
  };
  expect_traced_alike(f, q, k, v);
  expect_symbolic_alike(f, {2}, q, k, v);
}

// Rotates pair by pair.
TEST(Rope, TurnsPairs) {
  const Tensor x = wave({2, 3, 6});
  const std::vector<double> values = values_of(x);
  for (const bool is_interleaved : {false, true}) {
    std::vector<double> expected(values.size());
    for (size_t row = 0; row < 6; ++row) {
      for (size_t i = 0; i < 3; ++i) {
        const size_t a = row * 6 + (is_interleaved ? 2 * i : i), b = is_interleaved ? a + 1 : a + 3;
        const double angle =
            static_cast<double>(row % 3 + 7) * std::pow(100.0, -2 * static_cast<double>(i) / 6);
        expected[a] = values[a] * std::cos(angle) - values[b] * std::sin(angle);
        expected[b] = values[b] * std::cos(angle) + values[a] * std::sin(angle);
      }
    }
    expect_values(rope(x, {.base = 100, .is_interleaved = is_interleaved, .offset = 7}), expected,
                  1e-12);
    expect_values(rope(x, {.base = 100,
                           .is_interleaved = is_interleaved,
                           .positions = tensor<int64_t>({7, 8, 9})}),
                  expected, 1e-12);
  }
}

TEST(Rope, KeepsLengthsAndTheRest) {
  const Tensor x = wave({2, 3, 6});
  const Tensor turned = rope(x, {.width = 4});
  expect_same(slice(turned, -1, {.start = 4}), slice(x, -1, {.start = 4}), 0);
  expect_same(slice(turned, -1, {.stop = 4}), rope(slice(x, -1, {.stop = 4})), 0);
  expect_same(sum(square(rope(x)), -1), sum(square(x), -1), 1e-12);
  EXPECT_EQ(rope(astype(x, DType::bf16)).dtype(), DType::bf16);
  expect_traced_alike([](const Tensor& x) { return rope(x, {.is_interleaved = true}); }, x);
  expect_symbolic_alike([](const Tensor& x) { return rope(x); }, {0, 1}, x);
  EXPECT_THROW(rope(wave({2, 5})), ValueError);
  EXPECT_THROW(rope(x, {.width = 8}), ValueError);
  EXPECT_THROW(rope(wave({4})), ShapeError);
}

}  // namespace
}  // namespace plait
