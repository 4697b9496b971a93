// The rule of an optimizer: what it keeps for each parameter, and its formula.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/optim/inside/step_numbers.h"
#include "plait/optim/optimizers/optimizer_state.h"

namespace plait::optim {

// The numbers of a step in the dtype of a parameter, and the options.
struct WeightNumbers : StepNumbers {
  WeightNumbers(const Tensors& exact, const Options& given, DType parameter);
  bool is(const std::string& name) const { return option(name) != 0; }
  int64_t option(const std::string& name) const;
  const Options* options;
  DType dtype;  // dtype of the parameter
};

// A formula gets a parameter in the dtype of the computation, f32 or f64; a complex one as pairs of
// real numbers along a new last axis.
struct OptimizerRule {
  using Names = std::vector<std::string>;

  std::string_view name;
  // Numbers that are absent, without a state, if they are 0 when the optimizer is made.
  Names optional = {};
  Names scalar_states = {};  // f64[] for each parameter
  bool is_real = false;      // complex parameters are refused
  Names (*states)(const WeightNumbers& n, const Tensor& parameter);
  // The first value of a state; zeros without it.
  Tensor (*first)(const std::string& state, const WeightNumbers& n,
                  const Tensor& parameter) = nullptr;
  // Adds numbers that are the same for all parameters; `steps` is f64[], and counts this one.
  void (*at_step)(Tensors& n, const Tensor& steps) = nullptr;
  // Returns the next value, and replaces the states by the next ones.
  Tensor (*formula)(const WeightNumbers& n, const Tensor& value, const Tensor& gradient,
                    std::span<Tensor> states);
  void (*expect)(const std::string& path, const Tensor& parameter) = nullptr;  // further checks
};

bool has(const Tensors& numbers, const std::string& name);

// The gradient with weight_decay times the parameter added to it. A parameter that is infinite
// counts as the largest number, so that without decay it stays as it is.
Tensor decayed(const WeightNumbers& n, const Tensor& value, const Tensor& gradient);
// The parameter after decoupled weight decay; at_step calls add_left.
void add_left(Tensors& n);
Tensor shrunk(const WeightNumbers& n, const Tensor& value);

// Conversions of a parameter, or of a state like it, to what formulas get, and back.
Tensor widened_for(const Tensor& x, DType of_parameter);
Tensor narrowed_for(const Tensor& x, DType of_parameter);

}  // namespace plait::optim
