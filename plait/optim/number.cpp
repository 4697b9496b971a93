#include "plait/optim/number.h"

#include <fmt/format.h>

#include "plait/core/error.h"
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
  if (below == kAboveOne) return fmt::format("a number from {} to 1", least);
  return fmt::format("a number from {} to below {}", least, below);
}

// Empty if the value of a tensor is not known: it is recorded or batched.
std::optional<double> known(const Tensor& x) {
  if (!x || x.is_traced() || !x.is_array() || x.rank() != 0) return std::nullopt;
  return x.item<double>();
}

}  // namespace

Tensor Schedule::operator()(const Operand& step) const {
  return as_f64((*function_)(as_f64(tensor_from(step))));
}

bool Number::is_zero() const {
  const double* const number = std::get_if<double>(&value_);
  return number != nullptr && *number == 0;
}

Tensor Number::at(const Tensor& step) const {
  if (const double* const number = std::get_if<double>(&value_)) {
    return full({}, *number, DType::f64);
  }
  if (const Tensor* const tensor = std::get_if<Tensor>(&value_)) {
    return as_f64(*tensor) * full({}, 1., DType::f64);  // another tensor at each place
  }
  return (*schedule())(step);
}

void Number::expect_within(std::string_view what, double least, double below) const {
  std::optional<double> number;
  if (const double* const given = std::get_if<double>(&value_)) {
    number = *given;
  } else if (const Tensor* const tensor = std::get_if<Tensor>(&value_)) {
    number = known(*tensor);
  }
  if (!number || (*number >= least && *number < below)) return;
  throw ValueError("{} is {}, expected {}", what, *number, limits_text(least, below))
      .at(Location::of_caller());
}

void expect_numbers(std::string_view rule, const std::vector<NamedNumber>& numbers) {
  for (const NamedNumber& each : numbers) {
    each.value.expect_within(fmt::format("{}: {}", rule, each.name), each.least, each.below);
  }
}

Tensor no_steps() { return zeros({}, DType::i64); }
Tensor as_f64(const Tensor& x) { return astype(x, DType::f64); }

}  // namespace plait::optim
