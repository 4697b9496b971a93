// The block of a transformer.
#pragma once

#include <vector>

#include "plait/nn/layers/norm_layers.h"
#include "plait/nn/sequences/transformer.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"

namespace plait::models {

struct Block {
  nn::LayerNorm norm1, norm2;
  nn::Attention attention;
  nn::Mlp mlp;

  static Block init(const Tensor& key, int64_t width, int64_t heads, bool is_causal) {
    const Tensor keys = random::split_key(key, 2);
    return {.norm1 = nn::LayerNorm::init(width),
            .norm2 = nn::LayerNorm::init(width),
            .attention = nn::Attention::init(keys[0], width, heads, {.is_causal = is_causal}),
            .mlp = nn::Mlp::init(keys[1], width, 4 * width)};
  }

  Tensor operator()(Tensor x) const {
    x = x + attention(norm1(x));
    return x + mlp(norm2(x));
  }
};

inline std::vector<Block> blocks_of(const Tensor& key, int64_t depth, int64_t width, int64_t heads,
                                    bool is_causal) {
  const Tensor keys = random::split_key(key, depth);
  std::vector<Block> blocks;
  for (int64_t i = 0; i < depth; ++i) {
    blocks.push_back(Block::init(keys[i], width, heads, is_causal));
  }
  return blocks;
}

}  // namespace plait::models
