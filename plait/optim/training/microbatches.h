// A step over slices of a batch.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/ops/neural/loss.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/control/control.h"

namespace plait::optim {

// n slices of x along its first axis, as a new first axis. ValueError unless they are of one size.
Tensor in_slices(const Tensor& x, int64_t n);
// A result in a dtype for sums; TypeError if it has no mean. Integers in buffers have none, and are
// those of the last slice.
Tensor as_sum(std::string_view path, const Tensor& result, bool is_buffer);
Tensor sum_of_two(const Tensor& a, const Tensor& b);
Tensor divided_by(const Tensor& total, int64_t n);
Tensor first_slice(const Tensor& slices);
Tensor other_slices(const Tensor& slices);
// By which number the sums over n slices are divided. ValueError unless n is above 0, and for
// Reduction::none.
int64_t divisor_of(int64_t n, Reduction reduce);

// A tag for functions that return the model, too.
struct ChangesModel {};
inline constexpr ChangesModel changes_model;

namespace slices {

template <class Tree>
Tree sums_of(Tree result) {
  for_each_leaf_and_role(result, [](std::string_view path, Tensor& leaf, bool is_buffer) {
    leaf = as_sum(path, leaf, is_buffer);
  });
  return result;
}
template <class Tree>
Tree means_of(Tree totals, int64_t n) {
  return map_leaves(std::move(totals), [n](const Tensor& x) { return divided_by(x, n); });
}

// first(slice) of the first slice, then next(so far, slice) of each other one.
template <class First, class Next, class Batch>
auto over(int64_t n, const First& first, const Next& next, const Batch& batch) {
  const Batch all = map_leaves(batch, [n](const Tensor& x) { return in_slices(x, n); });
  auto total = first(map_leaves(all, first_slice));
  if (n == 1) return total;
  const auto step = [&](const decltype(total)& so_far, const Batch& slice) {
    return std::pair(next(so_far, slice), std::tuple<>());
  };
  return scan(step, total, map_leaves(all, other_slices)).first;
}

}  // namespace slices

// Makes a function of a model and a batch, such as value_and_grad(loss), run over n slices of the
// batch one after another, along the first axis of all arguments but the first. The result is the
// mean over the slices: for a loss that is a mean, that of the whole batch. With Reduction::sum it
// is their sum: for a loss that is a sum. The slices are of one size: Python's microbatches takes
// batches that n does not divide, weights of slices, and keys, which it splits.
//
//   auto [loss, gradients] = optim::microbatches(4, value_and_grad(loss_of))(model, x, y);
template <class F>
auto microbatches(int64_t n, F function, Reduction reduce = Reduction::mean) {
  const int64_t divisor = divisor_of(n, reduce);
  return [n, divisor, function = std::move(function)](const auto& model, const auto&... batch) {
    using Batch = std::tuple<std::decay_t<decltype(batch)>...>;
    const auto first = [&](const Batch& slice) {
      return slices::sums_of(
          std::apply([&](const auto&... each) { return function(model, each...); }, slice));
    };
    const auto next = [&](const auto& sum, const Batch& slice) {
      return map_leaves(sum_of_two, sum, first(slice));
    };
    return slices::means_of(slices::over(n, first, next, Batch(batch...)), divisor);
  };
}

// The same of value_and_grad(loss, with_aux) for a loss that returns (number, model): each slice is
// given the model that the one before has changed, as its running statistics, and the last one is
// returned.
//
//   auto [result, gradients] =
//       optim::microbatches(4, value_and_grad(loss_of, with_aux), optim::changes_model)(model, x);
//   auto [loss, changed] = result;
template <class F>
auto microbatches(int64_t n, F function, ChangesModel, Reduction reduce = Reduction::mean) {
  const int64_t divisor = divisor_of(n, reduce);
  return [n, divisor, function = std::move(function)]<class Model>(const Model& model,
                                                                   const auto&... batch) {
    using Batch = std::tuple<std::decay_t<decltype(batch)>...>;
    using Carry = std::pair<Model, std::pair<Tensor, Model>>;  // the model, and sums
    const auto call = [&](const Model& at, const Batch& slice) {
      auto [result, gradients] =
          std::apply([&](const auto&... each) { return function(at, each...); }, slice);
      auto& [value, changed] = result;
      static_assert(std::is_same_v<std::decay_t<decltype(changed)>, Model>,
                    "with changes_model the loss returns (number, model)");
      return Carry(std::move(changed), slices::sums_of(std::pair(value, std::move(gradients))));
    };
    const auto first = [&](const Batch& slice) { return call(model, slice); };
    const auto next = [&](const Carry& so_far, const Batch& slice) {
      Carry made = call(so_far.first, slice);
      made.second = map_leaves(sum_of_two, so_far.second, made.second);
      return made;
    };
    auto [changed, totals] = slices::over(n, first, next, Batch(batch...));
    auto [value, gradients] = slices::means_of(std::move(totals), divisor);
    return std::pair(std::pair(std::move(value), std::move(changed)), std::move(gradients));
  };
}

}  // namespace plait::optim
