#include "plait/nn/inside/layer_ranks.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "plait/core/error.h"

namespace plait::nn {

std::string name_of_layer(std::string_view layer, size_t rank) {
  return "nn::" + std::string(layer) + std::to_string(rank) + "d";
}

void expect_dimensions(std::string_view layer, const Tensor& x,
                       std::initializer_list<size_t> counts) {
  if (std::ranges::find(counts, x.rank()) != counts.end()) return;
  throw ShapeError("{}: x is {}, expected {} dimensions", layer, x.type().text(),
                   fmt::join(counts, " or "))
      .at(Location::of_caller());
}

}  // namespace plait::nn
