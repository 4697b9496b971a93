// Helpers for tests of named axes.
#pragma once

#include <utility>

#include "plait/transform/vmap.h"

#include "tests/transform/transform_support.h"

namespace plait {

inline const Tensor kBatch = numbers({5, 3}, 0);

inline auto along_batch(OfTensor f) { return vmap(std::move(f), {.name = "batch"}); }

inline auto along_batches(std::function<Tensor(Tensor, Tensor)> f) {
  return vmap(std::move(f), {.name = "batch"});
}

}  // namespace plait
