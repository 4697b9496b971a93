#include "plait/core/hash.h"

#include <bit>

#include <fmt/core.h>

namespace plait {
namespace {

// The test key of the SipHash paper: bytes 0, 1, ... 15.
constexpr uint64_t kKey0 = 0x0706050403020100, kKey1 = 0x0f0e0d0c0b0a0908;

void rounds(std::array<uint64_t, 4>& v, int count) {
  for (; count > 0; --count) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = std::rotl(v[1], 13) ^ v[0];
    v[3] = std::rotl(v[3], 16) ^ v[2];
    v[0] = std::rotl(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = std::rotl(v[1], 17) ^ v[2];
    v[3] = std::rotl(v[3], 21) ^ v[0];
    v[2] = std::rotl(v[2], 32);
  }
}

uint64_t folded(const std::array<uint64_t, 4>& v) { return v[0] ^ v[1] ^ v[2] ^ v[3]; }

uint64_t read_word(const std::byte* bytes, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; ++i) word |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

}  // namespace

std::string Hash128::text() const { return fmt::format("{:016x}{:016x}", high, low); }

// The initial state is the ASCII text "somepseudorandomlygeneratedbytes"; 0xee selects 128 bits.
Hasher::Hasher()
    : state_{0x736f6d6570736575 ^ kKey0, 0x646f72616e646f6d ^ kKey1 ^ 0xee,
             0x6c7967656e657261 ^ kKey0, 0x7465646279746573 ^ kKey1} {}

void Hasher::absorb(uint64_t word) {
  state_[3] ^= word;
  rounds(state_, 2);
  state_[0] ^= word;
}

void Hasher::update(uint64_t word) {
  const int shift = static_cast<int>(size_ % 8) * 8;
  size_ += 8;
  absorb(pending_ | word << shift);
  pending_ = shift == 0 ? 0 : word >> (64 - shift);
}

void Hasher::update(std::span<const std::byte> bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) update(read_word(bytes.data(), 8));
  const size_t room = 8 - size_ % 8;
  const uint64_t rest = read_word(bytes.data(), bytes.size());
  const int shift = static_cast<int>(size_ % 8) * 8;
  size_ += bytes.size();
  pending_ |= rest << shift;
  if (bytes.size() >= room) {
    absorb(pending_);
    pending_ = shift == 0 ? 0 : rest >> (64 - shift);
  }
}

Hash128 Hasher::finish() const {
  Hasher end = *this;
  end.absorb(pending_ | size_ << 56);
  end.state_[2] ^= 0xee;
  rounds(end.state_, 4);
  const uint64_t first = folded(end.state_);
  end.state_[1] ^= 0xdd;
  rounds(end.state_, 4);
  return {.high = folded(end.state_), .low = first};
}

Hash128 hash_of(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

Hash128 hash_of(std::string_view text) { return hash_of(std::as_bytes(std::span(text))); }

uint64_t hash_bytes(std::span<const std::byte> bytes) { return hash_of(bytes).low; }
uint64_t hash_bytes(std::string_view text) { return hash_of(text).low; }

}  // namespace plait
