#include "plait/optim/number.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/core/trees/tree.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::optim {
namespace {

std::string limits_text(double least, double below) {
  if (least == -kInfinity && below == kInfinity) return "a number";
  if (least == -kInfinity) return fmt::format("a number below {}", below);
  if (below == kInfinity) {
    if (least == kAboveZero) return "a number above 0";
    return fmt::format("a number: {} or more", least);
  }
  if (below == kAboveOne && least == kAboveZero) return "a number above 0, at most 1";
  if (below == kAboveOne) return fmt::format("a number from {} to 1", least);
  return fmt::format("a number from {} to below {}", least, below);
}

// Empty if the value of a tensor is not known: it is recorded or batched.
std::optional<double> known(const Tensor& x) {
  if (!x || x.is_traced() || !x.is_array() || x.rank() != 0) return std::nullopt;
  return x.item<double>();
}

// Another tensor at each place, so that it may be donated apart from the others.
Tensor another(const Tensor& x) { return x * full({}, 1., DType::f64); }

void refuse_shape(std::string_view what, const Tensor& x) {
  throw ValueError("{} is {}, expected one number, of shape []", what, x.type().text())
      .at(Location::of_caller());
}

}  // namespace

size_t ScheduleFormula::hash() const {
  return rule_ != nullptr ? std::hash<Rule>()(rule_) : std::hash<const void*>()(function_.get());
}

Schedule::Schedule(ScheduleFormula::Rule rule, const std::map<std::string, double>& numbers,
                   Options options)
    : options_(std::move(options)), formula_(rule) {
  for (const auto& [name, value] : numbers) numbers_.emplace(name, full({}, value, DType::f64));
}

Schedule Schedule::with(std::string name, std::span<const double> numbers) const {
  Schedule made = *this;
  std::vector<Tensor>& series = made.series_[std::move(name)];
  for (const double value : numbers) series.push_back(full({}, value, DType::f64));
  return made;
}
Schedule Schedule::with(std::string name, const Schedule& schedule) const {
  Schedule made = *this;
  made.parts_.emplace(std::move(name), schedule);
  return made;
}
Schedule Schedule::with(std::string name, std::vector<Schedule> schedules) const {
  Schedule made = *this;
  made.lists_.emplace(std::move(name), std::move(schedules));
  return made;
}

Tensor Schedule::operator()(const Operand& step) const {
  return as_f64(formula_(*this, as_f64(tensor_from(step))));
}

Tensor& Schedule::number(std::string_view path) {
  Tensor* found = nullptr;
  std::vector<std::string> all;
  for_each_leaf(*this, [&](std::string_view each, Tensor& leaf) {
    if (each == path) found = &leaf;
    all.emplace_back(each);
  });
  if (found != nullptr) return *found;
  throw KeyError("optim::Schedule: unknown number {}; the numbers are {}", in_quotes(path),
                 all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", ")))
      .at(Location::of_caller());
}

Number::Number(const TreeNumber& number) : value_(number.value()) {
  if (number.schedule) value_ = *number.schedule;
}

bool Number::is_zero() const {
  const double* const number = std::get_if<double>(&value_);
  return number != nullptr && *number == 0;
}

std::optional<double> Number::given() const {
  const double* const number = std::get_if<double>(&value_);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

Tensor Number::at(const Tensor& step) const {
  if (const double* const number = std::get_if<double>(&value_)) {
    return full({}, *number, DType::f64);
  }
  if (const Tensor* const tensor = std::get_if<Tensor>(&value_)) {
    return another(as_f64(*tensor));
  }
  return (*schedule())(step);
}

void Number::expect_within(std::string_view what, double least, double below) const {
  std::optional<double> number;
  if (const double* const given = std::get_if<double>(&value_)) {
    number = *given;
  } else if (const Tensor* const tensor = std::get_if<Tensor>(&value_)) {
    if (*tensor && tensor->rank() != 0) refuse_shape(what, *tensor);
    number = known(*tensor);
  }
  if (!number || (*number >= least && *number < below)) return;
  throw ValueError("{} is {}, expected {}", what, *number, limits_text(least, below))
      .at(Location::of_caller());
}

TreeNumber& TreeNumber::operator=(const Number& number) {
  const Tensor made = number.at(no_steps());
  if (made.rank() != 0) refuse_shape("optim: the number", made);
  value() = made;
  schedule.reset();
  if (number.schedule() != nullptr) schedule = map_leaves(*number.schedule(), another);
  return *this;
}

Tensor TreeNumber::follow(std::string_view rule, std::string_view name, const Tensor& step) {
  if (schedule) value() = (*schedule)(step);
  if (rank() != 0) refuse_shape(fmt::format("{}: {}", rule, name), *this);
  return as_f64(*this);
}

Tensors follow(std::string_view rule, TreeNumbers& numbers, const Tensor& step) {
  Tensors found;
  for (auto& [name, number] : numbers) found.emplace(name, number.follow(rule, name, step));
  return found;
}

void expect_numbers(std::string_view rule, const std::vector<NamedNumber>& numbers) {
  for (const NamedNumber& each : numbers) {
    each.value.expect_within(fmt::format("{}: {}", rule, each.name), each.least, each.below);
  }
}

Tensor no_steps() { return zeros({}, DType::i64); }
Tensor as_f64(const Tensor& x) { return astype(x, DType::f64); }

}  // namespace plait::optim
