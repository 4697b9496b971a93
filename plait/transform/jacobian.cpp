#include "plait/transform/jacobian.h"

#include "plait/core/error.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/shape.h"
#include "plait/transform/vmap.h"

namespace plait::jacobians {
namespace {

void check(std::string_view function, const Tensor& x) {
  if (is_inexact(x.dtype())) return;
  throw TypeError("{}: a {} has no derivative", function, x.type().text())
      .at(Location::of_caller());
}

// For each element of a tensor like this one, 1 there and 0 elsewhere.
Tensor units(const Tensor& like) {
  const Dim count = like.shape().element_count();
  Shape shape{count};
  for (const Dim size : like.shape()) shape.append(size);
  const Tensor places = iota(count);
  const Tensor one_there = equal(expand_dims(places, 1), expand_dims(places, 0));
  return reshape(astype(one_there, like.dtype()), shape);
}

Shape both(const Shape& first, const Shape& second) {
  Shape all = first;
  for (const Dim size : second) all.append(size);
  return all;
}

}  // namespace

Tensor forward(const Function& f, const Tensor& x) {
  check("jacfwd", x);
  const auto [y, push] = linearize(f, x);
  const Tensor columns = vmap(push, {.out = {-1}})(units(x));
  return reshape(columns, both(y.shape(), x.shape()));
}

Tensor reverse(const Function& f, const Tensor& x) {
  check("jacrev", x);
  const auto [y, pull] = vjp(f, x);
  check("jacrev", y);
  const auto row = [&, &pull = pull](const Tensor& unit) { return std::get<0>(pull(unit)); };
  return reshape(vmap(row)(units(y)), both(y.shape(), x.shape()));
}

}  // namespace plait::jacobians
