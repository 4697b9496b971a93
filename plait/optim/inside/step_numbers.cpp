#include "plait/optim/inside/step_numbers.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait::optim {

DType wide(DType dtype) { return dtype == DType::f64 || is_complex(dtype) ? dtype : DType::f32; }
Tensor as_wide(const Tensor& x) { return astype(x, wide(x.dtype())); }
Tensor squared(const Tensor& x) { return is_complex(x.dtype()) ? square(absolute(x)) : square(x); }
Tensor filled(const Tensor& parameter, const Tensor& value) {
  return zeros_like(parameter) + astype(value, parameter.dtype());
}
Tensor f64_of(double value) { return full({}, value, DType::f64); }

bool StepNumbers::has(std::string_view name) const {
  const auto found = exact_->find(std::string(name));
  return found != exact_->end() && found->second;
}

const Tensor& StepNumbers::exact(std::string_view name) const {
  const auto found = exact_->find(std::string(name));
  if (found != exact_->end() && found->second) return found->second;
  throw ValueError("optim: the number {} is missing", name).at(Location::of_caller());
}

const Tensor& StepNumbers::operator[](std::string_view name) const {
  const auto [place, is_new] = cast_.try_emplace(std::string(name));
  if (is_new) place->second = astype(exact(name), dtype_);
  return place->second;
}

const Tensor& StepNumbers::rest(std::string_view name) const {
  const auto [place, is_new] = cast_.try_emplace("one minus " + std::string(name));
  if (is_new) place->second = astype(1. - exact(name), dtype_);
  return place->second;
}

Tensor StepNumbers::mix(std::string_view name, const Tensor& old, const Tensor& now) const {
  return (*this)[name] * old + rest(name) * now;
}

}  // namespace plait::optim
