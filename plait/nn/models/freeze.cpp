#include "plait/nn/models/freeze.h"

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/create.h"

namespace plait::nn {
namespace {

[[noreturn]] void refuse_pattern(std::string_view function, const std::string& pattern,
                                 std::span<const Place> places) {
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(place.name);
  const std::string near = nearest_name(pattern, names);
  constexpr size_t kMost = 8;
  if (names.size() > kMost) names.resize(kMost);
  throw ValueError("{}: no tensor of the model matches {}", function, in_quotes(pattern))
      .at(Location::of_caller())
      .hint(near.empty() ? fmt::format("its tensors are {}", fmt::join(names, ", "))
                         : fmt::format("did you mean {}?", near));
}

}  // namespace

Tensor placeholder_of(const Tensor& tensor) {
  Shape shape = tensor.shape();
  shape.append(0);
  return zeros(shape, tensor.dtype());
}

std::vector<Place> chosen_places(std::string_view function, std::span<const Place> places,
                                 std::span<const std::string> patterns) {
  std::vector<bool> is_chosen(places.size());
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (size_t i = 0; i < places.size(); ++i) {
      if (!matches_pattern(places[i].name, pattern)) continue;
      is_chosen[i] = found = true;
    }
    if (!found) refuse_pattern(function, pattern, places);
  }
  std::vector<Place> chosen;
  for (size_t i = 0; i < places.size(); ++i) {
    if (is_chosen[i]) chosen.push_back(places[i]);
  }
  return chosen;
}

}  // namespace plait::nn
