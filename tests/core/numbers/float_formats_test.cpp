#include "plait/core/numbers/float_formats.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/special_numbers.h"

namespace plait {
namespace {

template <class T>
class FloatFormats : public testing::Test {};
using Formats = testing::Types<Float16, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(FloatFormats, Formats);

template <class T>
constexpr uint32_t kPatternCount = uint32_t{1} << (8 * sizeof(T));

template <class T>
T from_pattern(uint32_t pattern) {
  return T::from_bits(static_cast<typename T::Bits>(pattern));
}

// The value by the definition of the formats.
template <class T>
double value_by_definition(uint32_t pattern) {
  constexpr int kMantissaBits = T::kFormat.mantissa_bits;
  constexpr int kExponents = 1 << T::kFormat.exponent_bits;
  const double sign = (pattern & (kPatternCount<T> / 2)) != 0 ? -1 : 1;
  const int mantissa = static_cast<int>(pattern & ((1 << kMantissaBits) - 1));
  const int exponent = static_cast<int>(pattern >> kMantissaBits) & (kExponents - 1);
  const int bias = kExponents / 2 - 1;
  if (exponent == kExponents - 1 && T::kFormat.has_infinity) {
    return mantissa == 0 ? sign * kInfinity : kNan;
  }
  if (exponent == kExponents - 1 && mantissa == (1 << kMantissaBits) - 1) return kNan;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - kMantissaBits);
  return sign * std::ldexp((1 << kMantissaBits) + mantissa, exponent - bias - kMantissaBits);
}

TYPED_TEST(FloatFormats, EachPatternHasTheDefinedValue) {
  for (uint32_t pattern = 0; pattern < kPatternCount<TypeParam>; ++pattern) {
    const double expected = value_by_definition<TypeParam>(pattern);
    const auto value = static_cast<double>(from_pattern<TypeParam>(pattern));
    const auto narrow = static_cast<float>(from_pattern<TypeParam>(pattern));
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << pattern;
    ASSERT_EQ(std::isnan(narrow), std::isnan(expected)) << pattern;
    if (std::isnan(expected)) continue;
    ASSERT_EQ(value, expected) << pattern;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << pattern;
    ASSERT_EQ(static_cast<double>(narrow), expected) << pattern;
  }
}

TYPED_TEST(FloatFormats, EachPatternReadsBack) {
  constexpr uint32_t kQuiet = uint32_t{1} << (TypeParam::kFormat.mantissa_bits - 1);
  for (uint32_t pattern = 0; pattern < kPatternCount<TypeParam>; ++pattern) {
    const auto value = static_cast<double>(from_pattern<TypeParam>(pattern));
    const uint32_t back = TypeParam(value).bits();
    ASSERT_EQ(back, std::isnan(value) ? pattern | kQuiet : pattern);
  }
}

TYPED_TEST(FloatFormats, BetweenNeighboursTheNearerAndTheEvenOneWins) {
  const uint32_t finite = kPatternCount<TypeParam> / 2;
  for (uint32_t pattern = 0; pattern + 1 < finite; ++pattern) {
    const double low = value_by_definition<TypeParam>(pattern);
    const double high = value_by_definition<TypeParam>(pattern + 1);
    if (!std::isfinite(high)) break;
    const double half = (low + high) / 2;
    const uint32_t even = pattern + (pattern & 1);
    for (const int sign : {1, -1}) {
      const uint32_t sign_bit = sign < 0 ? finite : 0;
      ASSERT_EQ(TypeParam(sign * half).bits(), sign_bit | even) << half;
      ASSERT_EQ(TypeParam(sign * std::nextafter(half, 0.)).bits(), sign_bit | pattern) << half;
      ASSERT_EQ(TypeParam(sign * std::nextafter(half, kInfinity)).bits(), sign_bit | (pattern + 1));
    }
  }
}

TYPED_TEST(FloatFormats, PastTheLargestComesInfinityOrNan) {
  const FloatLimits limits = float_limits(TypeParam::kDType);
  const double last_step =
      limits.max - static_cast<double>(TypeParam::from_bits(
                       static_cast<typename TypeParam::Bits>(TypeParam(limits.max).bits() - 1)));
  const double tie = limits.max + last_step / 2;
  // The largest number has an odd mantissa in formats with infinity, an even one if only NaN
  // follows.
  const double tie_result = TypeParam::kFormat.has_infinity ? kInfinity : limits.max;
  EXPECT_EQ(static_cast<double>(TypeParam(std::nextafter(tie, 0.))), limits.max);
  EXPECT_EQ(static_cast<double>(TypeParam(tie)), tie_result);
  for (const double large : {std::nextafter(tie, kInfinity), 1e300, kInfinity}) {
    const auto up = static_cast<double>(TypeParam(large));
    const auto down = static_cast<double>(TypeParam(-large));
    EXPECT_EQ(std::isnan(up), !TypeParam::kFormat.has_infinity);
    EXPECT_EQ(std::isinf(down), TypeParam::kFormat.has_infinity);
    EXPECT_TRUE(std::signbit(down));
    EXPECT_FALSE(std::signbit(up));
  }
}

TYPED_TEST(FloatFormats, BelowHalfOfTheSmallestComesZero) {
  const double smallest = float_limits(TypeParam::kDType).smallest_subnormal;
  EXPECT_EQ(TypeParam(smallest / 2).bits(), 0);
  EXPECT_EQ(TypeParam(std::nextafter(smallest / 2, 1.)).bits(), 1);
  EXPECT_EQ(TypeParam(std::numeric_limits<double>::denorm_min()).bits(), 0);
  EXPECT_EQ(TypeParam(std::numeric_limits<double>::min()).bits(), 0);
  EXPECT_EQ(TypeParam(-0.0).bits(), kPatternCount<TypeParam> / 2);
}

TYPED_TEST(FloatFormats, ComparesAsNumbers) {
  EXPECT_EQ(TypeParam(0.0), TypeParam(-0.0));
  EXPECT_LT(TypeParam(-1.0), TypeParam(0.5));
  EXPECT_FALSE(TypeParam(kNan) == TypeParam(kNan));
  EXPECT_FALSE(TypeParam(kNan) < TypeParam(1.0));
}

TEST(KnownFloats, KnownPatterns) {
  EXPECT_EQ(Float16(1.0).bits(), 0x3c00);
  EXPECT_EQ(Float16(kNan).bits(), 0x7e00);
  EXPECT_EQ(BFloat16(1.0).bits(), 0x3f80);
  EXPECT_EQ(BFloat16(kNan).bits(), 0x7fc0);
  EXPECT_EQ(Float8E4M3(1.0).bits(), 0x38);
  EXPECT_EQ(Float8E4M3(-kNan).bits(), 0xff);
  EXPECT_EQ(Float8E4M3(448.0).bits(), 0x7e);
  EXPECT_EQ(Float8E5M2(1.0).bits(), 0x3c);
  EXPECT_EQ(Float8E5M2(kNan).bits(), 0x7e);
  EXPECT_EQ(Float8E5M2(-kInfinity).bits(), 0xfc);
}

// Through f32, 1 + 2^-11 + 2^-40 would first become 1 + 2^-11, then the even 1.
TEST(KnownFloats, RoundsOnce) {
  EXPECT_EQ(Float16(1 + std::ldexp(1, -11) + std::ldexp(1, -40)).bits(), 0x3c01);
  EXPECT_EQ(BFloat16(1 + std::ldexp(1, -8) + std::ldexp(1, -50)).bits(), 0x3f81);
}

static_assert(static_cast<float>(Float16(1.5)) == 1.5f, "conversions work in constants");
static_assert(sizeof(BFloat16) == 2 && sizeof(Float8E5M2) == 1);

}  // namespace
}  // namespace plait
