#include "plait/nn/sequences/transformer.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/random/random.h"

namespace plait::nn {

Attention Attention::init(const Tensor& key, int64_t width, int64_t heads,
                          const AttentionOptions& options) {
  const Call call("nn::Attention");
  if (heads < 1 || width < 0 || width % heads != 0) {
    throw ValueError("{} heads of a width of {}: the width must be a multiple of the heads", heads,
                     width);
  }
  const Tensor keys = random::split_key(key, 2);
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  return {.qkv = Linear::init(keys[0], width, 3 * width, linear),
          .out = Linear::init(keys[1], width, width, linear),
          .heads = heads,
          .is_causal = options.is_causal};
}

Tensor Attention::operator()(const Tensor& x, const Tensor& mask) const {
  const Call call("nn::Attention", x);
  // [..., length, 3, heads, width of a head]
  const Tensor parts = unflatten(qkv(x), -1, {3, heads, -1});
  const auto part = [&](int64_t i) {
    return swapaxes(parts[{ellipsis, i, Slice{}, Slice{}}], -3, -2);
  };
  const Tensor seen = scaled_dot_product_attention(part(0), part(1), part(2),
                                                   {.attn_mask = mask, .is_causal = is_causal});
  return out(reshape(swapaxes(seen, -3, -2), x.shape()));
}

Tensor exact_gelu(const Tensor& x) { return gelu(x); }

Mlp Mlp::init(const Tensor& key, int64_t width, int64_t hidden, const MlpOptions& options) {
  const Call call("nn::Mlp");
  const Tensor keys = random::split_key(key, 2);
  const LinearOptions linear{.bias = options.bias, .dtype = options.dtype};
  return {.up = Linear::init(keys[0], width, hidden, linear),
          .down = Linear::init(keys[1], hidden, width, linear),
          .activation = options.activation};
}

Tensor Mlp::operator()(const Tensor& x) const { return down(activation(up(x))); }

}  // namespace plait::nn
