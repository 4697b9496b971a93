// A vision transformer (Dosovitskiy et al., 2020): patches of an image are its tokens.
#pragma once

#include <array>

#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/layers/norm_layers.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"

#include "examples/models/block.h"

namespace plait::models {

struct VitSizes {  // by default those of ViT-base
  int64_t image = 224, patch = 16, channels = 3;
  int64_t width = 768, depth = 12, heads = 12;
  int64_t labels = 1000;
};

struct Vit {
  nn::Conv2d patches;
  Tensor class_token;  // [1, 1, width], the first token; summarises the image
  Tensor positions;    // [1, 1 + patches, width]
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  static Vit init(const Tensor& key, const VitSizes& sizes = {}) {
    const Tensor keys = random::split_key(key, 4);
    const auto [image, patch, channels, width, depth, heads, labels] = sizes;
    const int64_t count = (image / patch) * (image / patch);
    return {.patches = nn::Conv2d::init(keys[0], channels, width, patch, {.stride = patch}),
            .class_token = zeros({1, 1, width}),
            .positions = random::normal(keys[1], {1, count + 1, width}, 0., 0.02),
            .blocks = blocks_of(keys[2], depth, width, heads, false),
            .norm = nn::LayerNorm::init(width),
            .head = nn::Linear::init(keys[3], width, labels)};
  }

  // Maps [batch, channels, image, image] to logits [batch, labels].
  Tensor operator()(const Tensor& images) const {
    const Tensor map = patches(images);  // [batch, width, rows, columns]
    const Dim batch = map.shape(0), width = map.shape(1);
    const Tensor words =
        matrix_transpose(reshape(map, {batch, width, map.shape(2) * map.shape(3)}));
    const Tensor first = broadcast_to(class_token, {batch, 1, width});
    Tensor x = concat(std::array{first, words}, 1) + positions;
    for (const Block& block : blocks) x = block(x);
    return head(norm(x)[{Slice{}, 0}]);
  }
};

}  // namespace plait::models
