#include "plait/metrics/means.h"

#include <limits>

#include "plait/core/error.h"
#include "plait/metrics/inside/metric_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::metrics {
namespace {

// The weight of each element: 0 where it is masked.
Tensor weights_of(const Counting& counting, const Shape& shape) {
  const Tensor counts = counted(counting.mask, shape);
  if (!counting.weights) return exact(counts);
  return broadcast_to(where(counts, exact(counting.weights), 0), shape);
}

// The totals with a function of the differences.
Totals with_errors(const Totals& sums, Tensor (*of)(const Operand&), const Tensor& predictions,
                   const Tensor& targets, const Counting& counting) {
  expect_alike(predictions, targets);
  return sums.plus(of(exact(predictions) - exact(targets)), counting);
}

// total / count; 0 if the total weight is 0.
Tensor over(const Tensor& total, const Tensor& count) {
  return total / where(count == 0, 1, count);
}

// The metric of several parts of the data: `total_of(f)` is the sum of f(part) over them.
template <class TotalOf>
R2 joined(int64_t num_outputs, const TotalOf& total_of) {
  const Tensor count = total_of([](const R2& part) -> Tensor { return part.count; });
  const Tensor mean = over(total_of([](const R2& part) { return part.count * part.mean; }), count);
  return {.num_outputs = num_outputs,
          .count = count,
          .mean = mean,
          .squares = total_of(
              [&](const R2& part) { return part.squares + part.count * square(part.mean - mean); }),
          .residual = total_of([](const R2& part) -> Tensor { return part.residual; }),
          .rows = total_of([](const R2& part) -> Tensor { return part.rows; })};
}

}  // namespace

Totals Totals::plus(const Tensor& values, const Counting& counting) const {
  const Tensor numbers = exact(values), weights = weights_of(counting, values.shape());
  return {.total = total + sum(where(weights == 0, 0, numbers) * weights),
          .count = count + sum(weights)};
}

Tensor Totals::mean() const { return quotient(total, count); }

Mean Mean::update(const Tensor& values, const Counting& counting) const {
  const Call call("metrics::Mean", values);
  return {sums.plus(values, counting)};
}
Mean Mean::merge(const Mean& other) const { return sum_of_both(*this, other); }
Mean Mean::all_reduce(const AxisNames& names) const { return sum_along_axes(*this, names); }
Mean Mean::reset() const { return of_no_data(*this); }
Tensor Mean::compute() const { return sums.mean(); }

Sum Sum::update(const Tensor& values, const Counting& counting) const {
  const Call call("metrics::Sum", values);
  return {sums.plus(values, counting)};
}
Sum Sum::merge(const Sum& other) const { return sum_of_both(*this, other); }
Sum Sum::all_reduce(const AxisNames& names) const { return sum_along_axes(*this, names); }
Sum Sum::reset() const { return of_no_data(*this); }
Tensor Sum::compute() const { return sums.total; }

MSE MSE::update(const Tensor& predictions, const Tensor& targets, const Counting& counting) const {
  const Call call("metrics::MSE", predictions, targets);
  return {squared, with_errors(sums, square, predictions, targets, counting)};
}
MSE MSE::merge(const MSE& other) const { return sum_of_both(*this, other); }
MSE MSE::all_reduce(const AxisNames& names) const { return sum_along_axes(*this, names); }
MSE MSE::reset() const { return of_no_data(*this); }
Tensor MSE::compute() const { return squared ? sums.mean() : sqrt(sums.mean()); }

MAE MAE::update(const Tensor& predictions, const Tensor& targets, const Counting& counting) const {
  const Call call("metrics::MAE", predictions, targets);
  return {with_errors(sums, absolute, predictions, targets, counting)};
}
MAE MAE::merge(const MAE& other) const { return sum_of_both(*this, other); }
MAE MAE::all_reduce(const AxisNames& names) const { return sum_along_axes(*this, names); }
MAE MAE::reset() const { return of_no_data(*this); }
Tensor MAE::compute() const { return sums.mean(); }

R2 R2::update(const Tensor& predictions, const Tensor& targets, const Counting& counting) const {
  const Call call("metrics::R2", predictions, targets);
  if (num_outputs < 1) {
    throw ValueError("num_outputs is {}, expected 1 or more", num_outputs)
        .at(Location::of_caller());
  }
  expect_alike(predictions, targets);
  if (num_outputs > 1 && (targets.rank() < 1 || targets.shape(-1) != num_outputs)) {
    throw ShapeError("the targets are {}, expected {} along the last axis", targets.type().text(),
                     num_outputs)
        .at(Location::of_caller());
  }
  Counting given = counting;
  if (given.weights) {  // as the mask, they may lack the last axes
    Shape wide = given.weights.shape();
    while (wide.rank() < targets.rank()) wide.append(1);
    given.weights = reshape(given.weights, wide);
  }
  const Tensor all = weights_of(given, targets.shape());
  Dim count_of_rows = 1;
  const Shape sizes = targets.shape();
  for (size_t i = 0; i + (num_outputs > 1 ? 1 : 0) < sizes.rank(); ++i) {
    count_of_rows = count_of_rows * sizes[i];
  }
  const auto rows_of = [&](const Tensor& x) {
    return reshape(where(all == 0, 0, x), {count_of_rows, num_outputs});
  };
  const Tensor weights = rows_of(all), to = rows_of(exact(targets)),
               by = rows_of(exact(predictions));
  const Tensor total = sum(weights, 0), middle = over(sum(weights * to, 0), total);
  return merge({.num_outputs = num_outputs,
                .count = total,
                .mean = middle,
                .squares = sum(weights * square(to - middle), 0),
                .residual = sum(weights * square(to - by), 0),
                .rows = sum(weights != 0, 0)});
}

R2 R2::merge(const R2& other) const {
  if (other.num_outputs != num_outputs) {
    throw ValueError("metrics::R2: {} outputs do not merge with {}", num_outputs, other.num_outputs)
        .at(Location::of_caller());
  }
  return joined(num_outputs,
                [&](const auto& value_of) { return value_of(*this) + value_of(other); });
}

R2 R2::all_reduce(const AxisNames& names) const {
  return joined(num_outputs,
                [&](const auto& value_of) { return all_reduce_sum(value_of(*this), names); });
}

R2 R2::reset() const { return of_no_data(*this); }

Tensor R2::compute() const {
  const Tensor is_constant = squares == 0;
  const Tensor share = 1 - residual / where(is_constant, 1, squares);
  const Tensor found = where(is_constant, astype(residual == 0, DType::f64), share);
  return plait::mean(where(rows < 2, std::numeric_limits<double>::quiet_NaN(), found));
}

}  // namespace plait::metrics
