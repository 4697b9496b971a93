// For the cases of layers without a key.
#pragma once

#include <string>
#include <utility>

#include "tests/oracles/layer_cases.h"

namespace plait {

// A case of this layer.
template <size_t inputs = 1, class Layer>
LayerCase ready(std::string name, Layer made) {
  return layer<inputs>(std::move(name), [made](const Tensor&) { return made; });
}

}  // namespace plait
