#include "plait/nn/models/state.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/reshape.h"

namespace plait::nn {
namespace {

constexpr size_t kMost = 8;  // names that an error lists

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

std::optional<std::string> renamed(const std::string& name, const LoadOptions& options) {
  for (const auto& [pattern, to] : options.rename) {
    const auto texts = texts_of_stars(name, pattern);
    if (texts) return to ? std::optional(with_stars(*to, *texts)) : std::nullopt;
  }
  return name;
}

State renamed(const State& state, const LoadOptions& options) {
  State made;
  std::map<std::string, std::string> olds;
  for (const auto& [name, tensor] : state) {
    const auto to = renamed(name, options);
    if (!to) continue;
    if (!made.emplace(*to, tensor).second) {
      throw ValueError("nn::load_state: rename gives the name {} to {} and {}", in_quotes(*to),
                       in_quotes(olds[*to]), in_quotes(name))
          .at(Location::of_caller());
    }
    olds[*to] = name;
  }
  return made;
}

// TypeError if the conversion would drop imaginary parts.
void expect_convertible(const Place& place, const State& state) {
  const auto found = state.find(place.name);
  if (found == state.end() || !is_complex(found->second.dtype())) return;
  if (is_complex(place.tensor->dtype())) return;
  throw TypeError(
      "nn::load_state: {} is {} in the state, {} in the model, and would lose its "
      "imaginary parts",
      place.name, found->second.type().text(), place.tensor->type().text())
      .at(Location::of_caller())
      .hint("real(x) takes the real parts");
}

std::string shape_text(const Tensor& tensor) { return tensor.shape().text(); }

// Differences between a model and a state, as lines of text.
class Mismatch {
 public:
  void add_names(const std::vector<std::string>& names, std::string_view what,
                 const std::vector<std::string>& others) {
    add(names.size(), what, [&](size_t i) {
      const std::string near = nearest_name(names[i], others);
      return fmt::format("{} is {}{}", names[i], what,
                         near.empty() ? "" : fmt::format("; did you mean {}?", near));
    });
  }
  void add(size_t count, std::string_view what, FunctionRef<std::string(size_t)> line) {
    for (size_t i = 0; i < std::min(count, kMost); ++i) text_ += "\n    " + line(i);
    if (count > kMost) text_ += fmt::format("\n    {} more are {}", count - kMost, what);
  }
  bool is_empty() const { return text_.empty(); }
  void fail() const {
    throw ValueError("nn::load_state: the state does not fit the model, and nothing is loaded:{}",
                     text_)
        .at(Location::of_caller())
        .hint(
            ".rename = {{\"theirs.*\", \"ours.*\"}} maps names; .missing and .superfluous name "
            "what may differ");
  }

 private:
  std::string text_;
};

}  // namespace

void load_places(std::span<const Place> places, const State& state, const LoadOptions& options) {
  const State given = renamed(state, options);
  std::vector<std::string> absent, further;
  std::vector<const Place*> misshapen;
  State left = given;
  for (const Place& place : places) {
    const auto found = given.find(place.name);
    left.erase(place.name);
    if (found == given.end()) {
      if (!matches_one(place.name, options.missing)) absent.push_back(place.name);
    } else if (found->second.shape() != place.tensor->shape()) {
      misshapen.push_back(&place);
    }
  }
  for (const auto& [name, tensor] : left) {
    if (!matches_one(name, options.superfluous)) further.push_back(name);
  }
  Mismatch mismatch;
  mismatch.add_names(absent, "missing from the state", further);
  mismatch.add_names(further, "in the state, but not in the model", absent);
  mismatch.add(misshapen.size(), "of another shape", [&](size_t i) {
    const Place& place = *misshapen[i];
    return fmt::format("{} is {} in the model, {} in the state", place.name,
                       shape_text(*place.tensor), shape_text(given.at(place.name)));
  });
  if (!mismatch.is_empty()) mismatch.fail();
  for (const Place& place : places) expect_convertible(place, given);
  for (const Place& place : places) {
    const auto found = given.find(place.name);
    if (found != given.end()) *place.tensor = astype(found->second, place.tensor->dtype());
  }
}

}  // namespace plait::nn
