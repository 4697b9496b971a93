// The deflate format and CRC-32, by zlib. A build without zlib has the checksum only: the rest is
// an IoError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "plait/io/inside/byte_fields.h"

namespace plait {

// No deflated byte becomes more than so many: 258 for two bits.
inline constexpr uint64_t kMostInflation = 1032;

// Goes on from the checksum of what came before.
uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before = 0);

// Reads what was deflated, from its beginning to its end. ParseError for what is no such thing.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> deflated);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(std::span<std::byte> into);  // fills it
  void expect_end();
  uint32_t crc32() const { return crc32_; }  // of all that was read

 private:
  struct Stream;
  size_t read_some(std::span<std::byte> into);

  std::unique_ptr<Stream> stream_;
  uint32_t crc32_ = 0;
};

// Deflates the parts, one behind the other, and returns how many bytes went into the sink.
uint64_t deflate_into(const ByteSink& sink, std::span<const std::span<const std::byte>> parts);

}  // namespace plait
