// Operands of public functions: a tensor, or a number that takes its dtype from the other operands.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "plait/tensor/apply.h"

namespace plait {

class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}  // NOLINT: a view for one call
  Operand(const Scalar& scalar) : scalar_(scalar) {}   // NOLINT
  template <class T>
    requires std::integral<T> || std::floating_point<T> || std::same_as<T, std::complex<double>>
  Operand(T number) : scalar_(number) {}  // NOLINT
  Operand(Dim size) : scalar_(size) {}    // NOLINT

  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& scalar() const { return scalar_; }
  Tensor as(DType dtype) const;  // converted to that dtype
  RowOperand row() const { return {tensor_, &scalar_}; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_ = 0;
};

// Returns the tensor, or the number as a tensor of its default dtype.
Tensor tensor_from(const Operand& x);
// Returns a number that is not a symbolic size, as f64; for a complex number the real part.
double number_of(const Scalar& scalar);

// The promoted dtype of all (core/numbers/promotion.h).
DType common_dtype(std::initializer_list<const Operand*> operands);
DType common_dtype(const Operand& a, const Operand& b);
// The dtype itself if it is inexact, else f32: for functions whose results are not integers in
// general.
DType inexact(DType dtype);
// The dtype for accumulation: f32 for narrower floats.
DType computed(DType dtype);

// The shape that all broadcast to. Throws ShapeError, which names the function and all shapes.
Shape common_shape(std::string_view function, std::span<const Tensor> tensors);
Shape common_shape(std::string_view function, const Shape& a, const Shape& b);
// True if both are concrete or both traced, with equal sizes. Does not construct shapes.
bool have_same_type(const Tensor& a, const Tensor& b);
// Broadcasts all to the same shape.
std::vector<Tensor> broadcast_together(std::string_view function, std::vector<Tensor> tensors);

}  // namespace plait
