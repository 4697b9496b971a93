// Tensors of dtypes that Plait lacks: their bytes, and the values of those that f32 holds exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "plait/tensor/memory/array.h"

namespace plait {

// The bytes of a tensor of these sizes, whose elements have so many bits, as u8: the last axis is
// in bytes, also of packed elements; one axis if their rows end within a byte. It borrows the bytes
// if `owner` keeps them alive.
Array stored_bytes(Sizes sizes, uint64_t bits_of_element, std::span<const std::byte> bytes,
                   std::shared_ptr<const void> owner);

// F8_E8M0, F8_E4M3FNUZ and F8_E5M2FNUZ as f32. TypeError for other dtypes.
Array stored_values(std::string_view dtype, Sizes sizes, std::span<const std::byte> bytes);

}  // namespace plait
