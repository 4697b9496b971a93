// The element types, and how two of them promote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plait {

enum class DType : uint8_t {
  f64, f32, f16, bf16, f8e4m3, f8e5m2,
  i8, i16, i32, i64,
  u8, u16, u32, u64,
  boolean,
  c64, c128,
  key,  // the state of a random stream: opaque, never promoted or cast
};
inline constexpr int kDTypeCount = 18;

std::string_view name_of(DType dtype);                      // "f32", "bool", "key"
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace plait
