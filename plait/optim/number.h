// The numbers of optimizers: rates, betas, decays. Each is a tensor in the optimizer's tree, so
// that it is saved, and changed without a new record; or it is a function of the step.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "plait/core/trees/reflect.h"
#include "plait/ops/operand.h"
#include "plait/tensor/tensor.h"

namespace plait::optim {

// Tensors by name: numbers, or the parameters of a model by path.
using Tensors = std::map<std::string, Tensor>;
using Options = std::map<std::string, int64_t>;  // by name: flags, and counts

class Schedule;

// Static in a tree: the formula of a schedule, or a function of a user, which is equal to its
// copies only.
class ScheduleFormula {
 public:
  using Rule = Tensor (*)(const Schedule& schedule, const Tensor& step);
  using Function = std::function<Tensor(const Tensor&)>;

  explicit ScheduleFormula(Rule rule) : rule_(rule) {}
  explicit ScheduleFormula(Function function)
      : function_(std::make_shared<const Function>(std::move(function))) {}
  Tensor operator()(const Schedule& schedule, const Tensor& step) const {
    return rule_ != nullptr ? rule_(schedule, step) : (*function_)(step);
  }

  size_t hash() const;
  std::string text() const { return "a schedule"; }
  friend bool operator==(const ScheduleFormula&, const ScheduleFormula&) = default;

 private:
  Rule rule_ = nullptr;
  std::shared_ptr<const Function> function_;
};

// A function of the number of steps so far, which is f64; its values are f64, too:
//
//   optim::AdamW optimizer(model, {.lr = optim::cosine_decay_schedule(1e-3, 1000)});
//   optimizer.lr.schedule->number("decay_steps") = full({}, 2000, DType::f64);
//
// Its numbers are tensors in its tree. A function of a user has none.
class Schedule {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Schedule> &&
             std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
  Schedule(F function)  // NOLINT(google-explicit-constructor): any function of the step is one
      : Schedule(from(std::move(function))) {}
  // A formula and its numbers.
  Schedule(ScheduleFormula::Rule rule, const std::map<std::string, double>& numbers,
           Options options = {});
  // The same with further numbers, or with schedules that it calls.
  Schedule with(std::string name, std::span<const double> numbers) const;
  Schedule with(std::string name, const Schedule& schedule) const;
  Schedule with(std::string name, std::vector<Schedule> schedules) const;

  static constexpr auto fields() {
    return plait::fields<Schedule>("", &Schedule::numbers_, "", &Schedule::series_, "",
                                   &Schedule::parts_, "", &Schedule::lists_, "options",
                                   &Schedule::options_, "formula", &Schedule::formula_);
  }

  // The value at a step, or at each of several.
  Tensor operator()(const Operand& step) const;

  // The number at this path in the tree: "gamma", "schedules.0.init_value". KeyError if there is
  // none.
  Tensor& number(std::string_view path);

  // For formulas.
  const Tensor& operator[](const std::string& name) const { return numbers_.at(name); }
  bool has(const std::string& name) const {
    return numbers_.contains(name) || parts_.contains(name);
  }
  int64_t option(const std::string& name) const { return options_.at(name); }
  const Schedule& part(const std::string& name) const { return parts_.at(name); }
  const std::vector<Tensor>& numbers(const std::string& name) const { return series_.at(name); }
  const std::vector<Schedule>& parts(const std::string& name) const { return lists_.at(name); }

 private:
  explicit Schedule(ScheduleFormula::Function function) : formula_(std::move(function)) {}
  // A struct of a schedule's numbers says by schedule() which one it is.
  template <class F>
  static Schedule from(F function) {
    if constexpr (requires {
                    { function.schedule() } -> std::same_as<Schedule>;
                  }) {
      return function.schedule();
    } else {
      return Schedule(ScheduleFormula::Function(std::move(function)));
    }
  }

  Tensors numbers_;  // f64[]
  std::map<std::string, std::vector<Tensor>> series_;
  std::map<std::string, Schedule> parts_;
  std::map<std::string, std::vector<Schedule>> lists_;
  Options options_;
  ScheduleFormula formula_;
};

struct TreeNumber;

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
  Number(const TreeNumber& number);  // NOLINT(google-explicit-constructor): with its schedule

  const Schedule* schedule() const { return std::get_if<Schedule>(&value_); }
  bool is_zero() const;                 // true if it is the number 0, not a tensor
  std::optional<double> given() const;  // empty if it is a tensor or a schedule
  Tensor at(const Tensor& step) const;  // f64[]
  // ValueError, which begins with `what`, if a tensor is not f64[] or another scalar, or a known
  // number is not in [least, below).
  void expect_within(std::string_view what, double least, double below) const;

 private:
  std::variant<double, Tensor, Schedule> value_;
};

// A number in the tree of an optimizer, f64[]. One that follows a schedule is set at each step;
// assigned to, it is what was assigned:
//
//   optimizer.lr = 1e-4;  // or a tensor, or another schedule
struct TreeNumber : Tensor {  // NOLINT(cppcoreguidelines-slicing): value() is the tensor
  std::optional<Schedule> schedule = {};

  TreeNumber() = default;
  explicit TreeNumber(const Number& number) { *this = number; }
  TreeNumber& operator=(const Number& number);
  static constexpr auto fields() {
    return plait::fields<TreeNumber>(
        "", [](auto& number) -> auto& { return number.value(); }, "", &TreeNumber::schedule);
  }
  Tensor& value() { return *this; }
  const Tensor& value() const { return *this; }
  // Sets it to its value at a step, and returns that. ValueError that names the rule and the number
  // if it is not a scalar.
  Tensor follow(std::string_view rule, std::string_view name, const Tensor& step);
};
using TreeNumbers = std::map<std::string, TreeNumber>;
// The same for all of them.
Tensors follow(std::string_view rule, TreeNumbers& numbers, const Tensor& step);

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
struct std::hash<plait::optim::ScheduleFormula> {
  size_t operator()(const plait::optim::ScheduleFormula& formula) const { return formula.hash(); }
};
