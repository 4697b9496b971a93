// How levels follow operations: reverse mode records a graph, forward mode propagates tangents.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/tensor/tracing/derivation.h"

namespace plait {

// Returns the tensor as a leaf of a level of reverse mode.
Tensor begin_following(const Tensor& tensor, const LevelPtr& level);
// Returns the tensor with this tangent at a level of forward mode.
Tensor with_tangent(const Tensor& tensor, const LevelPtr& level, Tensor tangent);
// Returns the tangent at that level; empty if there is none.
Tensor tangent_of(const Tensor& tensor, const Level& level);

// Follows an operation whose results are already known, without running it.
std::vector<Tensor> follow_results(const ir::Primitive& primitive, std::span<const Tensor> operands,
                                   const ir::Attributes& attributes, std::vector<Tensor> results);
// A computation with its own derivative rules.
struct Custom {
  std::vector<Tensor> inputs;
  std::vector<Tensor> residuals;  // further tensors that the rules need
  std::vector<Tensor> results;
  Node::Backward backward;
  Node::Forward forward;
  size_t first_kept = SIZE_MAX;  // first result that the rules read, with all after it
};
std::vector<Tensor> follow_custom(const Custom& custom);
// Follows the results of a recording that was run on these inputs, as one node.
std::vector<Tensor> follow_recording(std::span<const Tensor> inputs, std::vector<Tensor> results,
                                     std::shared_ptr<const Recording> recording);
// Returns the numbers of the open levels that follow any of these, the outermost first.
std::vector<uint64_t> open_levels_of(std::span<const Tensor> tensors);
// Returns the tensor without its derivation at levels outside of this one.
Tensor from_level(const Tensor& tensor, uint64_t level);

}  // namespace plait
