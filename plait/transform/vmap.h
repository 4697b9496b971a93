// A function of one sample as a function of many, which computes them all at once.
//
//   auto scores = vmap(score)(images);                            // along the first axis of each
//   auto logits = vmap(model_on_one, {.in = {none, 0}})(model, images);
//   auto by_sample = vmap(grad(loss), {.in = {none, 0, 0}})(model, images, labels);
//
// Arguments and results are trees of tensors. The function is recorded once, for one sample: what
// it computes has no numbers then, and `item()` or `if` on such are errors. It may capture whatever
// it likes, which is the same for all samples, and it may be differentiated, inside and outside.
//
// Where the axis has a name, the function may bring together what the samples have:
//
//   vmap([](Tensor x) { return x - all_reduce_mean(x, "batch"); }, {.name = "batch"})(samples)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/transformed.h"
#include "plait/core/trees/tree.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Along which axis the samples lie; nothing where there is one for all of them.
using LaneAxis = std::optional<int64_t>;
inline constexpr std::nullopt_t none = std::nullopt;

struct VmapOptions {
  // One for each argument, or for each tensor of them; one for all.
  std::vector<LaneAxis> in = {0};
  std::vector<LaneAxis> out = {0};  // the same of the results
  std::optional<Dim> size = {};     // how many samples; needed where no argument says it
  // Of the axis, for operations along it (ops/collective.h).
  std::string name = {};
};

namespace vmaps {

// For each tensor its axis. ValueError where the options fit neither arguments nor tensors.
std::vector<LaneAxis> axes_of_leaves(std::string_view what, const std::vector<LaneAxis>& given,
                                     const std::vector<size_t>& leaves_of_arguments);
// `out` is asked when the function has run, for each result.
using OutAxes = std::function<std::vector<LaneAxis>(size_t results)>;
std::vector<Tensor> run(const TensorFunction& function, std::span<const Tensor> arguments,
                        std::span<const LaneAxis> in, const OutAxes& out,
                        const std::optional<Dim>& size, const std::string& name = {});
// The same of arguments of so many tensors each.
using LeafFunction = FunctionRef<std::vector<Tensor>(std::span<const Tensor>)>;
std::vector<Tensor> run(LeafFunction function, std::span<const Tensor> leaves,
                        const std::vector<size_t>& leaves_of_arguments, const VmapOptions& options);

}  // namespace vmaps

template <class F>
auto vmap(F f, VmapOptions options = {}) {
  return transformed(std::move(f), [options = std::move(options)]<class... Arguments>(
                                       const F& function, const Arguments&... arguments) {
    const std::tuple all(arguments...);
    using Result = decltype(function(arguments...));
    std::optional<Result> structure;
    const auto on_leaves = [&](std::span<const Tensor> given) {
      structure.emplace(std::apply(function, with_tensors(all, given)));
      return tensors_of(*structure);
    };
    const std::vector<Tensor> results =
        vmaps::run(on_leaves, tensors_of(all), {leaf_count(arguments)...}, options);
    return with_tensors(std::move(*structure), results);
  });
}

}  // namespace plait
