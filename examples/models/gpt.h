// A language model (Radford et al., 2018): predicts the next token at each position.
#pragma once

#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/ops/arrays/reshape.h"

#include "examples/models/block.h"

namespace plait::models {

struct GptSizes {
  int64_t vocabulary = 256, context = 256;
  int64_t width = 384, depth = 6, heads = 6;
};

struct Gpt {
  nn::Embedding tokens;
  Tensor positions;  // [context, width]
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  static Gpt init(const Tensor& key, const GptSizes& sizes = {}) {
    const Tensor keys = random::split_key(key, 4);
    const auto [vocabulary, context, width, depth, heads] = sizes;
    return {.tokens = nn::Embedding::init(keys[0], vocabulary, width),
            .positions = random::normal(keys[1], {context, width}, 0., 0.02),
            .blocks = blocks_of(keys[2], depth, width, heads, true),
            .norm = nn::LayerNorm::init(width),
            .head = nn::Linear::init(keys[3], width, vocabulary)};
  }

  // Maps [batch, length] to logits [batch, length, vocabulary]; the length is at most the context.
  Tensor operator()(const Tensor& ids) const {
    Tensor x = tokens(ids) + slice_axis(positions, 0, 0, ids.shape(-1));
    for (const Block& block : blocks) x = block(x);
    return head(norm(x));
  }
};

}  // namespace plait::models
