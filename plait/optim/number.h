// The numbers of optimizers: rates, betas, decays. Each is a tensor in the optimizer's tree, so
// that it is saved, and changed without a new record; or it is a function of the step.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "plait/ops/operand.h"
#include "plait/tensor/tensor.h"

namespace plait::optim {

// Tensors by name: numbers, or the parameters of a model by path.
using Tensors = std::map<std::string, Tensor>;

// A function of the number of steps so far, which is f64; its values are f64, too:
//
//   optim::AdamW optimizer(model, {.lr = optim::cosine_decay_schedule(1e-3, 1000)});
//
// It is static in a tree: two schedules are equal if one is a copy of the other.
class Schedule {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Schedule> &&
             std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
  Schedule(F function)  // NOLINT(google-explicit-constructor): any function of the step is one
      : function_(
            std::make_shared<const std::function<Tensor(const Tensor&)>>(std::move(function))) {}

  // The value at a step, or at each of several.
  Tensor operator()(const Operand& step) const;

  const void* identity() const { return function_.get(); }
  std::string text() const { return "a schedule"; }
  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  std::shared_ptr<const std::function<Tensor(const Tensor&)>> function_;
};

// A number as users give it: a number, a tensor, or a schedule.
class Number {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Number(T value) : value_(static_cast<double>(value)) {}  // NOLINT(google-explicit-constructor)
  Number(Tensor value) : value_(std::move(value)) {}       // NOLINT(google-explicit-constructor)
  template <class F>
    requires std::constructible_from<Schedule, F>
  Number(F schedule)  // NOLINT(google-explicit-constructor)
      : value_(Schedule(std::move(schedule))) {}

  const Schedule* schedule() const { return std::get_if<Schedule>(&value_); }
  bool is_zero() const;                 // true if it is the number 0, not a tensor
  Tensor at(const Tensor& step) const;  // f64[]
  // ValueError, which begins with `what`, if a known number is not in [least, below).
  void expect_within(std::string_view what, double least, double below) const;

 private:
  std::variant<double, Tensor, Schedule> value_;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kAboveOne = 1 + std::numeric_limits<double>::epsilon();
inline constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();

// A number of a rule, with its limits: [least, below).
struct NamedNumber {
  std::string name;
  Number value;
  double least = 0, below = kInfinity;
};
inline NamedNumber any_number(std::string name, Number value) {
  return {std::move(name), std::move(value), -kInfinity, kInfinity};
}
inline NamedNumber positive(std::string name, Number value) {  // 0 or more
  return {std::move(name), std::move(value)};
}
inline NamedNumber decay_number(std::string name, Number value) {  // from 0 to below 1
  return {std::move(name), std::move(value), 0, 1};
}
// ValueError that names the rule and the number which is out of its limits.
void expect_numbers(std::string_view rule, const std::vector<NamedNumber>& numbers);

Tensor no_steps();  // 0 as i64[]
Tensor as_f64(const Tensor& x);

}  // namespace plait::optim

template <>
struct std::hash<plait::optim::Schedule> {
  size_t operator()(const plait::optim::Schedule& schedule) const {
    return std::hash<const void*>()(schedule.identity());
  }
};
