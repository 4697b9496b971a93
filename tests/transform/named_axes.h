// What tests of named axes share.
#pragma once

#include <utility>

#include "plait/transform/vmap.h"

#include "tests/transform/transform_support.h"

namespace plait {

inline const Tensor kBatch = numbers({5, 3}, 0);

template <class F>
auto along_batch(F f) {
  return vmap(std::move(f), {.name = "batch"});
}

}  // namespace plait
