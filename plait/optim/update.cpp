#include "plait/optim/update.h"

#include "plait/core/error.h"
#include "plait/core/location.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/operand.h"

namespace plait::optim {

bool is_trained(const Tensor& value) {
  return value && value.is_array() && is_inexact(value.dtype());
}

Tensor zeros_if_trained(const Tensor& value) {
  return is_trained(value) ? zeros_like(value) : value;
}

Parameter::Parameter(const Tensor& value, const Tensor& gradient)
    : dtype_(value.dtype()),
      value_(astype(value, computed(dtype_))),
      gradient_(astype(gradient, computed(dtype_))) {}

Tensor Parameter::of(const Tensor& other) const { return astype(other, value_.dtype()); }
Tensor Parameter::kept(const Tensor& value) const { return astype(value, dtype_); }

Tensor rate_of(std::string_view optimizer, double rate) {
  expect_option(optimizer, "lr", rate);
  return full({}, rate, DType::f64);
}

void expect_option(std::string_view optimizer, std::string_view name, double value, double limit) {
  if (value >= 0 && value < limit) return;
  throw ValueError("{}: {} is {}, expected a number from 0 to below {}", optimizer, name, value,
                   limit)
      .at(Location::of_caller());
}

Tensor no_steps() { return zeros({}, DType::i64); }
Tensor one_more(const Tensor& steps) { return steps + 1; }

void expect_structure(std::string_view optimizer, std::string_view what, const TreeKey& model,
                      const TreeKey& other) {
  if (model == other) return;
  throw ValueError("{}: the model and {} are different trees: {}", optimizer, what,
                   explain_difference(model, other))
      .at(Location::of_caller())
      .hint(
          "an optimizer belongs to the model that it was created for, and takes the gradients of "
          "value_and_grad by that model");
}

void expect_shapes(std::string_view optimizer, std::string_view what, std::span<const Tensor> model,
                   std::span<const Tensor> others, Paths paths) {
  for (size_t i = 0; i < model.size(); ++i) {
    if (!is_trained(model[i])) continue;
    if (!others[i]) {
      throw ValueError("{}: {} of {} is an empty tensor", optimizer, what, paths()[i])
          .at(Location::of_caller());
    }
    if (model[i].shape() == others[i].shape()) continue;
    throw ShapeError("{}: {} is {}, but {} of it is {}", optimizer, paths()[i],
                     model[i].type().text(), what, others[i].type().text())
        .at(Location::of_caller());
  }
}

}  // namespace plait::optim
