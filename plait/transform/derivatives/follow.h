// What levels do with what is computed: reverse mode notes steps, forward mode carries tangents.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/tensor/tracing/derivation.h"

namespace plait {

// The same tensor as the beginning of what a level of reverse mode follows.
Tensor begin_following(const Tensor& tensor, const LevelPtr& level);
// The same tensor with a tangent at a level of forward mode.
Tensor with_tangent(const Tensor& tensor, const LevelPtr& level, Tensor tangent);
// What it is at that level; empty where it has none.
Tensor tangent_of(const Tensor& tensor, const Level& level);

// What an operation gives, where its results are known without running it.
std::vector<Tensor> follow_results(const ir::Primitive& primitive, std::span<const Tensor> operands,
                                   const ir::Attributes& attributes, std::vector<Tensor> results);
// Something computed that says itself what its derivative is.
struct Custom {
  std::vector<Tensor> inputs;
  std::vector<Tensor> residuals;  // what its rules need besides
  std::vector<Tensor> results;
  Step::Backward backward;
  Step::Forward forward;
  size_t first_kept = SIZE_MAX;  // from here on the rules need the results too
};
std::vector<Tensor> follow_custom(const Custom& custom);
// The results of a recording that was run on these inputs, as those of one step.
std::vector<Tensor> follow_recording(std::span<const Tensor> inputs, std::vector<Tensor> results,
                                     std::shared_ptr<const Recording> recording);
// The numbers of the open levels that follow some of these, the outermost first.
std::vector<uint64_t> open_levels_of(std::span<const Tensor> tensors);
// The tensor without what it is to levels further out than this one.
Tensor from_level(const Tensor& tensor, uint64_t level);

}  // namespace plait
