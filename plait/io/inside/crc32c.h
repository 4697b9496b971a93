// CRC-32C (Castagnoli), the checksum of TensorBoard's records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plait {

// `before` is the checksum of the preceding bytes.
uint32_t crc32c_of(std::span<const std::byte> bytes, uint32_t before = 0);

// The same without the instructions of the processor, for tests.
uint32_t crc32c_by_tables(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace plait
