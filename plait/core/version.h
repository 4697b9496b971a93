// The version of Plait.
#pragma once

#include <string_view>

namespace plait {

std::string_view version();  // "0.1.0"

}  // namespace plait
