// What .gz files hold (RFC 1952): one member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/io/inside/deflate.h"

namespace plait {

bool is_gzip(std::span<const std::byte> bytes);

// Reads the content in order. ParseError for what is no such file, or is damaged.
class GzipReader {
 public:
  explicit GzipReader(std::span<const std::byte> file);

  void read(std::span<std::byte> into);  // fills it
  void expect_end();                     // that all was read, and that checksum and length agree

 private:
  std::span<const std::byte> file_;
  Inflater inflater_;
  uint64_t length_ = 0;
};

}  // namespace plait
