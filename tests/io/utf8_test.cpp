#include "plait/io/inside/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace plait {
namespace {

std::string encoded(uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  const auto last = static_cast<char>(0x80 | (c & 63)),
             middle = static_cast<char>(0x80 | (c >> 6 & 63));
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), middle, last};
  return {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)), middle,
          last};
}

TEST(Utf8, AllCharactersAndNothingElse) {
  for (uint32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 0x7f) {
    const bool is_surrogate = c >= 0xD800 && c < 0xE000;
    EXPECT_EQ(is_valid_utf8(encoded(c)), !is_surrogate) << c;
  }
  for (const uint32_t c : {0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    EXPECT_TRUE(is_valid_utf8(encoded(c))) << c;
  }
  for (const uint32_t c : {0xD800u, 0xDFFFu, 0x110000u, 0x1FFFFFu}) {
    EXPECT_FALSE(is_valid_utf8(encoded(c))) << c;
  }
}

TEST(Utf8, OverlongAndCutSequencesEndIt) {
  const std::string text = "0123456789é€😀";
  EXPECT_EQ(valid_utf8_bytes(text), text.size());
  EXPECT_EQ(valid_utf8_bytes(text.substr(0, text.size() - 1)), text.size() - 4);
  for (const char* bad : {"\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xff",
                          "\xc3(", "\xe2\x82", "\xe2(\xa1", "\xf0\x9f\x98"}) {
    EXPECT_EQ(valid_utf8_bytes("abcdefgh" + std::string(bad) + "abcdefgh"), 8u);
  }
}

}  // namespace
}  // namespace plait
