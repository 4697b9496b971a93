// Rematerialisation: a function whose intermediate values are recomputed when a derivative needs
// them, instead of being stored. It trades time for memory.
//
//   auto block = remat(attention_block);                       // stores its arguments only
//   auto dense = remat(block, save_dots());                    // and the results of products
//   auto chosen = remat(block, save_names({"scores"}));        // and values with checkpoint_name
//
// The recorded operations are repeated, not host code: nothing is drawn at random or printed twice,
// and what the function captured need not exist any more. In a trace the function becomes an
// instruction, `remat`, and so does its derivative.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/transformed.h"
#include "plait/core/trees/tree.h"
#include "plait/ir/structure.h"
#include "plait/tensor/tensor.h"

namespace plait {

using RematPolicy = ir::RematAttributes;
inline RematPolicy save_nothing() { return {}; }
inline RematPolicy save_everything() { return {.policy = "everything"}; }
inline RematPolicy save_dots() { return {.policy = "dots"}; }
inline RematPolicy save_names(std::vector<std::string> names) {
  return {.policy = "names", .names = std::move(names)};
}

std::vector<Tensor> remat_tensors(const TensorFunction& f, std::span<const Tensor> arguments,
                                  const RematPolicy& policy);

// Wraps a function of trees of tensors.
template <class F>
auto remat(F f, RematPolicy policy = {}) {
  return transformed(
      std::move(f), [policy = std::move(policy)](const F& function, const auto&... arguments) {
        const std::tuple all(arguments...);
        using Result = decltype(function(arguments...));
        std::optional<Result> structure;
        const auto on_leaves = [&](std::span<const Tensor> given) {
          structure.emplace(std::apply(function, with_tensors(all, given)));
          return tensors_of(*structure);
        };
        const std::vector<Tensor> results = remat_tensors(on_leaves, tensors_of(all), policy);
        return with_tensors(std::move(*structure), results);
      });
}

}  // namespace plait
