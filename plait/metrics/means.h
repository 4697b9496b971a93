// Metrics that are sums, and errors of numbers. Sums are in f64.
#pragma once

#include <cstdint>

#include "plait/ops/arrays/create.h"
#include "plait/ops/collectives/collective.h"
#include "plait/tensor/tensor.h"

namespace plait::metrics {

// The weight of each element, and which count.
struct Counting {
  Tensor weights = {};  // 1 by default
  Tensor mask = {};     // false for elements that do not count; it may lack the last axes
};

// A weighted sum of numbers, and the sum of the weights.
struct Totals {
  Buffers<Tensor> total = zeros({}, DType::f64);
  Buffers<Tensor> count = zeros({}, DType::f64);

  Totals plus(const Tensor& values, const Counting& counting) const;
  Tensor mean() const;  // NaN of no numbers
};

// The mean of numbers, such as losses.
struct Mean {
  Totals sums;

  Mean update(const Tensor& values, const Counting& counting = {}) const;
  Mean merge(const Mean& other) const;
  Mean all_reduce(const AxisNames& names) const;  // over the data of all samples along named axes
  Mean reset() const;
  Tensor compute() const;  // f64; NaN of no numbers
};

// The sum of numbers.
struct Sum {
  Totals sums;

  Sum update(const Tensor& values, const Counting& counting = {}) const;
  Sum merge(const Sum& other) const;
  Sum all_reduce(const AxisNames& names) const;
  Sum reset() const;
  Tensor compute() const;
};

// The mean squared error, or its root.
struct MSE {
  bool squared = true;
  Totals sums;

  MSE update(const Tensor& predictions, const Tensor& targets, const Counting& counting = {}) const;
  MSE merge(const MSE& other) const;
  MSE all_reduce(const AxisNames& names) const;
  MSE reset() const;
  Tensor compute() const;  // NaN of no data
};

// The mean absolute error.
struct MAE {
  Totals sums;

  MAE update(const Tensor& predictions, const Tensor& targets, const Counting& counting = {}) const;
  MAE merge(const MAE& other) const;
  MAE all_reduce(const AxisNames& names) const;
  MAE reset() const;
  Tensor compute() const;  // NaN of no data
};

// The coefficient of determination: 1 − Σ (target − prediction)² / Σ (target − mean of the
// targets)². With several outputs, along the last axis, it is the mean of theirs.
struct R2 {
  int64_t num_outputs = 1;
  // One number for each output; squares are relative to the mean, so that no digits are lost.
  Buffers<Tensor> count = zeros({num_outputs}, DType::f64);
  Buffers<Tensor> mean = zeros({num_outputs}, DType::f64);
  Buffers<Tensor> squares = zeros({num_outputs}, DType::f64);
  Buffers<Tensor> residual = zeros({num_outputs}, DType::f64);
  Buffers<Tensor> rows = zeros({num_outputs}, DType::i64);  // with a weight other than 0

  R2 update(const Tensor& predictions, const Tensor& targets, const Counting& counting = {}) const;
  R2 merge(const R2& other) const;
  R2 all_reduce(const AxisNames& names) const;
  R2 reset() const;
  // NaN of less than two targets. Where all targets are equal it is 1 without errors, else 0.
  Tensor compute() const;
};

}  // namespace plait::metrics
