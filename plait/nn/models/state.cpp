#include "plait/nn/models/state.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

std::vector<std::string> names_of(const State& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  return names;
}

void expect_patterns_match(std::span<const Place> places, const State& given,
                           const LoadOptions& options) {
  std::vector<std::string> own;
  for (const Place& place : places) own.push_back(place.name);
  for (const std::string& pattern : options.missing) {
    expect_matches("nn::load_state: missing", "model", pattern, own);
  }
  for (const std::string& pattern : options.superfluous) {
    expect_matches("nn::load_state: superfluous", "state", pattern, names_of(given));
  }
}

State renamed(const State& state, const LoadOptions& options) {
  expect_matches("nn::load_state: rename", options.rename, names_of(state));
  State made;
  std::map<std::string, std::string> olds;
  for (const auto& [name, tensor] : state) {
    const auto to = plait::renamed(name, options.rename);
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

// ValueError for numbers that the dtype of the model does not have, other than by rounding. Values
// that are recorded are not compared.
void expect_kept(const Place& place, const Tensor& value, const Tensor& made) {
  if (value.dtype() == made.dtype() || value.is_traced() || made.is_traced()) return;
  const bool is_exact = is_integer(made.dtype()) || is_boolean(made.dtype());
  const Tensor kept = is_exact ? astype(made, value.dtype()) == value
                               : logical_or(isfinite(made), logical_not(isfinite(value)));
  if (all(kept).item<bool>()) return;
  throw ValueError(
      "nn::load_state: {} is {} in the state, {} in the model, which would lose {}", place.name,
      value.type().text(), made.type().text(),
      is_exact ? "fractions, or numbers out of its range" : "numbers above its largest one")
      .at(Location::of_caller())
      .hint("astype converts it");
}

std::string shape_text(const Tensor& tensor) { return tensor.shape().text(); }

[[noreturn]] void refuse_differences(const Differences& differences) {
  throw ValueError("nn::load_state: the state does not fit the model, and nothing is loaded:{}",
                   differences.text())
      .at(Location::of_caller())
      .hint(
          ".rename = {{\"theirs.*\", \"ours.*\"}} maps names; .missing and .superfluous name "
          "what may differ");
}

}  // namespace

void load_places(std::span<const Place> places, const State& state, const LoadOptions& options) {
  const State given = renamed(state, options);
  expect_patterns_match(places, given, options);
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
  Differences differences;
  differences.add_names(absent, "missing from the state", further);
  differences.add_names(further, "in the state, but not in the model", absent);
  differences.add(misshapen.size(), "of another shape", [&](size_t i) {
    const Place& place = *misshapen[i];
    return fmt::format("{} is {} in the model, {} in the state", place.name,
                       shape_text(*place.tensor), shape_text(given.at(place.name)));
  });
  if (!differences.is_empty()) refuse_differences(differences);
  for (const Place& place : places) expect_convertible(place, given);
  std::vector<std::pair<const Place*, Tensor>> loaded;
  for (const Place& place : places) {
    const auto found = given.find(place.name);
    if (found == given.end()) continue;
    const Tensor made = astype(found->second, place.tensor->dtype());
    expect_kept(place, found->second, made);
    const bool is_there = made.is_traced() || made.device() == place.tensor->device();
    loaded.emplace_back(&place, is_there ? made : to_device(made, place.tensor->device()));
  }
  for (auto& [place, made] : loaded) *place->tensor = std::move(made);
}

}  // namespace plait::nn
