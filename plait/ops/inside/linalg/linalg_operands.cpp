#include "plait/ops/inside/linalg/linalg_operands.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/operand.h"

namespace plait::linalg {

Tensor matrices(std::string_view function, const Tensor& a) {
  if (a.rank() < 2) {
    throw ShapeError("{}: expected matrices, not {}", function, a.type().text())
        .at(Location::of_caller());
  }
  const Tensor numbers = astype(a, inexact(a.dtype()));
  if (real_dtype(numbers.dtype()) == DType::f32 || real_dtype(numbers.dtype()) == DType::f64) {
    return numbers;
  }
  throw TypeError("{}: {} is not supported", function, name_of(numbers.dtype()))
      .at(Location::of_caller())
      .hint("convert it: astype(a, DType::f32)");
}

Tensor square_matrices(std::string_view function, const Tensor& a) {
  const Tensor numbers = matrices(function, a);
  if (same(a.shape(-1), a.shape(-2))) return numbers;
  throw ShapeError("{}: the matrices of {} are not square", function, a.type().text())
      .at(Location::of_caller());
}

namespace {

Shape batch_of(const Tensor& a) { return Shape(a.shape().dims().first(a.rank() - 2)); }

Tensor with_batch(const Tensor& a, Shape batch) {
  for (const int64_t axis : {-2, -1}) batch.append(a.shape(axis));
  return broadcast_to(a, batch);
}

}  // namespace

Equation::Equation(std::string_view function, const Tensor& left, const Tensor& right)
    : a(matrices(function, left)), b(right), is_vector(right.rank() == 1) {
  if (right.rank() == 0) {
    throw ShapeError("{}: the right-hand side is a scalar, {}", function, right.type().text())
        .at(Location::of_caller());
  }
  if (is_vector) b = expand_dims(b, -1);
  const DType dtype = promote(a.dtype(), inexact(b.dtype()));
  a = astype(a, dtype);
  b = astype(b, dtype);
  if (!same(a.shape(-2), b.shape(-2))) {
    throw ShapeError("{}: {} has {} rows, but the right-hand side {} has {}", function,
                     left.type().text(), a.shape(-2), right.type().text(), b.shape(-2))
        .at(Location::of_caller());
  }
  const Shape batch = common_shape(function, batch_of(a), batch_of(b));
  a = with_batch(a, batch);
  b = with_batch(b, batch);
}

Tensor Equation::solution(const Tensor& x) const { return is_vector ? squeeze(x, -1) : x; }

}  // namespace plait::linalg
