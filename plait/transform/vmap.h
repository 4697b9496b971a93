// Vectorisation: a function of one sample becomes a function of a batch, computed together.
//
//   auto scores = vmap(score)(images);                            // along the first axis of each
//   auto logits = vmap(model_on_one, {.in = {none, 0}})(model, images);
//   auto by_sample = vmap(grad(loss), {.in = {none, 0, 0}})(model, images, labels);
//
// Arguments and results are trees of tensors. The function is recorded once, for one sample: its
// values are unknown then, and `item()` or `if` on them is an error. Captured tensors are shared by
// all samples. The function may be differentiated, inside and outside.
//
// If the axis has a name, the function can combine values across samples:
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

// The axis of the samples; none if the value is shared by all samples.
using BatchAxis = std::optional<int64_t>;
inline constexpr std::nullopt_t none = std::nullopt;

struct VmapOptions {
  // One for each argument, or one for each tensor in them; or one for all.
  std::vector<BatchAxis> in = {0};
  std::vector<BatchAxis> out = {0};  // the same for the results
  std::optional<Dim> size = {};      // number of samples; needed if no argument has an axis
  // Name of the axis, for collective operations (ops/collective.h).
  std::string name = {};
};

namespace vmaps {

// Returns the axis of each tensor. ValueError if the options match neither arguments nor tensors.
std::vector<BatchAxis> axes_of_leaves(std::string_view what, const std::vector<BatchAxis>& given,
                                      const std::vector<size_t>& leaves_of_arguments);
// `out` returns the axis of each result; it is called after the function has run.
using OutAxes = std::function<std::vector<BatchAxis>(size_t results)>;
std::vector<Tensor> run(const TensorFunction& function, std::span<const Tensor> arguments,
                        std::span<const BatchAxis> in, const OutAxes& out,
                        const std::optional<Dim>& size, const std::string& name = {});
// The same, for arguments with this many tensors each.
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
