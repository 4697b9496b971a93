#include "plait/optim/optimizers/optimizer_state.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/numbers/dtype.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/optim/inside/optimizer_rule.h"
#include "plait/optim/inside/paths.h"

namespace plait::optim {
namespace {

constexpr std::string_view kOtherModel =
    "the optimizer was made for another model: make one for this model";

DType real_wide(DType dtype) { return plait::real_dtype(wide(dtype)); }

bool contains(const OptimizerRule::Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

const NamedNumber* find_number(const OptimizerSettings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings.numbers, name, &NamedNumber::name);
  return found == settings.numbers.end() ? nullptr : &*found;
}

std::vector<std::string> all_options(const OptimizerSettings& settings) {
  std::vector<std::string> names;
  for (const NamedNumber& each : settings.numbers) names.push_back(each.name);
  for (const auto& [name, value] : settings.options) names.push_back(name);
  return names;
}

void refuse_option(std::string_view what, const OptimizerSettings& settings,
                   const std::string& name) {
  throw ValueError("{}: unknown option {}; the options are {}", what, in_quotes(name),
                   fmt::join(all_options(settings), ", "))
      .at(Location::of_caller());
}

GroupState group_from(const OptimizerSettings& settings, size_t index,
                      std::span<const std::string> paths) {
  const Group& given = settings.groups[index];
  const std::string what = fmt::format("{}: groups[{}]", settings.rule.rule->name, index);
  matching(what, given.params, paths);
  GroupState made{.params = given.params, .numbers = {}, .options = {}};
  for (const auto& [name, value] : given.numbers) {
    const NamedNumber* const number = find_number(settings, name);
    if (number == nullptr) refuse_option(what, settings, name);
    value.expect_within(fmt::format("{}: {}", what, name), number->least, number->below);
    made.numbers[name] = value;
  }
  for (const auto& [name, value] : given.options) {
    if (!settings.options.contains(name)) refuse_option(what, settings, name);
    made.options[name] = value ? 1 : 0;
  }
  return made;
}

// The index of the group of each parameter: -1 if it is in none.
std::map<std::string, int> groups_of(std::string_view rule, const std::vector<GroupState>& groups,
                                     const Tensors& parameters) {
  std::map<std::string, int> found;
  for (const auto& [path, value] : parameters) {
    int own = -1;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!matches_one(path, groups[i].params)) continue;
      if (own >= 0) {
        throw ValueError("{}: {} is in two groups: groups[{}] and groups[{}]", rule, path, own, i)
            .at(Location::of_caller());
      }
      own = static_cast<int>(i);
    }
    found[path] = own;
  }
  return found;
}

// The numbers and options of the parameters of a group at a step.
struct Settings {
  Tensors numbers;
  Options options;
  std::map<DType, WeightNumbers> by_dtype = {};

  const WeightNumbers& in(DType dtype) {
    return by_dtype.try_emplace(dtype, numbers, options, dtype).first->second;
  }
};

// By index of the group; -1 is that of parameters without a group.
std::map<int, Settings> all_settings(OptimizerState& state) {
  const std::string_view rule = state.name();
  std::map<int, Settings> made;
  const Tensors numbers = follow(rule, state.numbers, state.steps);
  const auto own = made.try_emplace(-1, Settings{numbers, state.options}).first;
  own->second.numbers["lr"] = state.lr.follow(rule, "lr", state.steps);
  for (size_t i = 0; i < state.groups.size(); ++i) {
    GroupState& group = state.groups[i];
    Settings& settings = made.try_emplace(static_cast<int>(i), own->second).first->second;
    for (const auto& [name, number] :
         follow(fmt::format("{}: groups[{}]", rule, i), group.numbers, state.steps)) {
      settings.numbers[name] = number;
    }
    for (const auto& [name, option] : group.options) settings.options[name] = option;
  }
  return made;
}

void expect_usable(const OptimizerRule& rule, const std::string& path, const Tensor& value) {
  if (rule.is_real && is_complex(value.dtype())) {
    throw TypeError("{}: {} is {}, expected real numbers", rule.name, path, value.type().text())
        .at(Location::of_caller())
        .hint("keep real and imaginary parts as separate parameters, or use optim::SGD or Adam");
  }
  if (rule.expect != nullptr) rule.expect(path, value);
}

Tensor& state_of(OptimizerState& state, const std::string& name, const std::string& path,
                 const Tensor& parameter) {
  const OptimizerRule& rule = *state.rule.rule;
  const auto all = state.state.find(name);
  const auto found = all == state.state.end() ? Tensors::iterator() : all->second.find(path);
  if (all == state.state.end() || found == all->second.end()) {
    throw ValueError("{}: {} has no {}, which the model has", rule.name, name, path)
        .at(Location::of_caller())
        .hint(std::string(name == "momentum_buffer" && all == state.state.end()
                              ? "the momentum was 0 when the optimizer was made, which has no "
                                "state for it: pass .momentum"
                              : kOtherModel));
  }
  const bool is_like = rule.first == nullptr && !contains(rule.scalar_states, name);
  if (is_like && found->second.shape() != parameter.shape()) {
    throw ShapeError("{}: {} is {}, but {} of it is {}", rule.name, path, parameter.type().text(),
                     name, found->second.type().text())
        .at(Location::of_caller())
        .hint(std::string(kOtherModel));
  }
  return found->second;
}

}  // namespace

std::string RuleReference::text() const { return rule ? std::string(rule->name) : "no rule"; }
std::string_view OptimizerState::name() const { return rule.rule->name; }

WeightNumbers::WeightNumbers(const Tensors& exact, const Options& given, DType parameter)
    : StepNumbers(exact, real_wide(parameter)), options(&given), dtype(parameter) {}

int64_t WeightNumbers::option(const std::string& name) const {
  const auto found = options->find(name);
  return found == options->end() ? 0 : found->second;
}

bool has(const Tensors& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found != numbers.end() && found->second;
}

Tensor decayed(const WeightNumbers& n, const Tensor& value, const Tensor& gradient) {
  const Tensor largest = full({}, float_limits(value.dtype()).max, value.dtype());
  return gradient + n["weight_decay"] * clip(value, -largest, largest);
}
void add_left(Tensors& n) {
  if (has(n, "weight_decay")) n["left"] = 1. - n.at("lr") * n.at("weight_decay");
}
Tensor shrunk(const WeightNumbers& n, const Tensor& value) { return value * n["left"]; }

Tensor widened_for(const Tensor& x, DType of_parameter) {
  if (!is_complex(of_parameter)) return astype(x, wide(of_parameter));
  const std::vector<Tensor> parts{real(x), imag(x)};
  return astype(stack(parts, -1), real_wide(of_parameter));
}
Tensor narrowed_for(const Tensor& x, DType of_parameter) {
  if (!is_complex(of_parameter)) return astype(x, of_parameter);
  return astype(make_complex(x[{ellipsis, 0}], x[{ellipsis, 1}]), of_parameter);
}

OptimizerState::OptimizerState() = default;
OptimizerState::OptimizerState(const OptimizerState& other) = default;
OptimizerState::OptimizerState(OptimizerState&& other) noexcept = default;
OptimizerState& OptimizerState::operator=(const OptimizerState& other) = default;
OptimizerState& OptimizerState::operator=(OptimizerState&& other) noexcept = default;
OptimizerState::~OptimizerState() = default;

OptimizerState OptimizerState::init(const OptimizerSettings& settings, const Tensors& parameters) {
  const OptimizerRule& rule = *settings.rule.rule;
  expect_numbers(rule.name, settings.numbers);
  if (parameters.empty()) {
    throw ValueError("{}: the model has no parameters", rule.name)
        .at(Location::of_caller())
        .hint("tensors of floats are parameters, unless they are in an nn::Buffer");
  }
  OptimizerState made;
  made.steps = no_steps();
  made.options = settings.options;
  made.rule = settings.rule;
  for (const NamedNumber& each : settings.numbers) {
    if (each.value.is_zero() && contains(rule.optional, each.name)) continue;
    made.numbers[each.name] = each.value;
  }
  made.lr = made.numbers.extract("lr").mapped();
  const std::vector<std::string> paths = names_of(parameters);
  for (size_t i = 0; i < settings.groups.size(); ++i) {
    made.groups.push_back(group_from(settings, i, paths));
  }
  std::map<int, Settings> all = all_settings(made);
  const auto groups = groups_of(rule.name, made.groups, parameters);
  for (const auto& [path, value] : parameters) {
    if (has_elements(value)) expect_usable(rule, path, value);
    const WeightNumbers& n = all.at(groups.at(path)).in(DType::f64);
    for (const std::string& each : rule.states(n, value)) {
      made.state[each][path] =
          rule.first != nullptr ? rule.first(each, n, value) : zeros_like(value);
    }
  }
  return made;
}

void OptimizerState::expect_within(const std::vector<NamedNumber>& limits) const {
  const auto expect = [](const std::string& what, const TreeNumber& number, const NamedNumber& by) {
    if (number.schedule || !number) return;
    Number(number.value()).expect_within(what + ": " + by.name, by.least, by.below);
  };
  for (const NamedNumber& each : limits) {
    const auto find = [&](const std::string& what, const TreeNumbers& among) {
      const auto found = among.find(each.name);
      if (found != among.end()) expect(what, found->second, each);
    };
    if (each.name == "lr") expect(std::string(name()), lr, each);
    find(std::string(name()), numbers);
    for (size_t i = 0; i < groups.size(); ++i) {
      find(fmt::format("{}: groups[{}]", name(), i), groups[i].numbers);
    }
  }
}

void OptimizerState::follow(Tensors& parameters, const Tensors& gradients) {
  const OptimizerRule& found = *rule.rule;
  std::map<int, Settings> all = all_settings(*this);
  steps = steps + 1;
  for (auto& [index, settings] : all) {
    if (found.at_step != nullptr) found.at_step(settings.numbers, as_f64(steps));
  }
  const auto groups_by_path = groups_of(found.name, groups, parameters);
  for (auto& [path, value] : parameters) {
    if (!has_elements(value)) continue;
    expect_usable(found, path, value);
    const DType dtype = value.dtype();
    const WeightNumbers& n = all.at(groups_by_path.at(path)).in(dtype);
    const OptimizerRule::Names names = found.states(n, value);
    std::vector<Tensor*> kept;
    std::vector<Tensor> states;
    for (const std::string& each : names) {
      kept.push_back(&state_of(*this, each, path, value));
      states.push_back(contains(found.scalar_states, each) ? *kept.back()
                                                           : widened_for(*kept.back(), dtype));
    }
    Tensor gradient = widened_for(gradients.at(path), dtype);
    if (n.is("maximize")) gradient = -gradient;
    const Tensor next = found.formula(n, widened_for(value, dtype), gradient, states);
    for (size_t i = 0; i < names.size(); ++i) {
      *kept[i] =
          contains(found.scalar_states, names[i]) ? states[i] : narrowed_for(states[i], dtype);
    }
    value = narrowed_for(next, dtype);
  }
}

}  // namespace plait::optim

namespace plait::trees {
template void walk(optim::Tensors& tree, TreeVisitor& visitor);
template void walk(std::map<std::string, optim::Tensors>& tree, TreeVisitor& visitor);
template void walk(std::vector<optim::GroupState>& tree, TreeVisitor& visitor);
template void walk(optim::Options& tree, TreeVisitor& visitor);
template void walk(optim::TreeNumber& tree, TreeVisitor& visitor);
template void walk(optim::TreeNumbers& tree, TreeVisitor& visitor);
}  // namespace plait::trees
