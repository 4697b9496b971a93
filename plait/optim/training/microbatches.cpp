#include "plait/optim/training/microbatches.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/optim/inside/step_numbers.h"

namespace plait::optim {

int64_t divisor_of(int64_t n, Reduction reduce) {
  if (n <= 0) {
    throw ValueError("optim::microbatches: n is {}, expected 1 or more", n)
        .at(Location::of_caller());
  }
  if (reduce == Reduction::none) {
    throw ValueError("optim::microbatches: reduce is none, expected mean or sum")
        .at(Location::of_caller());
  }
  return reduce == Reduction::sum ? 1 : n;
}

Tensor in_slices(const Tensor& x, int64_t n) {
  if (!x || x.rank() == 0) {
    throw TypeError(
        "optim::microbatches: an argument is a scalar, expected tensors with the batch as the "
        "first axis")
        .at(Location::of_caller());
  }
  const Dim size = x.shape(0), each = floor_div(size, n);
  if (size.is_number() && size.number() % n != 0) {
    throw ValueError("optim::microbatches: the batch of {} cannot be cut into {} equal slices",
                     size.number(), n)
        .at(Location::of_caller())
        .hint("use another batch, or another n");
  }
  std::vector<Dim> sizes{n, each};
  for (size_t i = 1; i < x.rank(); ++i) sizes.push_back(x.shape(static_cast<int64_t>(i)));
  return reshape(x, Shape(sizes));
}

namespace {

bool has_mean(const Tensor& x) { return x && is_inexact(x.dtype()); }

}  // namespace

Tensor as_sum(std::string_view path, const Tensor& result, bool is_buffer) {
  if (!result || (is_buffer && !has_mean(result))) return result;
  if (!has_mean(result)) {
    throw TypeError("optim::microbatches: the result {} is {}, which has no mean", path,
                    result.type().text())
        .at(Location::of_caller())
        .hint(
            "return a floating tensor: astype(count, DType::f32); or, of a loss that returns the "
            "model that it has changed, pass optim::changes_model");
  }
  return as_wide(result);
}

Tensor sum_of_two(const Tensor& a, const Tensor& b) { return has_mean(a) ? a + b : b; }
Tensor divided_by(const Tensor& total, int64_t n) {
  return has_mean(total) ? total / static_cast<double>(n) : total;
}
Tensor first_slice(const Tensor& slices) { return slices[0]; }
Tensor other_slices(const Tensor& slices) { return slices[Slice{1, {}}]; }

}  // namespace plait::optim
