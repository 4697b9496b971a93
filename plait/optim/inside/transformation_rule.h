// Rules of transformations, and what they have in common.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/optim/inside/step_numbers.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

struct TransformationRule : std::enable_shared_from_this<TransformationRule> {
  explicit TransformationRule(std::string rule, std::vector<NamedNumber> given = {})
      : name(std::move(rule)), numbers(std::move(given)) {
    expect_numbers(name, numbers);
  }
  virtual ~TransformationRule() = default;

  virtual State init(const Tensors& parameters) const = 0;
  // Replaces the state by that of the next step.
  virtual Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                         const UpdateOptions& options) const = 0;

  // Puts the numbers and a count of 0 into a state.
  void begin(State& state) const;
  // Sets the numbers that follow schedules, and returns all numbers of the step, as f64[]. `by`
  // names the value that counts the steps.
  Tensors numbers_at(State& state, const std::string& by = "count") const;
  void expect_parameters(const Tensors& parameters) const;  // TypeError if there are none

  std::string name;
  std::vector<NamedNumber> numbers;
};

template <class Rule, class... Arguments>
Transformation transformation_of(Arguments&&... arguments) {
  return Transformation(std::make_shared<const Rule>(std::forward<Arguments>(arguments)...));
}

// A transformation that treats each parameter by itself.
struct PerParameter {
  std::string name;
  std::vector<NamedNumber> numbers = {};
  std::vector<std::string> kept = {};  // names of the state's tensors for each parameter
  bool reads_parameters = false;
  bool counts = false;  // counts steps though no number needs it
  // The first values of what is kept; zeros without it.
  std::function<std::vector<Tensor>(const Tensor& parameter, const StepNumbers& n)> begin = {};
  // Adds numbers of the step, f64[]; t is the number of steps with this one.
  std::function<void(Tensors& n, const Tensor& t, const Tensors& updates)> at = {};
  // Returns the update, and replaces what is kept. All are in the dtype of the computation.
  std::function<Tensor(const StepNumbers& n, const Tensor& update, const Tensor& parameter,
                       std::span<Tensor> kept)>
      one;
};
Transformation per_parameter(PerParameter rule);

// ---- Trees of tensors by path. Values are computed in the dtype of computations.

// The tensor at a path; ValueError if there is none.
const Tensor& at_path(std::string_view rule, std::string_view what, const Tensors& tensors,
                      const std::string& path);
Tensors map_tensors(const Tensors& a, FunctionRef<Tensor(const Tensor&)> f);
Tensors map_tensors(std::string_view rule, const Tensors& a, const Tensors& b,
                    FunctionRef<Tensor(const Tensor&, const Tensor&)> f);
Tensors map_tensors(std::string_view rule, const Tensors& a, const Tensors& b, const Tensors& c,
                    FunctionRef<Tensor(const Tensor&, const Tensor&, const Tensor&)> f);
Tensors zeros_of(const Tensors& tensors);
// Tensors of their own, so that they may be donated apart from those of the model.
Tensors copies_of(const Tensors& tensors);

Tensor squared_norm(const Tensors& tensors);         // Σ |x|²
Tensor dot_of(const Tensors& a, const Tensors& b);   // Σ a·b
Tensor sum_of_all(std::span<const Tensor> numbers);  // 0 if there are none
Tensor are_finite(const Tensors& tensors);           // bool[]
// In the dtypes of the old ones.
Tensors cast_like(const Tensors& now, const Tensors& old);
State cast_like(const State& now, const State& old);
// The new values where the condition is true, else the old ones, in the dtypes of the old ones.
Tensors choose(const Tensor& condition, const Tensors& now, const Tensors& old);
State choose(const Tensor& condition, const State& now, const State& old);

// The updates and the state of a transformation if the condition is true; else `otherwise` and the
// state as it is.
Tensors update_if(const Tensor& condition, const Transformation& inner, const Tensors& updates,
                  State& state, const Tensors& parameters, const UpdateOptions& options,
                  const Tensors& otherwise);
// inner.update, which replaces the state.
Tensors update_of(const Transformation& inner, const Tensors& updates, State& state,
                  const Tensors& parameters, const UpdateOptions& options = {});

Tensor expect_value(std::string_view rule, const UpdateOptions& options);  // the loss as f64
int64_t whole(std::string_view what, int64_t value, int64_t least = 1);  // ValueError if it is less
Tensor as_i64(const Tensor& x);

}  // namespace plait::optim
