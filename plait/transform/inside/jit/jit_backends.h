// Backends that run the programs recorded by jit.
#pragma once

#include <string>

#include "plait/transform/jit.h"

namespace plait::jits {

JitBackend backend_of(const std::string& name);  // KeyError if there is no such backend

}  // namespace plait::jits
