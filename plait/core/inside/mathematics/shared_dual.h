// Dual numbers (dual.inl).
#pragma once

#include "plait/core/inside/mathematics/shared_names.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/dual.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT
