// Helpers for functions built from Γ (gamma_parts.inl).
#pragma once

#include "plait/core/inside/mathematics/shared_names.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/gamma_parts.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

namespace plait::special {

using shared::kInfinity;
using shared::kNan;

}  // namespace plait::special
