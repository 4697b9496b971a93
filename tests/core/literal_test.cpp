#include "plait/core/literal.h"

#include <gtest/gtest.h>
using namespace plait;
TEST(Literal, Scalar) {
  EXPECT_EQ(Literal::scalar(DType::f32, 3.5).text(), "f32[](3.5)");
  for (const char* t : {"f32[2, 2](1, 2, 3.5, nan)", "f16[2](65500, nan:0xfe00)", "c64[]((1-infj))",
                        "bool[2](true, false)", "key[](0x000102030405060708090a0b0c0d0e0f)",
                        "f32[1000](0 ...)", "i8[0]()"}) {
    size_t p = 0;
    EXPECT_EQ(parse_literal(t, p).text(), t);
    EXPECT_EQ(p, std::string_view(t).size());
  }
}
