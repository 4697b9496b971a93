// Choices of parameters by patterns over their paths.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/optim/number.h"

namespace plait::optim {

std::vector<std::string> names_of(const Tensors& tensors);

// For each path, the index of the first of the patterns that it matches. ValueError for a pattern
// that matches no path.
std::vector<std::optional<size_t>> matching(std::string_view what,
                                            std::span<const std::string> patterns,
                                            std::span<const std::string> paths);

}  // namespace plait::optim
