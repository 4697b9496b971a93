// A step over slices of a batch.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/tensor/tensor.h"
#include "plait/transform/control/control.h"

namespace plait::optim {

// n slices of x along its first axis, as a new first axis. ValueError unless they are of one size.
Tensor in_slices(const Tensor& x, int64_t n);
// A result in a dtype for sums; TypeError if it has no mean.
Tensor as_sum(const Tensor& result);
Tensor sum_of_two(const Tensor& a, const Tensor& b);  // empty tensors stay empty
Tensor divided_by(const Tensor& total, int64_t n);
Tensor first_slice(const Tensor& slices);
Tensor other_slices(const Tensor& slices);
void expect_slices(int64_t n);  // ValueError unless n is above 0

// Makes a function of a model and a batch, such as value_and_grad(loss), run over n slices of the
// batch one after another, along the first axis of all arguments but the first. The result is the
// mean over the slices: for a loss that is a mean, that of the whole batch.
//
//   auto [loss, gradients] = optim::microbatches(4, value_and_grad(loss_of))(model, x, y);
template <class F>
auto microbatches(int64_t n, F function) {
  expect_slices(n);
  return [n, function = std::move(function)](const auto& model, const auto&... batch) {
    const std::tuple slices =
        map_leaves(std::tuple(batch...), [n](const Tensor& x) { return in_slices(x, n); });
    const auto call = [&](const std::tuple<std::decay_t<decltype(batch)>...>& slice) {
      auto result =
          std::apply([&](const auto&... each) { return function(model, each...); }, slice);
      return map_leaves(std::move(result), as_sum);
    };
    auto total = call(map_leaves(slices, first_slice));
    if (n > 1) {
      const auto step = [&](const decltype(total)& sum,
                            const std::tuple<std::decay_t<decltype(batch)>...>& slice) {
        return std::pair(map_leaves(sum_of_two, sum, call(slice)), std::tuple<>());
      };
      total = scan(step, total, map_leaves(slices, other_slices)).first;
    }
    return map_leaves(std::move(total), [n](const Tensor& x) { return divided_by(x, n); });
  };
}

}  // namespace plait::optim
