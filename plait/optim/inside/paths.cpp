#include "plait/optim/inside/paths.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::optim {
namespace {

[[noreturn]] void refuse_pattern(std::string_view what, const std::string& pattern,
                                 std::span<const std::string> paths) {
  const std::string near = nearest_name(pattern, paths);
  constexpr size_t kMost = 8;
  throw ValueError("{}: the pattern {} matches no parameter", what, in_quotes(pattern))
      .at(Location::of_caller())
      .hint(near.empty() ? fmt::format("the parameters are {}",
                                       fmt::join(paths.first(std::min(kMost, paths.size())), ", "))
                         : fmt::format("did you mean {}?", near));
}

}  // namespace

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

std::vector<std::optional<size_t>> matching(std::string_view what,
                                            std::span<const std::string> patterns,
                                            std::span<const std::string> paths) {
  std::vector<std::optional<size_t>> found(paths.size());
  for (size_t j = 0; j < patterns.size(); ++j) {
    bool is_used = false;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (!matches_pattern(paths[i], patterns[j])) continue;
      is_used = true;
      if (!found[i]) found[i] = j;
    }
    if (!is_used) refuse_pattern(what, patterns[j], paths);
  }
  return found;
}

}  // namespace plait::optim
