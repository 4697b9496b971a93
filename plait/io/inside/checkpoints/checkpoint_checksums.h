// The checksums of a file of a checkpoint, in its metadata: "plait.crc32c" has that of the header
// and that of the tensors, 8 hexadecimal digits each. So every bit of the file is covered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plait {

inline constexpr const char* kChecksumsEntry = "plait.crc32c";
inline constexpr const char* kUnknownChecksums = "00000000 00000000";

// Replaces kUnknownChecksums in the beginning of a file, up to its tensors.
void set_checksums(std::string& header, uint32_t of_tensors);

// ParseError unless the file, whose header can be parsed, has these checksums. That of the tensors
// reads all of it.
void check_header_checksum(std::span<const std::byte> file);
void check_tensors_checksum(std::span<const std::byte> file);

}  // namespace plait
