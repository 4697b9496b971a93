// Constants shared by the writer and the reader of the binary form.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait::ir {

inline constexpr std::string_view kBinaryMagic = "PLIR";
inline constexpr uint64_t kBinaryVersion = 1;

}  // namespace plait::ir
