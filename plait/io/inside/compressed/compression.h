// Files that are compressed as a whole, for readers that do not decompress.
#pragma once

#include <cstddef>
#include <span>

namespace plait {

// ParseError if the bytes begin as a file of gzip, zstd, bzip2 or xz.
void expect_not_compressed(std::span<const std::byte> file);

}  // namespace plait
