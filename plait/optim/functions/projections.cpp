#include "plait/optim/functions/projections.h"

#include <string>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/flat_vectors.h"
#include "plait/ops/inside/neural/simplex.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim::projections {
namespace {

void expect_some(std::string_view function, const Tensors& x) {
  if (!x.empty()) return;
  throw ValueError("{}: the model has no parameters", function)
      .at(Location::of_caller())
      .hint("tensors of floats are parameters, unless they are in an nn::Buffer");
}

void expect_real(std::string_view function, const Tensors& x) {
  expect_some(function, x);
  for (const auto& [path, value] : x) {
    if (!is_complex(value.dtype())) continue;
    throw TypeError("{}: {}{}{}, expected real numbers", function, path, path.empty() ? "" : " is ",
                    value.type().text())
        .at(Location::of_caller());
  }
}

// A scale, which must not be below 0, or not 0, as f64[].
Tensor scale_of(std::string_view function, const Operand& scale, double least = 0) {
  if (!scale.is_tensor()) {
    Number(number_of(scale.scalar()))
        .expect_within(std::string(function) + ": scale", least, kInfinity);
  }
  return as_f64(limit_of(function, "scale", scale).number);
}

// f(all numbers as one vector, the scale) at their places.
template <class F>
Tensors of_flat(std::string_view function, const Tensors& x, const Operand& scale, const F& f) {
  expect_real(function, x);
  const Tensor size = scale_of(function, scale, kAboveZero);
  std::vector<Tensor> all;
  for (const auto& [path, value] : x) all.push_back(as_wide(value));
  const Tensor flat = vector_of(function, all);
  const Tensor made = f(flat, astype(size, flat.dtype()));
  const std::vector<Tensor> parts = parts_of_vector(function, made, all);
  Tensors found;
  for (const auto& [path, value] : x) found.emplace(path, parts[found.size()]);
  return cast_like(found, x);
}

Tensor onto_l1_sphere(const Tensor& x, const Tensor& scale) {
  return sign(x) * scale * onto_simplex(absolute(x) / scale);
}

Tensors scaled(const Tensors& x, const Tensor& factor) {
  const Tensors made = map_tensors(x, [&](const Tensor& each) {
    return each * astype(factor, plait::real_dtype(each.dtype()));
  });
  return cast_like(made, x);
}

// x plus a step along a.
Tensors moved(std::string_view function, const Tensors& x, const Tensors& a, const Tensor& step) {
  const Tensors made =
      map_tensors(function, x, a, [&](const Tensor& each, const Tensor& direction) {
        return each + astype(step, each.dtype()) * direction;
      });
  return cast_like(made, x);
}

// How far along a the plane with this product is.
Tensor step_to(std::string_view function, const Tensors& x, const Tensors& a, const Operand& b) {
  expect_some(function, x);
  const Tensor wanted = limit_of(function, "b", b).number, square = dot_of(a, a);
  return (astype(wanted, square.dtype()) - dot_of(x, a)) / square;
}

const Tensor& of_path(const Limit& limit, const std::string& path) {
  return limit.number ? limit.number : limit.by_path.at(path);
}

}  // namespace

Limit limit_of(std::string_view function, std::string_view what, const Operand& number) {
  const Tensor made = number.is_tensor() ? number.tensor() : f64_of(number_of(number.scalar()));
  if (made.rank() == 0) return {.number = made};
  throw ShapeError("{}: {} is {}, expected one number, of shape []", function, what,
                   made.type().text())
      .at(Location::of_caller());
}

Tensors tensors_beside(std::string_view function, std::string_view what,
                       std::span<const ModelLeaf> model, std::span<const Tensor> other) {
  Tensors found;
  for (size_t i = 0; i < model.size(); ++i) {
    const Tensor& value = *model[i].tensor;
    if (model[i].is_buffer || !is_trained(value)) continue;
    if (!other[i] || other[i].shape() != value.shape()) {
      throw ShapeError("{}: {} of {} is {}, expected the shape of {}", function, what,
                       model[i].path.empty() ? "the model" : model[i].path,
                       other[i] ? other[i].type().text() : "an empty tensor", value.type().text())
          .at(Location::of_caller());
    }
    found.emplace(model[i].path, other[i]);
  }
  return found;
}

Tensors non_negative(const Tensors& x) {
  expect_real("optim::projection_non_negative", x);
  return map_leaves([](const Tensor& each, const Tensor&) { return maximum(each, 0); }, x, x);
}

Tensors box(std::string_view function, const Tensors& x, const Limit& lower, const Limit& upper) {
  expect_real(function, x);
  Tensors made;
  for (const auto& [path, value] : x) {
    const DType dtype = value.dtype();
    made.emplace(path, clip(value, astype(of_path(lower, path), dtype),
                            astype(of_path(upper, path), dtype)));
  }
  return made;
}

Tensors hypercube(const Tensors& x, const Operand& scale) {
  constexpr std::string_view kName = "optim::projection_hypercube";
  return box(kName, x, {.number = f64_of(0)}, {.number = scale_of(kName, scale)});
}

Tensors linf_ball(const Tensors& x, const Operand& scale) {
  constexpr std::string_view kName = "optim::projection_linf_ball";
  const Tensor size = scale_of(kName, scale);
  return box(kName, x, {.number = -size}, {.number = size});
}

Tensors simplex(const Tensors& x, const Operand& scale) {
  return of_flat("optim::projection_simplex", x, scale, [](const Tensor& all, const Tensor& size) {
    return size * onto_simplex(all / size);
  });
}

Tensors l1_sphere(const Tensors& x, const Operand& scale) {
  return of_flat("optim::projection_l1_sphere", x, scale, onto_l1_sphere);
}

Tensors l1_ball(const Tensors& x, const Operand& scale) {
  return of_flat("optim::projection_l1_ball", x, scale, [](const Tensor& all, const Tensor& size) {
    return where(sum(absolute(all)) <= size, all, onto_l1_sphere(all, size));
  });
}

Tensors l2_sphere(const Tensors& x, const Operand& scale) {
  constexpr std::string_view kName = "optim::projection_l2_sphere";
  expect_some(kName, x);
  const Tensor size = scale_of(kName, scale);
  return scaled(x, size / as_f64(sqrt(squared_norm(x))));
}

Tensors l2_ball(const Tensors& x, const Operand& scale) {
  constexpr std::string_view kName = "optim::projection_l2_ball";
  expect_some(kName, x);
  const Tensor size = scale_of(kName, scale, kAboveZero);
  return scaled(x, size / sqrt(maximum(as_f64(squared_norm(x)), square(size))));
}

Tensors vector(const Tensors& x, const Tensors& a) {
  expect_some("optim::projection_vector", x);
  const Tensor factor = dot_of(x, a) / dot_of(a, a);
  const Tensors made =
      map_tensors(a, [&](const Tensor& each) { return each * astype(factor, each.dtype()); });
  return cast_like(made, x);
}

Tensors hyperplane(const Tensors& x, const Tensors& a, const Operand& b) {
  constexpr std::string_view kName = "optim::projection_hyperplane";
  return moved(kName, x, a, step_to(kName, x, a, b));
}

Tensors halfspace(const Tensors& x, const Tensors& a, const Operand& b) {
  constexpr std::string_view kName = "optim::projection_halfspace";
  return moved(kName, x, a, minimum(step_to(kName, x, a, b), 0));
}

}  // namespace plait::optim::projections
