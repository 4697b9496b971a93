// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random
// numbers: as easy as 1, 2, 3", 2011). Each 64-bit key is a permutation of the 128-bit counters;
// the images of consecutive counters are the random numbers. So each element of a stream can be
// computed independently.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "plait/core/numbers/element.h"

namespace plait {

using PhiloxBlock = std::array<uint32_t, 4>;

inline constexpr uint32_t kPhiloxFirstFactor = 0xd2511f53, kPhiloxSecondFactor = 0xcd9e8d57;
// Increments of the key from round to round: the golden ratio and sqrt(3) - 1.
inline constexpr uint32_t kPhiloxFirstStep = 0x9e3779b9, kPhiloxSecondStep = 0xbb67ae85;
inline constexpr int kPhiloxRounds = 10;

constexpr PhiloxBlock philox(PhiloxBlock counter, uint64_t key) {
  auto first = static_cast<uint32_t>(key), second = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p = uint64_t{kPhiloxFirstFactor} * counter[0];
    const uint64_t q = uint64_t{kPhiloxSecondFactor} * counter[2];
    counter = {static_cast<uint32_t>(q >> 32) ^ counter[1] ^ first, static_cast<uint32_t>(q),
               static_cast<uint32_t>(p >> 32) ^ counter[3] ^ second, static_cast<uint32_t>(p)};
    first += kPhiloxFirstStep;
    second += kPhiloxSecondStep;
  }
  return counter;
}

// A key of a stream (dtype `key`) holds the key of Philox and the upper half of its counters; the
// lower half is the index of a block in the stream.
constexpr PhiloxBlock stream_block(const KeyBits& key, uint64_t number) {
  return philox({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32),
                 static_cast<uint32_t>(key.words[1]), static_cast<uint32_t>(key.words[1] >> 32)},
                key.words[0]);
}

constexpr uint64_t first_word(const PhiloxBlock& block) {
  return block[0] | (uint64_t{block[1]} << 32);
}
constexpr uint64_t second_word(const PhiloxBlock& block) {
  return block[2] | (uint64_t{block[3]} << 32);
}
// The stream as 64-bit numbers.
constexpr uint64_t stream_word(const KeyBits& key, uint64_t number) {
  const PhiloxBlock block = stream_block(key, number / 2);
  return number % 2 == 0 ? first_word(block) : second_word(block);
}

// `count` bytes of a stream from byte `first` on, which must be a multiple of the block size.
inline void stream_bytes(const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
  constexpr int64_t kBlock = sizeof(PhiloxBlock);
  for (int64_t done = 0; done < count; done += kBlock) {
    const PhiloxBlock block = stream_block(key, static_cast<uint64_t>((first + done) / kBlock));
    std::memcpy(out + done, block.data(), static_cast<size_t>(std::min(kBlock, count - done)));
  }
}

// Derived keys are blocks under other Philox keys than the one for random numbers, so that they
// coincide with those only with probability 2^-128.
constexpr KeyBits derived_key(const KeyBits& key, uint64_t number, uint64_t purpose) {
  const PhiloxBlock block = stream_block({{key.words[0] ^ purpose, key.words[1]}}, number);
  return {{first_word(block), second_word(block)}};
}
constexpr KeyBits key_of_seed(uint64_t seed) { return derived_key({}, seed, 0x243f6a8885a308d3); }
constexpr KeyBits child_key(const KeyBits& key, uint64_t number) {
  return derived_key(key, number, 0x13198a2e03707344);
}
constexpr KeyBits folded_key(const KeyBits& key, uint64_t number) {
  return derived_key(key, number, 0xa4093822299f31d0);
}

}  // namespace plait
