#include "plait/ops/products/products.h"

#include <algorithm>
#include <numeric>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/products/contraction.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/memory/layout.h"

namespace plait {
namespace {

// Nonnegative axes; throws for repeated ones.
std::vector<int64_t> normal_axes(std::string_view which, const Tensor& x,
                                 const std::vector<int64_t>& axes) {
  std::vector<int64_t> normal;
  for (const int64_t axis : axes) {
    normal.push_back(static_cast<int64_t>(axis_of(axis, x.rank())));
    if (std::ranges::count(normal, normal.back()) == 1) continue;
    throw ValueError("tensordot: axis {} of {} appears twice", axis, which)
        .at(Location::of_caller());
  }
  return normal;
}

void expect_matrices(std::string_view function, const Tensor& x, size_t rank) {
  if (x.rank() == rank) return;
  throw ShapeError("{}: an operand is {}, expected {} dimensions", function, x.type().text(), rank)
      .at(Location::of_caller());
}

bool is(const Scalar& scalar, int64_t number) {
  if (scalar.is_symbolic()) return false;
  const Element element = scalar.element();
  const bool is_whole = scalar.kind() <= ScalarKind::integer;
  return is_whole ? static_cast<int64_t>(element.integer) == number
                  : element.number == static_cast<double>(number);
}

Tensor added(std::string_view function, const Tensor& x, const Tensor& product,
             const AddedProduct& factors) {
  const Shape shape = common_shape(function, x.shape(), product.shape());
  if (!same(shape, product.shape())) {
    throw ShapeError("{}: {} cannot be broadcast to the product {}", function, x.type().text(),
                     product.type().text())
        .at(Location::of_caller());
  }
  const Tensor scaled = is(factors.alpha, 1) ? product : product * factors.alpha;
  if (is(factors.beta, 0)) return astype(scaled, promote(scaled.dtype(), x.dtype()));
  return (is(factors.beta, 1) ? x : x * factors.beta) + scaled;
}

}  // namespace

Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes_of_a,
                 const std::vector<int64_t>& axes_of_b) {
  const Call call("tensordot", a, b);
  const auto of_a = normal_axes("the first operand", a, axes_of_a);
  const auto of_b = normal_axes("the second operand", b, axes_of_b);
  if (of_a.size() != of_b.size()) {
    throw ValueError("tensordot: {} axes of the first operand, but {} of the second", of_a.size(),
                     of_b.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Dim x = a.shape(of_a[i]), y = b.shape(of_b[i]);
    if (same(x, y) || !x.is_number() || !y.is_number()) continue;
    throw ShapeError("tensordot: {} · {}: axes {} and {} differ in size ({} ≠ {})", a.type().text(),
                     b.type().text(), of_a[i], of_b[i], x, y)
        .at(Location::of_caller());
  }
  if (a.rank() + b.rank() > kMostLabels) {
    throw ValueError("tensordot: {} dimensions are too many", a.rank() + b.rank())
        .at(Location::of_caller());
  }
  const DType dtype = common_dtype(a, b);
  Labelled x{astype(a, dtype), std::vector<Label>(a.rank())};
  Labelled y{astype(b, dtype), std::vector<Label>(b.rank())};
  std::iota(x.labels.begin(), x.labels.end(), 0);
  std::iota(y.labels.begin(), y.labels.end(), static_cast<Label>(a.rank()));
  for (size_t i = 0; i < of_a.size(); ++i) {
    y.labels[static_cast<size_t>(of_b[i])] = static_cast<Label>(of_a[i]);
  }
  std::vector<Label> result;
  for (const Labelled* operand : {&x, &y}) {
    const LabelSet other = operand == &x ? y.set() : x.set();
    for (const Label label : operand->labels) {
      if ((other & set_of(label)) == 0) result.push_back(label);
    }
  }
  return contract({x, y}, result);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count) {
  const Call call("tensordot", a, b);
  const auto ranks = static_cast<int64_t>(std::min(a.rank(), b.rank()));
  if (count < 0 || count > ranks) {
    throw ValueError("tensordot: cannot sum over {} dimensions of {} and {}", count,
                     a.type().text(), b.type().text())
        .at(Location::of_caller());
  }
  std::vector<int64_t> last(static_cast<size_t>(count)), first(last.size());
  std::iota(first.begin(), first.end(), 0);
  std::iota(last.begin(), last.end(), static_cast<int64_t>(a.rank()) - count);
  return tensordot(a, b, last, first);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  const Call call("dot", a, b);
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  return tensordot(a, b, {-1}, {b.rank() == 1 ? -1 : -2});
}

Tensor inner(const Tensor& a, const Tensor& b) {
  const Call call("inner", a, b);
  if (a.rank() == 0 || b.rank() == 0) return multiply(a, b);
  return tensordot(a, b, {-1}, {-1});
}

Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis) {
  const Call call("vecdot", a, b);
  const Dim x = a.shape(axis), y = b.shape(axis);
  if (!same(x, y) && x.is_number() && y.is_number()) {
    throw ShapeError("vecdot: {} · {}: the sizes along axis {} differ", a.type().text(),
                     b.type().text(), axis)
        .at(Location::of_caller());
  }
  const DType dtype = common_dtype(a, b);
  const Tensor left = moveaxis(conj(astype(a, dtype)), axis, -1);
  const Tensor right = moveaxis(astype(b, dtype), axis, -1);
  return squeeze(squeeze(matmul(expand_dims(left, -2), expand_dims(right, -1)), -1), -1);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  const Call call("bmm", a, b);
  expect_matrices("bmm", a, 3);
  expect_matrices("bmm", b, 3);
  const Dim x = a.shape(0), y = b.shape(0);
  if (!same(x, y) && x.is_number() && y.is_number()) {
    throw ShapeError("bmm: {} · {}: expected equally many matrices", a.type().text(),
                     b.type().text())
        .at(Location::of_caller());
  }
  return matmul(a, b);
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors) {
  const Call call("addmm", x, a, b);
  expect_matrices("addmm", a, 2);
  expect_matrices("addmm", b, 2);
  return added("addmm", x, matmul(a, b), factors);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors) {
  const Call call("baddbmm", x, a, b);
  return added("baddbmm", x, bmm(a, b), factors);
}

}  // namespace plait
