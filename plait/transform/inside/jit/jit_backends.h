// What runs the programs that jit records.
#pragma once

#include <string>

#include "plait/transform/jit.h"

namespace plait::jits {

JitBackend backend_of(const std::string& name);  // KeyError where there is none of that name

}  // namespace plait::jits
