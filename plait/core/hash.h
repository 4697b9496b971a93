// Hashes that are equal on every machine and in every process, good enough to be identities. They
// are not cryptographic.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace plait {

// A bijection in which every input bit affects every output bit (the finaliser of splitmix64).
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return x;
}

// Order matters: combine(combine(s, a), b) differs from combine(combine(s, b), a).
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return mix_bits(seed + 0x9e3779b97f4a7c15 + mix_bits(value));
}

struct Hash128 {
  uint64_t high = 0, low = 0;

  std::string text() const;  // 32 hexadecimal digits
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// Hashes a stream of bytes (SipHash-2-4 with a 128-bit result and a fixed key). The result does not
// depend on how the bytes are split into updates; a caller that hashes several items of variable
// length must hash their lengths too.
class Hasher {
 public:
  Hasher();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  void update(uint64_t word);  // its eight bytes, little-endian
  Hash128 finish() const;      // the hash of all bytes so far; more may follow

 private:
  void absorb(uint64_t word);

  std::array<uint64_t, 4> state_;
  uint64_t pending_ = 0;  // the last size_ % 8 bytes
  uint64_t size_ = 0;
};

Hash128 hash_of(std::span<const std::byte> bytes);
Hash128 hash_of(std::string_view text);

// 64-bit hashes for hash tables.
uint64_t hash_bytes(std::span<const std::byte> bytes);
uint64_t hash_bytes(std::string_view text);

}  // namespace plait

template <>
struct std::hash<plait::Hash128> {
  size_t operator()(const plait::Hash128& h) const noexcept { return static_cast<size_t>(h.low); }
};
