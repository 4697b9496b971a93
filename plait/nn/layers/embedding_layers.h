// Embeddings. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/indexing/embedding.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx = {};  // a row of zeros without a gradient; −1 is the last row
  std::optional<double> max_norm = {};  // rows are scaled to at most this norm when they are read
  double norm_type = 2;                 // the p of that norm
  bool scale_grad_by_freq = false;      // divides the gradient of a row by how often its id occurs
  DType dtype = DType::f32;
};
// Looks up rows of a table by ids. Unlike PyTorch's, max_norm leaves the table as it is.
struct Embedding {
  Tensor weight;  // [rows, width]
  std::optional<int64_t> padding_idx = {};
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;

  static Embedding init(const Tensor& key, int64_t rows, int64_t width,
                        const EmbeddingOptions& options = {});
  Tensor operator()(const Tensor& ids) const;
};

struct EmbeddingBagOptions {
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  BagMode mode = BagMode::mean;
  bool include_last_offset = false;         // the last offset is the end of the last bag
  std::optional<int64_t> padding_idx = {};  // ids that count for nothing
  DType dtype = DType::f32;
};
// The sum, mean or maximum of the rows that the ids of each bag name: [bags, width]. A bag is a row
// of [bags, ids], or the ids from one of the offsets to the next.
struct EmbeddingBag {
  Tensor weight;  // [rows, width]
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  BagMode mode = BagMode::mean;
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx = {};

  static EmbeddingBag init(const Tensor& key, int64_t rows, int64_t width,
                           const EmbeddingBagOptions& options = {});
  // The weights of samples are factors of the rows, for sums only.
  Tensor operator()(const Tensor& ids, const Tensor& offsets = {},
                    const Tensor& per_sample_weights = {}) const;
};

}  // namespace plait::nn
