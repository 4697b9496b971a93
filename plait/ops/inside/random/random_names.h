// Random numbers that the library and kernels of devices share (random_units.inl, gamma_draws.inl,
// count_draws.inl), as core/inside/mathematics/shared_names.h.
#pragma once

#include "plait/core/inside/mathematics/shared_names.h"
#include "plait/ops/inside/random/philox.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::draws {

using namespace special::shared;
using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;
using Key = KeyBits;

#include "plait/ops/inside/random/random_units.inl"

}  // namespace plait::draws
#undef SHARED_TEXT
