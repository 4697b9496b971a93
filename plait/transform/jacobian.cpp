#include "plait/transform/jacobian.h"

#include "plait/core/error.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/shape.h"

namespace plait::jacobians {
namespace {

int64_t count_of(std::string_view function, const Tensor& x) {
  if (!is_inexact(x.dtype())) {
    throw TypeError("{}: a {} has no derivative", function, x.type().text())
        .at(Location::of_caller());
  }
  const Dim count = x.shape().element_count();
  if (count.is_number()) return count.number();
  throw ShapeError("{}: the number of elements of a {} must be known", function, x.type().text())
      .at(Location::of_caller());
}

// 1 at one place, else 0.
Tensor unit(const Tensor& like, int64_t place, int64_t count) {
  const Tensor flat = astype(equal(iota(count), place), like.dtype());
  return reshape(flat, like.shape());
}

Shape both(const Shape& first, const Shape& second) {
  Shape all = first;
  for (const Dim size : second) all.append(size);
  return all;
}

}  // namespace

Tensor forward(const Function& f, const Tensor& x) {
  const int64_t count = count_of("jacfwd", x);
  std::vector<Tensor> columns;
  for (int64_t i = 0; i < count; ++i) {
    columns.push_back(jvp(f, std::tuple(x), std::tuple(unit(x, i, count))).second);
  }
  if (columns.empty()) {
    const Tensor y = f(x);
    return zeros(both(y.shape(), x.shape()), y.dtype());
  }
  const Shape result = columns[0].shape();
  return reshape(stack(columns, -1), both(result, x.shape()));
}

Tensor reverse(const Function& f, const Tensor& x) {
  count_of("jacrev", x);
  const auto [y, pull] = vjp(f, x);
  const int64_t count = count_of("jacrev", y);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(std::get<0>(pull(unit(y, i, count))));
  if (rows.empty()) return zeros(both(y.shape(), x.shape()), y.dtype());
  return reshape(stack(rows, 0), both(y.shape(), x.shape()));
}

}  // namespace plait::jacobians
