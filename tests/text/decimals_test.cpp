#include "plait/text/inside/files/decimals.h"

#include <cmath>

#include <gtest/gtest.h>

namespace plait::text {
namespace {

TEST(Decimals, AreTheShortest) {
  EXPECT_EQ(decimal_text(0), "0.0");
  EXPECT_EQ(decimal_text(-0.0), "-0.0");
  EXPECT_EQ(decimal_text(-12.5), "-12.5");
  EXPECT_EQ(decimal_text(100), "100.0");
  EXPECT_EQ(decimal_text(0.1), "0.1");
  EXPECT_EQ(decimal_text(1.25e-5), "0.0000125");
  EXPECT_EQ(decimal_text(1.25e-6), "1.25e-6");
  EXPECT_EQ(decimal_text(1e15), "1000000000000000.0");
  EXPECT_EQ(decimal_text(1e16), "1e16");
}

// Results of the reference, which rounds the integer and then the quotient.
TEST(Decimals, AreReadAsTheReferenceReadsThem) {
  EXPECT_EQ(decimal_text(as_reference_reads(-12.619790092540581)), "-12.61979009254058");
  EXPECT_EQ(as_reference_reads(-8.007904139226698), -8.007904139226698);
  for (const double value : {0.0, 1.0, -0.5, 100.0, 1e22, 1e-7, 5e-324, 1.7976931348623157e308}) {
    EXPECT_NEAR(as_reference_reads(value) / (value == 0 ? 1 : value), value == 0 ? 0 : 1, 1e-15);
  }
  EXPECT_TRUE(std::isnan(as_reference_reads(NAN)));
}

}  // namespace
}  // namespace plait::text
