// Deflate and CRC-32, with zlib. A build without zlib has only the checksum: the rest is an
// IoError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "plait/io/inside/byte_fields.h"

namespace plait {

// The maximum compression ratio of deflate: 258 bytes from two bits.
inline constexpr uint64_t kMostInflation = 1032;

// `before` is the checksum of the preceding bytes.
uint32_t crc32_of(std::span<const std::byte> bytes, uint32_t before = 0);

// Decompresses a deflate stream from beginning to end. ParseError if it is malformed.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> deflated);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(std::span<std::byte> into);         // fills `into`
  size_t read_some(std::span<std::byte> into);  // less than requested only at the end
  void expect_end();
  size_t taken() const;                      // deflated bytes that were used up
  uint32_t crc32() const { return crc32_; }  // crc32 of all bytes read so far

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
  uint32_t crc32_ = 0;
};

// Compresses the concatenated parts, and returns the number of bytes written to the sink.
uint64_t deflate_into(const ByteSink& sink, std::span<const std::span<const std::byte>> parts);

}  // namespace plait
