// Sizes that change from step to step of a loop.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plait/transform/inside/forms/staged.h"

namespace plait::control {

// A recorded loop body, and the types of its carries at each step. Sizes that change are symbols of
// their own; sizes that are equal at first and after each step share one.
struct StagedBody {
  StagedFunction body;
  std::vector<ir::Type> types;
  std::vector<Dim> sizes = {};
};
StagedBody stage_body(std::span<const ir::Type> initial, const TensorFunction& body,
                      std::span<const Tensor> beside);

// TypeError unless a step returns the types that it takes, up to sizes if they may change.
enum class Carried : uint8_t { keeps_its_type, may_change_sizes };
void expect_carried(std::string_view what, std::span<const ir::Type> before,
                    std::span<const ir::Type> after, const Location& location, Carried carried);

}  // namespace plait::control
