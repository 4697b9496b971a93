// Optimizers with PyTorch's formulas: numbers, groups of parameters, and states by path.
//
//   optim::AdamW optimizer(model, {.lr = 3e-4, .groups = {{{"*.bias"}, {{"weight_decay", 0}}}}});
//   optimizer.lr = 1e-4;                  // or a tensor, or a schedule
//   optimizer.numbers["beta1"] = 0.8;
//   std::tie(model, optimizer) = optimizer.update(model, gradients);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/trees/reflect.h"
#include "plait/optim/number.h"
#include "plait/optim/update.h"

namespace plait::optim {

// Parameters whose paths match one of the patterns, and the numbers and options in which they
// differ from the others.
struct Group {
  std::vector<std::string> params;  // * stands for any text, ? for any character
  std::map<std::string, Number> numbers = {};
  std::map<std::string, bool> options = {};
};

struct OptimizerRule;  // inside/optimizer_rule.h

// Which formula an optimizer has.
struct RuleReference {
  // NOLINTNEXTLINE(google-explicit-constructor): is one
  RuleReference(const OptimizerRule* which = nullptr) : rule(which) {}
  const OptimizerRule* rule;
  std::string text() const;
  friend bool operator==(RuleReference, RuleReference) = default;
};

// Settings that make an optimizer; the first number is the rate.
struct OptimizerSettings {
  RuleReference rule;
  std::vector<NamedNumber> numbers;
  Options options;
  std::vector<Group> groups;
};

// A group in the tree of an optimizer: its own numbers and options.
struct GroupState {
  std::vector<std::string> params;
  TreeNumbers numbers;
  Options options;
};

// All of an optimizer. `update` is in OptimizerOf.
struct OptimizerState {
  TreeNumber lr;
  Tensor steps;                          // i64[]: steps so far
  TreeNumbers numbers;                   // the other numbers; without a momentum that is 0
  std::map<std::string, Tensors> state;  // by PyTorch's names, for each parameter
  std::vector<GroupState> groups;
  Options options;
  RuleReference rule;

  // Compiled once, as they copy maps.
  OptimizerState();
  OptimizerState(const OptimizerState& other);
  OptimizerState(OptimizerState&& other) noexcept;
  OptimizerState& operator=(const OptimizerState& other);
  OptimizerState& operator=(OptimizerState&& other) noexcept;
  ~OptimizerState();
  static constexpr auto fields() {
    return plait::fields<OptimizerState>("lr", &OptimizerState::lr, "steps", &OptimizerState::steps,
                                         "numbers", &OptimizerState::numbers, "state",
                                         &OptimizerState::state, "groups", &OptimizerState::groups,
                                         "options", &OptimizerState::options, "rule",
                                         &OptimizerState::rule);
  }

  // The optimizer before the first step. ValueError for numbers out of their limits, and for groups
  // that match nothing.
  static OptimizerState init(const OptimizerSettings& settings, const Tensors& parameters);
  std::string_view name() const;
  // ValueError for a number that was assigned, and is out of its limits.
  void expect_within(const std::vector<NamedNumber>& limits) const;
  // One step, in place.
  void follow(Tensors& parameters, const Tensors& gradients);
};

// An optimizer of a model, with the options of a class: AdamW<Model> is OptimizerOf<Model,
// AdamWOptions>. settings_of(options) says which rule it has.
template <class Model, class ClassOptions>
struct OptimizerOf : OptimizerState {
  explicit OptimizerOf(const Model& model, const ClassOptions& options = {})
      : OptimizerState(OptimizerState::init(settings_of(options), parameters_of(model))) {}
  static constexpr auto fields() {
    return plait::fields<OptimizerOf>(fields_of_base<OptimizerState>());
  }

  // Returns the model and the optimizer of the next step.
  [[nodiscard]] std::pair<Model, OptimizerOf> update(Model model, const Model& gradients) const {
    static const OptimizerSettings settings = settings_of(ClassOptions());
    expect_within(settings.numbers);
    OptimizerOf next = *this;
    Tensors parameters = parameters_of(model);
    next.follow(parameters, gradients_of(name(), model, gradients));
    assign_parameters(model_leaves(model), parameters);
    return {std::move(model), std::move(next)};
  }
};

}  // namespace plait::optim

// The parts of an optimizer are traversed by functions that are compiled once.
namespace plait::trees {
extern template void walk(optim::Tensors& tree, TreeVisitor& visitor);
extern template void walk(std::map<std::string, optim::Tensors>& tree, TreeVisitor& visitor);
extern template void walk(std::vector<optim::GroupState>& tree, TreeVisitor& visitor);
extern template void walk(optim::Options& tree, TreeVisitor& visitor);
extern template void walk(optim::TreeNumber& tree, TreeVisitor& visitor);
extern template void walk(optim::TreeNumbers& tree, TreeVisitor& visitor);
}  // namespace plait::trees

template <>
struct std::hash<plait::optim::RuleReference> {
  size_t operator()(plait::optim::RuleReference reference) const {
    return std::hash<const void*>()(reference.rule);
  }
};
