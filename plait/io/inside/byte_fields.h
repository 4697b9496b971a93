// Little-endian fields of binary files.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plait/core/error.h"

namespace plait {

// Receives the bytes of a file in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string_view characters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <std::unsigned_integral T>
void append_number(std::vector<std::byte>& bytes, std::type_identity_t<T> value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// A cursor over the bytes of a file, which are read in order. Reading past the end is a ParseError
// that names the position.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes, uint64_t position = 0)
      : bytes_(bytes), position_(position) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return position_ < bytes_.size() ? bytes_.size() - position_ : 0; }
  void skip(uint64_t count) { take(count); }

  std::span<const std::byte> take(uint64_t count) {
    if (count > left()) {
      throw ParseError("byte {}: expected {} bytes, {} are left", position_, count, left());
    }
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  template <std::unsigned_integral T>
  T number() {
    uint64_t value = 0;
    int shift = 0;
    for (const std::byte byte : take(sizeof(T))) {
      value |= static_cast<uint64_t>(byte) << shift;
      shift += 8;
    }
    return static_cast<T>(value);
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_;
};

}  // namespace plait
