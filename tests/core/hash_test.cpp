#include "plait/core/hash.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

std::string counting_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

// The test vectors of SipHash list the 16 bytes in order: those of `low`, little-endian, then
// `high`.
std::string bytes_of(Hash128 hash) {
  std::string text;
  for (uint64_t word : {hash.low, hash.high}) {
    for (int i = 0; i < 8; ++i) text += fmt::format("{:02x}", word >> (8 * i) & 0xff);
  }
  return text;
}

TEST(Hash, AgreesWithSipHash) {
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(0))), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(1))), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(7))), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(8))), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(16))), "6ee2a4ca67b054bbfd3315bf85230577");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(63))), "5150d1772f50834a503e069a973fbd7c");
  EXPECT_EQ(bytes_of(hash_of(counting_bytes(1000))), "24dafa789ae03d86536a4b57372f0ba6");
}

TEST(Hash, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes = counting_bytes(40);
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      Hasher hasher;
      hasher.update(std::string_view(bytes).substr(0, first));
      hasher.update(std::string_view(bytes).substr(first, second - first));
      hasher.update(std::string_view(bytes).substr(second));
      ASSERT_EQ(hasher.finish(), hash_of(bytes)) << first << ' ' << second;
    }
  }
}

TEST(Hash, TakesAWordAsItsBytesLowestFirst) {
  for (size_t before = 0; before < 8; ++before) {
    Hasher words, bytes;
    words.update(counting_bytes(before));
    words.update(uint64_t{0x0807060504030201});
    words.update("end");
    bytes.update(counting_bytes(before) + "\1\2\3\4\5\6\7\10end");
    EXPECT_EQ(words.finish(), bytes.finish()) << before;
  }
}

TEST(Hash, GoesOnAfterFinish) {
  Hasher hasher;
  hasher.update("one");
  EXPECT_EQ(hasher.finish(), hash_of("one"));
  hasher.update(" two");
  EXPECT_EQ(hasher.finish(), hash_of("one two"));
}

// Flips each input bit of random words; returns the largest deviation from 1/2 of the probability
// that an output bit flips.
template <class HashFunction>
double worst_bias(const HashFunction& hash) {
  constexpr int kSamples = 4000;
  std::mt19937_64 random(1);
  std::vector<int> flips(64 * 64);
  for (int sample = 0; sample < kSamples; ++sample) {
    const uint64_t input = random();
    const uint64_t output = hash(input);
    for (int in = 0; in < 64; ++in) {
      const uint64_t changed = output ^ hash(input ^ uint64_t{1} << in);
      for (int out = 0; out < 64; ++out) flips[in * 64 + out] += changed >> out & 1;
    }
  }
  double worst = 0;
  for (int count : flips) worst = std::max(worst, std::abs(double(count) / kSamples - 0.5));
  return worst;
}

TEST(Hash, EveryInputBitSwaysEveryOutputBit) {
  EXPECT_LT(worst_bias([](uint64_t x) { return mix_bits(x); }), 0.05);
  EXPECT_LT(worst_bias([](uint64_t x) { return hash_combine(7, x); }), 0.05);
  EXPECT_LT(worst_bias([](uint64_t x) { return hash_combine(x, 7); }), 0.05);
  const auto hash128 = [](uint64_t x) {
    Hasher hasher;
    hasher.update(x);
    return hasher.finish();
  };
  EXPECT_LT(worst_bias([&](uint64_t x) { return hash128(x).low; }), 0.05);
  EXPECT_LT(worst_bias([&](uint64_t x) { return hash128(x).high; }), 0.05);
}

TEST(Hash, AMillionShortInputsDoNotCollide) {
  std::unordered_set<uint64_t> low, high, combined;
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const Hash128 hash = hash_of(fmt::format("{}", i));
    low.insert(hash.low);
    high.insert(hash.high);
    combined.insert(hash_combine(i / 1000, i % 1000));
  }
  EXPECT_EQ(low.size(), 1'000'000);
  EXPECT_EQ(high.size(), 1'000'000);
  EXPECT_EQ(combined.size(), 1'000'000);
}

TEST(Hash, CombineDependsOnTheOrder) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
  static_assert(hash_combine(0, 0) != 0);
}

TEST(Hash, Text) {
  EXPECT_EQ((Hash128{.high = 0xab, .low = 1}.text()), "00000000000000ab0000000000000001");
}

}  // namespace
}  // namespace plait
