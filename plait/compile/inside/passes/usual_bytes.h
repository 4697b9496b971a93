// Bytes of values whose sizes may be symbols, to weigh one against the other.
#pragma once

#include <cstdint>

#include "plait/ir/type.h"

namespace plait::compile {

inline constexpr int64_t kUsualSize = 64;  // a symbolic size

// 0 for records, and where a size cannot be evaluated.
int64_t usual_bytes(const ir::Type& type);

}  // namespace plait::compile
