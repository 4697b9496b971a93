// What levels do with what is computed: reverse mode notes steps, forward mode carries tangents.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/tensor/derivation.h"

namespace plait {

// The same tensor as the beginning of what a level of reverse mode follows.
Tensor begin_following(const Tensor& tensor, const LevelPtr& level);
// The same tensor with a tangent at a level of forward mode.
Tensor with_tangent(const Tensor& tensor, const LevelPtr& level, Tensor tangent);
// What it is at that level; empty where it has none.
Tensor tangent_of(const Tensor& tensor, const Level& level);

// The results' tangents from the inputs', as seen by a level of this number.
using Forward =
    std::function<std::vector<Tensor>(std::span<const Tensor> tangents, uint64_t level)>;
// The results of a step that says itself what its derivative is.
std::vector<Tensor> follow_custom(std::span<const Tensor> inputs, std::vector<Tensor> results,
                                  Step::Backward backward, const Forward& forward);
// Where one open level alone follows these; null otherwise.
LevelPtr only_level_of(std::span<const Tensor> tensors);

}  // namespace plait
