#include "plait/ir/inside/text/location_text.h"

#include <gtest/gtest.h>

#include "plait/core/text.h"

namespace plait::ir {
namespace {

std::string location_text(Location location) {
  std::string out;
  print_location(out, location);
  return out;
}

TEST(LocationText, ReadsBack) {
  for (const auto& [file, line, text] :
       {std::tuple{"model.cpp", 14, "model.cpp:14"},
        std::tuple{"my model.cpp", 3, "\"my model.cpp\":3"}, std::tuple{"a:7", 9, "a:7:9"},
        std::tuple{"a\nb", 2, "\"a\\nb\":2"}, std::tuple{"bare", 0, "bare:0"},
        std::tuple{"program+0x1f3a", 0, "program+0x1f3a"}, std::tuple{"\"", 1, "\"\\\"\":1"}}) {
    const Location location = Location::of(file, line);
    EXPECT_EQ(location_text(location), text);
    EXPECT_EQ(parse_location(text), location) << text;
  }
}

TEST(LocationText, OrdinaryCommentsAreNoLocations) {
  for (const char* text : {"", "a remark", "the ratio is 3:14", "x:", ":14", "x:1y", "word", "+0x1",
                           "a+0xg", "\"a\"b:1", "\"a:1", "x:1234567890123456789"}) {
    EXPECT_FALSE(parse_location(text).known()) << text;
  }
}

TEST(LocationText, StandsInTheRestOfTheLine) {
  TextReader reader("x  ;  model.cpp:14 \ny ; no place\nz\n; model.cpp:15");
  reader.name();
  EXPECT_EQ(parse_location(reader.comment()).text(), "model.cpp:14");
  reader.name();
  EXPECT_FALSE(parse_location(reader.comment()).known());
  reader.name();
  EXPECT_FALSE(parse_location(reader.comment()).known());
}

}  // namespace
}  // namespace plait::ir
