// The content of .gz files (RFC 1952) with one member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/io/inside/deflate.h"

namespace plait {

bool is_gzip(std::span<const std::byte> bytes);

// Decompresses the content in order. ParseError if the file is not a gzip file or is damaged.
class GzipReader {
 public:
  explicit GzipReader(std::span<const std::byte> file);

  void read(std::span<std::byte> into);  // fills `into`
  void expect_end();                     // checks the end, the checksum and the length

 private:
  std::span<const std::byte> file_;
  Inflater inflater_;
  uint64_t length_ = 0;
};

}  // namespace plait
