// Tables of rows, bilinear maps, distances, the adaptive softmax, and convolutions to given sizes.
#include "plait/nn/layers/adaptive_softmax.h"
#include "plait/nn/layers/convolution_layers.h"
#include "plait/nn/layers/distance_layers.h"
#include "plait/nn/layers/embedding_layers.h"
#include "plait/nn/layers/linear_layers.h"

#include "tests/oracles/layer_cases_simple.h"

namespace plait {
namespace {

LayerCase embedding_case(std::string name, nn::EmbeddingOptions options) {
  options.dtype = kF64;
  return layer(std::move(name),
               [options](const Tensor& key) { return nn::Embedding::init(key, 10, 3, options); });
}

nn::EmbeddingBag bag_of(nn::EmbeddingBagOptions options) {
  options.dtype = kF64;
  return nn::EmbeddingBag::init(random::key(1), 10, 3, options);
}

// Rows of [bags, ids] with weights.
struct WeightedRows {
  nn::EmbeddingBag bag;
  Tensor operator()(const Tensor& ids, const Tensor& weights) const {
    return bag(ids, {}, weights);
  }
};

const LayerCases kTables{
    embedding_case("embedding_padding", {.padding_idx = 3}),
    embedding_case("embedding_padding_last", {.padding_idx = -1}),
    embedding_case("embedding_max_norm", {.max_norm = 1.5}),
    embedding_case("embedding_max_norm_1", {.padding_idx = 1, .max_norm = 1.5, .norm_type = 1}),
    embedding_case("embedding_by_frequency", {.scale_grad_by_freq = true}),
    ready("embedding_bag", bag_of({})),
    ready<2>("embedding_bag_offsets", bag_of({})),
    ready("embedding_bag_sum", bag_of({.mode = BagMode::sum, .padding_idx = 3})),
    ready<2>("embedding_bag_sum_offsets",
             bag_of({.scale_grad_by_freq = true, .mode = BagMode::sum})),
    ready("embedding_bag_max", bag_of({.mode = BagMode::max})),
    ready<2>("embedding_bag_max_offsets", bag_of({.mode = BagMode::max, .padding_idx = 3})),
    ready<2>("embedding_bag_last_offset", bag_of({.include_last_offset = true})),
    ready("embedding_bag_max_norm", bag_of({.max_norm = 1.5})),
    ready<3>("embedding_bag_weighted", bag_of({.mode = BagMode::sum})),
    ready<2>("embedding_bag_weighted_rows",
             WeightedRows{bag_of({.mode = BagMode::sum, .padding_idx = 2})}),
};

struct Adaptive {
  nn::AdaptiveLogSoftmaxWithLoss softmax;
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const Tensor& target) const {
    auto [output, loss] = softmax(x, target);
    return {output, loss};
  }
};
struct AdaptiveScores {
  nn::AdaptiveLogSoftmaxWithLoss softmax;
  std::pair<Tensor, Tensor> operator()(const Tensor& x) const {
    return {softmax.log_prob(x), softmax.predict(x)};
  }
};
nn::AdaptiveLogSoftmaxWithLoss adaptive_of(bool head_bias) {
  return nn::AdaptiveLogSoftmaxWithLoss::init(
      random::key(1), 16, 30, {6, 14, 20}, {.div_value = 2, .head_bias = head_bias, .dtype = kF64});
}

const LayerCases kMaps{
    ready<2>("bilinear", nn::Bilinear::init(random::key(1), 6, 5, 3, {.dtype = kF64})),
    ready<2>("bilinear_without_bias",
             nn::Bilinear::init(random::key(1), 6, 5, 3, {.bias = false, .dtype = kF64})),
    ready<2>("cosine_similarity", nn::CosineSimilarity{}),
    ready<2>("cosine_similarity_of_columns", nn::CosineSimilarity{.dim = 0, .eps = 1e-4}),
    ready<2>("pairwise_distance", nn::PairwiseDistance{}),
    ready<2>("pairwise_distance_eps", nn::PairwiseDistance{.eps = 0.1}),
    ready<2>("pairwise_distance_1", nn::PairwiseDistance{.p = 1, .keepdim = true}),
    ready<2>("adaptive_softmax", Adaptive{adaptive_of(false)}),
    ready<2>("adaptive_softmax_bias", Adaptive{adaptive_of(true)}),
    ready("adaptive_softmax_scores", AdaptiveScores{adaptive_of(true)}),
};

// A transposed convolution to a size that the call chooses.
struct Sized {
  nn::ConvTranspose2d convolution;
  std::vector<int64_t> size;
  Tensor operator()(const Tensor& images) const {
    return convolution(images, {size.begin(), size.end()});
  }
};

Sized sized(std::vector<int64_t> size) {
  return {nn::ConvTranspose2d::init(random::key(1), 4, 3, 3,
                                    {.stride = 3, .padding = 1, .dtype = kF64}),
          std::move(size)};
}

const LayerCases kConvolutions{
    ready("conv1d_same", nn::Conv1d::init(random::key(1), 4, 8, 4,
                                          {.same_padding = true, .dilation = 2, .dtype = kF64})),
    ready(
        "conv2d_same_reflect",
        nn::Conv2d::init(random::key(1), 4, 8, {3, 2},
                         {.same_padding = true, .padding_mode = PadMode::reflect, .dtype = kF64})),
    ready("conv3d_same", nn::Conv3d::init(random::key(1), 4, 8, {3, 2, 2},
                                          {.same_padding = true, .groups = 2, .dtype = kF64})),
    ready("conv_transpose2d_least", sized({13, 16})),
    ready("conv_transpose2d_more", sized({15, 17})),
    ready("conv_transpose2d_whole_size", sized({2, 3, 14, 18})),
};

}  // namespace
}  // namespace plait
