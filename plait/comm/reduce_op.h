// How the values of several ranks become one.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait::dist {

enum class ReduceOp : uint8_t {
  sum,
  average,  // floating and complex numbers only
  product,
  min,  // NaN if any is NaN, but for the engine nccl
  max,
  band,  // bitwise: integers and booleans only
  bor,
  bxor,
};
inline constexpr int kReduceOpCount = 8;

std::string_view name_of(ReduceOp op);  // "sum"

}  // namespace plait::dist
