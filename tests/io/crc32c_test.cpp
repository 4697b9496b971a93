#include "plait/io/inside/crc32c.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/io/inside/byte_fields.h"

namespace plait {
namespace {

uint32_t crc_of(const std::string& bytes) { return crc32c_of(bytes_of(std::string_view(bytes))); }

std::string counting(int begin, int step) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(begin + i * step);
  return bytes;
}

// The vectors of RFC 3720, appendix B.4, and the check value of the polynomial.
TEST(Crc32c, HasTheValuesOfTheStandard) {
  EXPECT_EQ(crc_of(""), 0u);
  EXPECT_EQ(crc_of("123456789"), 0xE3069283u);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(crc_of(counting(0, 1)), 0x46DD794Eu);
  EXPECT_EQ(crc_of(counting(31, -1)), 0x113FDB5Cu);
}

TEST(Crc32c, IsTheSameInPartsAndByTables) {
  std::vector<std::byte> bytes(1003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i + i / 7);
  const std::span<const std::byte> all(bytes);
  for (size_t begin = 0; begin < 20; ++begin) {
    for (size_t size = 0; size < 70; ++size) {
      const auto part = all.subspan(begin, size);
      EXPECT_EQ(crc32c_by_tables(part), crc32c_of(part)) << begin << " " << size;
    }
  }
  for (size_t cut = 0; cut <= all.size(); cut += 13) {
    EXPECT_EQ(crc32c_of(all.subspan(cut), crc32c_of(all.first(cut))), crc32c_of(all));
    EXPECT_EQ(crc32c_by_tables(all.subspan(cut), crc32c_by_tables(all.first(cut))), crc32c_of(all));
  }
}

}  // namespace
}  // namespace plait
