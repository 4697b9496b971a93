#include "plait/transform/derivatives/jacobian.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/vmap.h"

namespace plait::jacobians {
namespace {

void check(std::string_view function, std::string_view what, std::span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_array() && is_inexact(tensors[i].dtype())) continue;
    throw TypeError("{}: {} {} is {}, which has no derivative", function, what, i,
                    tensors[i].type().text())
        .at(Location::of_caller());
  }
}

void expect_real(std::string_view function, std::string_view what, std::span<const Tensor> tensors,
                 std::string_view alternative) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!is_complex(tensors[i].dtype())) continue;
    throw TypeError("{}: {} {} is {}, expected real numbers", function, what, i,
                    tensors[i].type().text())
        .at(Location::of_caller())
        .hint(fmt::format("{}; if the function is holomorphic, set holomorphic", alternative));
  }
}

void expect_complex(std::string_view function, std::string_view what,
                    std::span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_complex(tensors[i].dtype())) continue;
    throw TypeError("{}: {} {} is {}; with holomorphic, expected complex numbers", function, what,
                    i, tensors[i].type().text())
        .at(Location::of_caller());
  }
}

// One-hot tensors: for each element of a tensor like this one, 1 there and 0 elsewhere.
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

// A run of the function under reverse mode.
struct FollowedRun {
  FollowedRun(std::string_view name, Function f, std::span<const Tensor> arguments,
              const JacobianOptions& options) {
    check(name, "tensor", arguments);
    if (options.holomorphic) expect_complex(name, "tensor", arguments);
    std::vector<Tensor> begun;
    for (const Tensor& argument : arguments) begun.push_back(pullback.begin(argument));
    for (const Tensor& result : f(begun)) results.push_back(pullback.finish(result));
    pullback.close();
    check(name, "result", results);
    if (options.holomorphic) expect_complex(name, "result", results);
  }

  Pullback pullback;
  std::vector<Tensor> results;
};

// Applies a linear function of `count` arguments to each one-hot tensor of argument `place`; the
// other arguments are zero. The batch is the last axis of the results, or the first.
template <class Linear>
std::vector<Tensor> for_each_unit(const Linear& linear, size_t count, size_t place,
                                  const Tensor& like, int64_t axis) {
  const auto at = [&](const Tensor& unit) {
    std::vector<Tensor> given(count);
    given[place] = unit;
    return linear(given);
  };
  return like.rank() == 0 ? at(ones_like(like)) : vmap(at, {.out = {axis}})(units(like));
}

}  // namespace

Matrix forward(Function f, std::span<const Tensor> arguments, const JacobianOptions& options) {
  const FollowedRun run("jacfwd", f, arguments, options);
  if (!options.holomorphic)
    expect_real("jacfwd", "tensor", arguments, "use jacrev for real results");
  Matrix matrix(run.results.size());
  for (size_t k = 0; k < arguments.size(); ++k) {
    const auto push = [&](std::span<const Tensor> tangents) { return run.pullback.push(tangents); };
    const auto columns = for_each_unit(push, arguments.size(), k, arguments[k], -1);
    for (size_t i = 0; i < matrix.size(); ++i) {
      matrix[i].push_back(reshape(columns[i], both(run.results[i].shape(), arguments[k].shape())));
    }
  }
  return matrix;
}

Matrix reverse(Function f, std::span<const Tensor> arguments, const JacobianOptions& options) {
  const FollowedRun run("jacrev", f, arguments, options);
  if (!options.holomorphic) {
    expect_real("jacrev", "result", run.results, "use jacfwd for real arguments");
  }
  Matrix matrix;
  for (size_t i = 0; i < run.results.size(); ++i) {
    const auto pull = [&](std::span<const Tensor> given) { return run.pullback(given); };
    matrix.push_back(for_each_unit(pull, run.results.size(), i, run.results[i], 0));
    for (size_t k = 0; k < arguments.size(); ++k) {
      Tensor& rows = matrix[i][k];
      rows = reshape(rows, both(run.results[i].shape(), arguments[k].shape()));
    }
  }
  return matrix;
}

}  // namespace plait::jacobians
