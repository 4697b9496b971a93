#include "plait/nn/layers/embedding_layers.h"

#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/call.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/random/random.h"

namespace plait::nn {
Embedding Embedding::init(const Tensor& key, int64_t rows, int64_t width, DType dtype) {
  const Call call("nn::Embedding");
  expect_sizes({rows, width}, "a table");
  return {random::normal(key, {rows, width}, 0., 1., dtype)};
}

Tensor Embedding::operator()(const Tensor& ids) const { return embedding(ids, weight); }

}  // namespace plait::nn
