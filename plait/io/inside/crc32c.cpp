#include "plait/io/inside/crc32c.h"

#include <array>
#include <cstring>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

namespace plait {
namespace {

constexpr uint32_t kCrc32cPolynomial = 0x82F63B78;  // reflected
constexpr size_t kCrcStep = sizeof(uint64_t);
using CrcTable = std::array<uint32_t, 256>;

// CrcTable k has the remainders of a byte that k zero bytes follow. So the remainder of eight bytes
// is the sum of one entry of each table.
constexpr std::array<CrcTable, kCrcStep> kCrcTables = [] {
  std::array<CrcTable, kCrcStep> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? kCrc32cPolynomial : 0);
    tables[0][byte] = rest;
  }
  for (size_t k = 1; k < kCrcStep; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t rest = tables[k - 1][byte];
      tables[k][byte] = rest >> 8 ^ tables[0][rest & 0xFF];
    }
  }
  return tables;
}();

uint32_t with_byte(uint32_t rest, std::byte byte) {
  return rest >> 8 ^ kCrcTables[0][(rest ^ static_cast<uint32_t>(byte)) & 0xFF];
}

uint32_t with_eight(uint32_t rest, const std::byte* bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kCrcStep; ++i) {
    uint32_t byte = static_cast<uint32_t>(bytes[i]);
    if (i < sizeof(rest)) byte ^= rest >> (8 * i) & 0xFF;
    sum ^= kCrcTables[kCrcStep - 1 - i][byte];
  }
  return sum;
}

#ifdef __x86_64__

[[gnu::target("sse4.2")]] uint32_t by_instructions(std::span<const std::byte> bytes,
                                                   uint32_t before) {
  uint64_t rest = ~before;
  size_t i = 0;
  for (; i + kCrcStep <= bytes.size(); i += kCrcStep) {
    uint64_t eight = 0;
    std::memcpy(&eight, &bytes[i], kCrcStep);
    rest = _mm_crc32_u64(rest, eight);
  }
  auto last = static_cast<uint32_t>(rest);
  for (; i < bytes.size(); ++i) last = _mm_crc32_u8(last, static_cast<unsigned char>(bytes[i]));
  return ~last;
}

bool has_instructions() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

#else

uint32_t by_instructions(std::span<const std::byte> bytes, uint32_t before) {
  return crc32c_by_tables(bytes, before);
}
bool has_instructions() { return false; }

#endif

}  // namespace

uint32_t crc32c_by_tables(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t rest = ~before;
  size_t i = 0;
  for (; i + kCrcStep <= bytes.size(); i += kCrcStep) rest = with_eight(rest, &bytes[i]);
  for (; i < bytes.size(); ++i) rest = with_byte(rest, bytes[i]);
  return ~rest;
}

uint32_t crc32c_of(std::span<const std::byte> bytes, uint32_t before) {
  return has_instructions() ? by_instructions(bytes, before) : crc32c_by_tables(bytes, before);
}

}  // namespace plait
