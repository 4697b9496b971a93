#include "plait/optim/transformations/transformation.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

struct PerParameterRule final : TransformationRule {
  explicit PerParameterRule(PerParameter given)
      : TransformationRule(given.name, given.numbers), rule(std::move(given)) {}

  bool has_count() const { return rule.counts || !numbers.empty(); }

  State init(const Tensors& parameters) const override {
    State made;
    if (has_count()) begin(made);
    for (const std::string& each : rule.kept) made.kept[each];
    const Tensors numbers_now = follow(name, made.numbers, no_steps());
    for (const auto& [path, value] : parameters) {
      const StepNumbers n(numbers_now, plait::real_dtype(wide(value.dtype())));
      const std::vector<Tensor> begun = rule.begin ? rule.begin(value, n) : std::vector<Tensor>();
      for (size_t i = 0; i < rule.kept.size(); ++i) {
        made.kept[rule.kept[i]][path] = rule.begin ? begun.at(i) : zeros_like(value);
      }
    }
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions&) const override {
    if (rule.reads_parameters) expect_parameters(parameters);
    Tensors exact = has_count() ? numbers_at(state) : Tensors();
    if (rule.at) {
      const Tensor steps = has_count() ? state.values.at("count") : no_steps();
      rule.at(exact, as_f64(steps + 1), updates);
    }
    std::map<DType, StepNumbers> by_dtype;
    Tensors made;
    for (const auto& [path, given] : updates) {
      const DType dtype = wide(given.dtype());
      if (!has_elements(given)) {
        made.emplace(path, given);
        continue;
      }
      const StepNumbers& n =
          by_dtype.try_emplace(dtype, exact, plait::real_dtype(dtype)).first->second;
      std::vector<Tensor*> places;
      std::vector<Tensor> kept;
      for (const std::string& each : rule.kept) {
        places.push_back(
            &const_cast<Tensor&>(at_path(name, "the state's " + each, state.kept.at(each), path)));
        const Tensor& old = *places.back();
        kept.push_back(is_boolean(old.dtype()) ? old : as_wide(old));
      }
      const Tensor parameter =
          rule.reads_parameters
              ? astype(at_path(name, "the tree of parameters", parameters, path), dtype)
              : Tensor();
      made.emplace(path, rule.one(n, astype(given, dtype), parameter, kept));
      for (size_t i = 0; i < kept.size(); ++i) *places[i] = astype(kept[i], places[i]->dtype());
    }
    if (has_count()) state.values["count"] = state.values["count"] + 1;
    return made;
  }

  PerParameter rule;
};

struct FunctionsRule final : TransformationRule {
  using Update = std::function<std::pair<Tensors, State>(const Tensors&, const State&,
                                                         const Tensors&, const UpdateOptions&)>;
  FunctionsRule(std::function<State(const Tensors&)> init_function, Update update_function)
      : TransformationRule("optim::gradient_transformation"),
        on_init(std::move(init_function)),
        on_update(std::move(update_function)) {}
  State init(const Tensors& parameters) const override { return on_init(parameters); }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    auto [made, next] = on_update(updates, state, parameters, options);
    state = std::move(next);
    return made;
  }
  std::function<State(const Tensors&)> on_init;
  Update on_update;
};

void find_numbers(State& state, const std::string& name, std::vector<TreeNumber*>& found) {
  if (const auto own = state.numbers.find(name); own != state.numbers.end()) {
    found.push_back(&own->second);
  }
  for (auto& [part, inner] : state.parts) find_numbers(inner, name, found);
}

// An update may be of a wider dtype than its parameter.
void expect_update(const std::string& path, const Tensor& parameter, const Tensor& update) {
  if (update && update.shape() == parameter.shape() &&
      (is_complex(parameter.dtype()) || !is_complex(update.dtype()))) {
    return;
  }
  throw ValueError("optim::apply_updates: {} is {}, but its update is {}", path,
                   parameter.type().text(), update ? update.type().text() : "an empty tensor")
      .at(Location::of_caller())
      .hint("a transformation returns updates of the shapes of the parameters");
}

Tensor like(const Tensor& now, const Tensor& old) {
  return now && now.dtype() != old.dtype() ? astype(now, old.dtype()) : now;
}
Tensor chosen(const Tensor& condition, const Tensor& now, const Tensor& old) {
  return old ? where(condition, like(now, old), old) : now;
}

}  // namespace

// ---- States

TreeNumber& State::number(std::string_view name) {
  std::vector<TreeNumber*> found;
  find_numbers(*this, std::string(name), found);
  if (found.size() == 1) return *found[0];
  throw KeyError("optim::State: {} numbers are named {}, expected one", found.size(), name)
      .at(Location::of_caller())
      .hint("a part's are state.parts[\"0\"].numbers");
}

const Tensor* State::find_value(std::string_view name) const {
  const auto own = values.find(std::string(name));
  if (own != values.end()) return &own->second;
  for (const auto& [part, inner] : parts) {
    if (const Tensor* const found = inner.find_value(name)) return found;
  }
  return nullptr;
}

void State::expect_within() const {
  if (rule != nullptr) {
    for (const NamedNumber& each : rule->numbers) {
      const auto found = numbers.find(each.name);
      if (found == numbers.end() || found->second.schedule || !found->second) continue;
      Number(found->second.value())
          .expect_within(fmt::format("{}: {}", rule->name, each.name), each.least, each.below);
    }
  }
  for (const auto& [name, part] : parts) part.expect_within();
}

// ---- Rules

void TransformationRule::begin(State& state) const {
  state.rule = weak_from_this().lock();
  state.values["count"] = no_steps();
  for (const NamedNumber& each : numbers) state.numbers[each.name] = each.value;
}

Tensors TransformationRule::numbers_at(State& state, const std::string& by) const {
  return follow(name, state.numbers, state.values.at(by));
}

void TransformationRule::expect_parameters(const Tensors& parameters) const {
  if (!parameters.empty()) return;
  throw TypeError("{}: the parameters are missing", name)
      .at(Location::of_caller())
      .hint("pass them: update(updates, state, parameters)");
}

Transformation per_parameter(PerParameter rule) {
  return transformation_of<PerParameterRule>(std::move(rule));
}

State Transformation::init(const Tensors& parameters) const { return rule_->init(parameters); }

std::pair<Tensors, State> Transformation::update(const Tensors& updates, const State& state,
                                                 const Tensors& parameters,
                                                 const UpdateOptions& options) const {
  State next = state;
  Tensors made = rule_->update(updates, next, parameters, options);
  return {std::move(made), std::move(next)};
}

std::string Transformation::text() const { return rule_->name; }

Transformation gradient_transformation(std::function<State(const Tensors&)> init,
                                       FunctionsRule::Update update) {
  return transformation_of<FunctionsRule>(std::move(init), std::move(update));
}

Transformation stateless(std::function<Tensors(const Tensors&, const Tensors&)> f) {
  return gradient_transformation(
      [](const Tensors&) { return State(); },
      [f = std::move(f)](const Tensors& updates, const State& state, const Tensors& parameters,
                         const UpdateOptions&) {
        return std::pair(f(updates, parameters), state);
      });
}

Transformation stateless_with_tree_map(std::function<Tensor(const Tensor&, const Tensor&)> f) {
  return stateless([f = std::move(f)](const Tensors& updates, const Tensors& parameters) {
    Tensors made;
    for (const auto& [path, update] : updates) {
      const auto found = parameters.find(path);
      made.emplace(path, f(update, found == parameters.end() ? Tensor() : found->second));
    }
    return made;
  });
}

Transformation identity() {
  return stateless([](const Tensors& updates, const Tensors&) { return updates; });
}
Transformation set_to_zero() {
  return stateless([](const Tensors& updates, const Tensors&) { return zeros_of(updates); });
}

// ---- Trees of tensors

const Tensor& at_path(std::string_view rule, std::string_view what, const Tensors& tensors,
                      const std::string& path) {
  const auto found = tensors.find(path);
  if (found != tensors.end()) return found->second;
  throw ValueError("{}: {} has no {}", rule, what, path)
      .at(Location::of_caller())
      .hint("init(parameters) of these parameters makes the state");
}

Tensors map_tensors(const Tensors& a, FunctionRef<Tensor(const Tensor&)> f) {
  Tensors made;
  for (const auto& [path, value] : a) made.emplace(path, f(as_wide(value)));
  return made;
}
Tensors map_tensors(std::string_view rule, const Tensors& a, const Tensors& b,
                    FunctionRef<Tensor(const Tensor&, const Tensor&)> f) {
  Tensors made;
  for (const auto& [path, value] : a) {
    made.emplace(path, f(as_wide(value), as_wide(at_path(rule, "another tree", b, path))));
  }
  return made;
}
Tensors map_tensors(std::string_view rule, const Tensors& a, const Tensors& b, const Tensors& c,
                    FunctionRef<Tensor(const Tensor&, const Tensor&, const Tensor&)> f) {
  Tensors made;
  for (const auto& [path, value] : a) {
    made.emplace(path, f(as_wide(value), as_wide(at_path(rule, "another tree", b, path)),
                         as_wide(at_path(rule, "another tree", c, path))));
  }
  return made;
}

Tensors zeros_of(const Tensors& tensors) {
  Tensors made;
  for (const auto& [path, value] : tensors) made.emplace(path, zeros_like(value));
  return made;
}

Tensors copies_of(const Tensors& tensors) {
  Tensors made;
  for (const auto& [path, value] : tensors) made.emplace(path, value * ones_like(value));
  return made;
}

Tensor sum_of_all(std::span<const Tensor> numbers) {
  if (numbers.empty()) return zeros({});
  Tensor total = numbers[0];
  for (const Tensor& each : numbers.subspan(1)) total = total + each;
  return total;
}

Tensor squared_norm(const Tensors& tensors) {
  std::vector<Tensor> parts;
  for (const auto& [path, value] : tensors) parts.push_back(sum_of_squares(as_wide(value)));
  return sum_of_all(parts);
}

Tensor dot_of(const Tensors& a, const Tensors& b) {
  std::vector<Tensor> parts;
  for (const auto& [path, value] : a) {
    parts.push_back(sum(as_wide(value) * as_wide(at_path("optim", "another tree", b, path))));
  }
  return sum_of_all(parts);
}

Tensor are_finite(const Tensors& tensors) {
  std::vector<Tensor> found;
  for (const auto& [path, value] : tensors) found.push_back(all(isfinite(value)));
  return found.empty() ? full({}, true) : all(stack(found));
}

Tensors cast_like(const Tensors& now, const Tensors& old) { return map_leaves(like, now, old); }
State cast_like(const State& now, const State& old) { return map_leaves(like, now, old); }
Tensors choose(const Tensor& condition, const Tensors& now, const Tensors& old) {
  return map_leaves([&](const Tensor& a, const Tensor& b) { return chosen(condition, a, b); }, now,
                    old);
}
State choose(const Tensor& condition, const State& now, const State& old) {
  return map_leaves([&](const Tensor& a, const Tensor& b) { return chosen(condition, a, b); }, now,
                    old);
}

Tensors update_of(const Transformation& inner, const Tensors& updates, State& state,
                  const Tensors& parameters, const UpdateOptions& options) {
  return inner.rule().update(updates, state, parameters, options);
}

Tensors update_if(const Tensor& condition, const Transformation& inner, const Tensors& updates,
                  State& state, const Tensors& parameters, const UpdateOptions& options,
                  const Tensors& otherwise) {
  using Result = std::pair<Tensors, State>;
  const auto same = [](const Tensor& x) { return x; };
  const auto run = [&]() -> Result {
    State next = state;
    const Tensors made = update_of(inner, updates, next, parameters, options);
    return {map_tensors(made, same), cast_like(next, state)};
  };
  const auto skip = [&]() -> Result { return {map_tensors(otherwise, same), state}; };
  auto [made, next] = cond(condition, run, skip);
  state = std::move(next);
  return made;
}

Tensor expect_value(std::string_view rule, const UpdateOptions& options) {
  if (options.value) return as_f64(options.value);
  throw TypeError("{}: the loss is missing", rule)
      .at(Location::of_caller())
      .hint("optimizer.update(model, gradients, {.value = loss})");
}

int64_t whole(std::string_view what, int64_t value, int64_t least) {
  if (value >= least) return value;
  throw ValueError("{} is {}, expected {} or more", what, value, least).at(Location::of_caller());
}

Tensor as_i64(const Tensor& x) { return astype(x, DType::i64); }

// ---- What applies updates

Tensors apply_updates(const Tensors& parameters, const Tensors& updates) {
  Tensors made;
  for (const auto& [path, value] : parameters) {
    const Tensor& update = at_path("optim::apply_updates", "the tree of updates", updates, path);
    expect_update(path, value, update);
    const DType dtype = wide(value.dtype());
    made.emplace(path, astype(astype(value, dtype) + astype(update, dtype), value.dtype()));
  }
  return made;
}

Tensor global_norm(const Tensors& updates) { return sqrt(squared_norm(updates)); }

Tensors incremental_update(const Tensors& now, const Tensors& old, const Operand& step_size) {
  return map_tensors("optim::incremental_update", now, old, [&](const Tensor& a, const Tensor& b) {
    const Tensor part = step_size.as(plait::real_dtype(a.dtype()));
    return part * a + (1. - part) * b;
  });
}

Tensors periodic_update(const Tensors& now, const Tensors& old, const Tensor& steps,
                        int64_t update_period) {
  const Tensor is_due =
      remainder(steps, whole("optim::periodic_update: update_period", update_period)) == 0;
  return map_tensors("optim::periodic_update", now, old,
                     [&](const Tensor& a, const Tensor& b) { return where(is_due, a, b); });
}

TransformedState TransformedState::init(const Transformation& transformation,
                                        const Tensors& parameters) {
  if (parameters.empty()) {
    throw ValueError("optim::Optimizer: the model has no parameters")
        .at(Location::of_caller())
        .hint("tensors of floats are parameters, unless they are in an nn::Buffer");
  }
  return {.transformation = transformation,
          .state = transformation.init(parameters),
          .steps = no_steps()};
}

Tensor TransformedState::loss_scale() const {
  const Tensor* const found = state.find_value("loss_scale");
  return found != nullptr ? *found : ones({});
}

void TransformedState::follow(Tensors& parameters, const Tensors& gradients,
                              const UpdateOptions& options) {
  state.expect_within();
  auto [updates, next] = transformation.update(gradients, state, parameters, options);
  state = std::move(next);
  steps = steps + 1;
  parameters = apply_updates(parameters, updates);
}

}  // namespace plait::optim
