// What the functions users call take: a tensor, or a number that takes its dtype from the others.
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
  Tensor as(DType dtype) const;  // in that dtype
  RowOperand row() const { return {tensor_, &scalar_}; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_ = 0;
};

// The tensor, or the number as one of the dtype that such numbers have.
Tensor tensor_from(const Operand& x);
// A number that is no symbolic size, as f64; of a complex one the real part.
double number_of(const Scalar& scalar);

// The dtype that holds all of them (core/numbers/promotion.h).
DType common_dtype(std::initializer_list<const Operand*> operands);
DType common_dtype(const Operand& a, const Operand& b);
// f32 for integers and bool, since the function has no values there; an inexact dtype itself.
DType inexact(DType dtype);
// What sums of such numbers are computed in: f32 for narrower ones.
DType computed(DType dtype);

// The shape that all stretch to. ShapeError that names the function and all shapes.
Shape common_shape(std::string_view function, std::span<const Tensor> tensors);
Shape common_shape(std::string_view function, const Shape& a, const Shape& b);
// Whether both are concrete or both traced, with the same sizes: told without making shapes.
bool are_alike(const Tensor& a, const Tensor& b);
// All of the same shape.
std::vector<Tensor> broadcast_together(std::string_view function, std::vector<Tensor> tensors);

}  // namespace plait
