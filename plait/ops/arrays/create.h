// Creation of tensors.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plait/ops/call.h"
#include "plait/ops/operand.h"

namespace plait {

Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, const Scalar& value);  // the dtype is the default of the kind of
                                                       // number
Tensor full(const Shape& shape, const Scalar& value, DType dtype);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, const Scalar& value);
// A tensor whose values do not matter. They are zeros, so that a program is deterministic.
Tensor empty(const Shape& shape, DType dtype = DType::f32);
Tensor empty_like(const Tensor& x);
Tensor iota(Dim size, DType dtype = DType::i64);  // 0, 1, 2, …
// start, start + step, … up to but excluding stop. The dtype is i64 for integers, else f32.
Tensor arange(const Scalar& stop);
Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1);
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::f32);
// `count` numbers in geometric progression: logspace from base^start to base^stop, geomspace from
// start to stop.
Tensor logspace(double start, double stop, int64_t count, double base = 10,
                DType dtype = DType::f32);
Tensor geomspace(double start, double stop, int64_t count, DType dtype = DType::f32);
Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = DType::f32);  // -1: columns = rows

// Converts a number to a tensor without dimensions and leaves a tensor as it is. With a dtype, also
// converts to that.
Tensor asarray(const Operand& x, std::optional<DType> dtype = {});

// Copies host data in row-major order.
template <class T>
Tensor tensor(std::span<const T> values, const Sizes& sizes) {
  const Call call("tensor");
  return Tensor(Array::of(values, sizes));
}
template <class T>
Tensor tensor(const std::vector<T>& values, const Sizes& sizes) {
  return tensor(std::span<const T>(values), sizes);
}
template <class T>
Tensor tensor(std::initializer_list<T> values) {
  return tensor(std::span<const T>(values.begin(), values.size()),
                {static_cast<int64_t>(values.size())});
}

void register_create_ops();

}  // namespace plait
