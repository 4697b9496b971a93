#include "plait/nn/layers/embedding_layers.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/statistics.h"

namespace plait::nn {
namespace {

void expect_max_norm(const std::optional<double>& max_norm, double norm_type) {
  expect_number("norm_type", norm_type);
  if (!max_norm || *max_norm > 0) return;
  throw ValueError("max_norm is {}, expected a number above 0", *max_norm)
      .at(Location::of_caller());
}

// A table of normal numbers, and the padding row counted from the first one.
struct Table {
  Tensor weight;
  std::optional<int64_t> padding_idx;
};

template <class Options>
Table table_of(const Tensor& key, int64_t rows, int64_t width, const Options& options) {
  expect_sizes({rows, width}, "a table");
  expect_max_norm(options.max_norm, options.norm_type);
  Table made{.weight = normal(key, {rows, width}, 0, 1, options.dtype),
             .padding_idx = options.padding_idx};
  if (!made.padding_idx) return made;
  int64_t& row = *made.padding_idx;
  if (row < -rows || row >= rows) {
    throw ValueError("padding_idx is {}, expected a row of {}", row, rows);
  }
  if (row < 0) row += rows;
  made.weight = made.weight.at(row).set(0.);
  return made;
}

// The table with rows of at most max_norm; the factors have no gradient.
Tensor with_small_rows(const Tensor& weight, double max_norm, double norm_type) {
  const Tensor norms = norm(weight, norm_type, -1, true);
  const Tensor scale = where(greater(norms, max_norm), max_norm / (norms + 1e-7), 1.);
  return weight + stop_gradient(weight * scale - weight);
}

// The table, whose gradient is divided by the number of times that each row is read.
Tensor with_mean_gradient(const Tensor& weight, const Tensor& ids) {
  const Tensor counts = maximum(bincount(flatten(ids), weight.shape(0)), 1);
  const Tensor constant = stop_gradient(weight);
  return constant + (weight - constant) / expand_dims(astype(counts, weight.dtype()), -1);
}

template <class Layer>
Tensor as_read(const Layer& layer, const Tensor& ids) {
  Tensor weight = layer.weight;
  if (layer.max_norm) {
    expect_max_norm(layer.max_norm, layer.norm_type);
    weight = with_small_rows(weight, *layer.max_norm, layer.norm_type);
  }
  return layer.scale_grad_by_freq ? with_mean_gradient(weight, ids) : weight;
}

}  // namespace

Embedding Embedding::init(const Tensor& key, int64_t rows, int64_t width,
                          const EmbeddingOptions& options) {
  const Call call("nn::Embedding");
  Table table = table_of(key, rows, width, options);
  return {.weight = std::move(table.weight),
          .padding_idx = table.padding_idx,
          .max_norm = options.max_norm,
          .norm_type = options.norm_type,
          .scale_grad_by_freq = options.scale_grad_by_freq};
}

Tensor Embedding::operator()(const Tensor& ids) const {
  return embedding(ids, as_read(*this, ids), padding_idx);
}

EmbeddingBag EmbeddingBag::init(const Tensor& key, int64_t rows, int64_t width,
                                const EmbeddingBagOptions& options) {
  const Call call("nn::EmbeddingBag");
  Table table = table_of(key, rows, width, options);
  return {.weight = std::move(table.weight),
          .max_norm = options.max_norm,
          .norm_type = options.norm_type,
          .scale_grad_by_freq = options.scale_grad_by_freq,
          .mode = options.mode,
          .include_last_offset = options.include_last_offset,
          .padding_idx = table.padding_idx};
}

Tensor EmbeddingBag::operator()(const Tensor& ids, const Tensor& offsets,
                                const Tensor& per_sample_weights) const {
  const Call call("nn::EmbeddingBag", ids, offsets, per_sample_weights);
  return embedding_bag(ids, as_read(*this, ids),
                       {.offsets = offsets,
                        .mode = mode,
                        .per_sample_weights = per_sample_weights,
                        .include_last_offset = include_last_offset,
                        .padding_idx = padding_idx});
}

}  // namespace plait::nn
