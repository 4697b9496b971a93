#include "plait/core/trees/renaming.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

constexpr size_t kMostListed = 8;

// The texts that the stars of the pattern stand for, each as short as possible; none if the name
// does not match.
std::optional<std::vector<std::string_view>> texts_of_stars(std::string_view name,
                                                            std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return name == pattern ? std::optional(std::vector<std::string_view>()) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (!name.starts_with(before)) return std::nullopt;
  for (size_t end = star; end <= name.size(); ++end) {
    if (auto others = texts_of_stars(name.substr(end), after)) {
      others->insert(others->begin(), name.substr(star, end - star));
      return others;
    }
  }
  return std::nullopt;
}

std::string with_stars(std::string_view name, std::span<const std::string_view> texts) {
  std::string made;
  for (const char c : name) {
    if (c != '*') {
      made += c;
    } else if (!texts.empty()) {
      made += texts.front();
      texts = texts.subspan(1);
    }
  }
  return made;
}

}  // namespace

std::optional<std::string> renamed(const std::string& name, const Renaming& renaming) {
  for (const auto& [pattern, to] : renaming) {
    const auto texts = texts_of_stars(name, pattern);
    if (texts) return to ? std::optional(with_stars(*to, *texts)) : std::nullopt;
  }
  return name;
}

void expect_matches(std::string_view what, std::string_view things, std::string_view pattern,
                    std::span<const std::string> names) {
  if (std::ranges::any_of(names,
                          [&](const auto& each) { return matches_pattern(each, pattern); })) {
    return;
  }
  const std::string near = nearest_name(pattern, names);
  const auto first = names.first(std::min(kMostListed, names.size()));
  throw ValueError("{}: no name of the {} matches {}", what, things, in_quotes(pattern))
      .at(Location::of_caller())
      .hint(near.empty() ? fmt::format("there are {}", fmt::join(first, ", "))
                         : fmt::format("did you mean {}?", near));
}

void expect_matches(std::string_view what, const Renaming& renaming,
                    std::span<const std::string> names) {
  for (const auto& [pattern, to] : renaming) {
    const auto fits = [&](const std::string& name) {
      return texts_of_stars(name, pattern).has_value();
    };
    if (!std::ranges::any_of(names, fits)) expect_matches(what, "state", pattern, names);
  }
}

void Differences::add_names(const std::vector<std::string>& names, std::string_view what,
                            const std::vector<std::string>& others) {
  add(names.size(), what, [&](size_t i) {
    const std::string near = nearest_name(names[i], others);
    return fmt::format("{} is {}{}", names[i], what,
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
  });
}

void Differences::add(size_t count, std::string_view what, FunctionRef<std::string(size_t)> line) {
  for (size_t i = 0; i < std::min(count, kMostListed); ++i) text_ += "\n    " + line(i);
  if (count > kMostListed) {
    text_ += fmt::format("\n    {} more are {}", count - kMostListed, what);
  }
}

}  // namespace plait
