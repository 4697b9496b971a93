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

// The results of a step that says itself what its inputs' cotangents are. Levels of forward mode
// are refused, by the name of what was done.
std::vector<Tensor> follow_custom(std::string_view name, std::span<const Tensor> inputs,
                                  std::vector<Tensor> results, Step::Backward backward);

}  // namespace plait
