// Options of a transform: one for each argument, one for each tensor in them, or one for all.
#pragma once

#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "plait/core/error.h"

namespace plait {

// One for each tensor. ValueError if their number matches neither arguments nor tensors.
template <class Option>
std::vector<Option> options_of_leaves(std::string_view transform, std::string_view options,
                                      std::string_view what, const std::vector<Option>& given,
                                      const std::vector<size_t>& leaves_of_arguments) {
  const size_t all =
      std::accumulate(leaves_of_arguments.begin(), leaves_of_arguments.end(), size_t{0});
  if (given.size() == 1) return std::vector<Option>(all, given[0]);
  if (given.size() == leaves_of_arguments.size()) {
    std::vector<Option> spread;
    for (size_t i = 0; i < given.size(); ++i) {
      spread.insert(spread.end(), leaves_of_arguments[i], given[i]);
    }
    return spread;
  }
  if (given.size() == all) return given;
  throw ValueError("{}: {} {} in `{}`, for {} arguments of {} tensors", transform, given.size(),
                   options, what, leaves_of_arguments.size(), all)
      .at(Location::of_caller());
}

}  // namespace plait
