// Tensors out of nothing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plait/ops/call.h"
#include "plait/ops/operand.h"

namespace plait {

Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, const Scalar& value);  // of the default dtype of its kind
Tensor full(const Shape& shape, const Scalar& value, DType dtype);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, const Scalar& value);
// Whatever numbers: here zeros, so that a program gives the same on every run.
Tensor empty(const Shape& shape, DType dtype = DType::f32);
Tensor empty_like(const Tensor& x);
Tensor iota(Dim size, DType dtype = DType::i64);  // 0, 1, 2, …
// start, start + step, … before stop; whole numbers give i64, others f32.
Tensor arange(const Scalar& stop);
Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1);
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::f32);
// `count` numbers whose logarithms to a base, or whose quotients, are equal steps apart.
Tensor logspace(double start, double stop, int64_t count, double base = 10,
                DType dtype = DType::f32);
Tensor geomspace(double start, double stop, int64_t count, DType dtype = DType::f32);
Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = DType::f32);  // -1: as many

// A tensor itself, a number as one without dimensions; in the dtype where one is given.
Tensor asarray(const Operand& x, std::optional<DType> dtype = {});

// From the numbers of the host, in row-major order.
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
