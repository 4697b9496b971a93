// Common parts of schedules.
#pragma once

#include <string_view>

#include "plait/optim/schedules/schedules.h"

namespace plait::optim {

// ValueError unless the number is 0 or more.
void expect_from_zero(std::string_view schedule, std::string_view name, double value);
// ValueError unless the number is above 0.
void expect_above_zero(std::string_view schedule, std::string_view name, double value);
// From start to end, as part goes from 0 to 1.
Tensor along(Shape1d shape, const Tensor& start, const Tensor& end, const Tensor& part);

}  // namespace plait::optim
