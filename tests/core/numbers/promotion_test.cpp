#include "plait/core/numbers/promotion.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

std::vector<DType> dtypes_but_key() {
  std::vector<DType> result;
  for (const DTypeInfo& info : kDTypes) {
    if (!is_key(info.dtype)) result.push_back(info.dtype);
  }
  return result;
}

std::optional<DType> find_promotion(std::optional<DType> a, std::optional<DType> b) {
  if (!a || !b) return std::nullopt;
  return plait::find_promotion(*a, *b);
}

TEST(Promotion, IsCommutativeAndKeepsADType) {
  for (const DType a : dtypes_but_key()) {
    EXPECT_EQ(promote(a, a), a);
    for (const DType b : dtypes_but_key()) {
      EXPECT_EQ(plait::find_promotion(a, b), plait::find_promotion(b, a))
          << name_of(a) << " " << name_of(b);
    }
  }
}

// The result depends on the order only if a pair loses what a later operand requires: u64 with a
// signed integer becomes the default float, f32, immediately; f8e4m3 with f8e5m2 is refused
// immediately.
TEST(Promotion, IsAssociativeButForTheExceptions) {
  const auto is_small_float = [](DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; };
  const auto is_signed_integer = [](DType dtype) { return is_integer(dtype) && is_signed(dtype); };
  int exceptions = 0;
  for (const DType a : dtypes_but_key()) {
    for (const DType b : dtypes_but_key()) {
      for (const DType c : dtypes_but_key()) {
        const auto left = find_promotion(plait::find_promotion(a, b), c);
        const auto right = find_promotion(a, plait::find_promotion(b, c));
        if (left == right) continue;
        ++exceptions;
        const std::array all = {a, b, c};
        const bool mixes_u64 = std::ranges::count(all, DType::u64) == 1 &&
                               std::ranges::any_of(all, is_signed_integer) &&
                               std::ranges::any_of(all, is_small_float);
        const bool mixes_f8 = std::ranges::count(all, DType::f8e4m3) > 0 &&
                              std::ranges::count(all, DType::f8e5m2) > 0;
        EXPECT_TRUE(mixes_u64 || mixes_f8) << name_of(a) << " " << name_of(b) << " " << name_of(c);
      }
    }
  }
  // Four of the six orders of three operands have the third one first or last, so that the pair is
  // adjacent: u64 with four signed integers and four small floats, and the two f8 with six wider
  // dtypes.
  EXPECT_EQ(exceptions, 4 * (4 * 4 + 6));
}

TEST(Promotion, DoesNotDependOnTheOrder) {
  for (const DType a : dtypes_but_key()) {
    for (const DType b : dtypes_but_key()) {
      for (const DType c : dtypes_but_key()) {
        std::array all = {a, b, c};
        std::optional<DType> first;
        try {
          first = promote(all);
        } catch (const TypeError&) {
        }
        std::ranges::sort(all);
        std::optional<DType> sorted;
        try {
          sorted = promote(all);
        } catch (const TypeError&) {
        }
        ASSERT_EQ(first, sorted);
      }
    }
  }
  EXPECT_EQ(promote(std::array{DType::u64, DType::i64, DType::f16}), DType::f16);
  EXPECT_EQ(promote(std::array{DType::f8e4m3, DType::f8e5m2, DType::f32}), DType::f32);
}

TEST(Promotion, WrittenOut) {
  struct Case {
    DType a, b, result;
  };
  using enum DType;
  const auto cases = std::to_array<Case>({
      {i8, u8, i16},
      {i8, u16, i32},
      {i32, u32, i64},
      {u8, i64, i64},
      {boolean, u8, u8},
      {boolean, f16, f16},
      {f16, bf16, f32},
      {f32, f64, f64},
      {f64, c64, c128},
      {bf16, c64, c64},
      {i64, f16, f16},
      {u64, i8, f32},
      {f8e4m3, f16, f16},
      {f8e5m2, bf16, bf16},
      {i32, f8e4m3, f8e4m3},
      {i64, c64, c64},
      {boolean, boolean, boolean},
      {u32, u64, u64},
  });
  for (const auto& [a, b, result] : cases) {
    EXPECT_EQ(promote(a, b), result) << name_of(a) << " " << name_of(b);
  }
}

TEST(Promotion, ScalarsTakeTheDTypeUnlessTheirKindIsAbove) {
  using enum DType;
  EXPECT_EQ(promote(f32, ScalarKind::integer), f32);
  EXPECT_EQ(promote(u8, ScalarKind::integer), u8);
  EXPECT_EQ(promote(f8e5m2, ScalarKind::floating), f8e5m2);
  EXPECT_EQ(promote(i32, ScalarKind::floating), f32);
  EXPECT_EQ(promote(boolean, ScalarKind::integer), i64);
  EXPECT_EQ(promote(i8, ScalarKind::boolean), i8);
  EXPECT_EQ(promote(f16, ScalarKind::complex), c64);
  EXPECT_EQ(promote(f64, ScalarKind::complex), c128);
  EXPECT_EQ(promote(c64, ScalarKind::floating), c64);
}

TEST(Promotion, LoneScalarsTakeTheDefault) {
  EXPECT_EQ(default_dtype(ScalarKind::boolean), DType::boolean);
  EXPECT_EQ(default_dtype(ScalarKind::integer), DType::i64);
  EXPECT_EQ(default_dtype(ScalarKind::floating), DType::f32);
  EXPECT_EQ(default_dtype(ScalarKind::complex), DType::c64);
  EXPECT_EQ(promote({}, std::array{ScalarKind::integer, ScalarKind::floating}), DType::f32);
}

TEST(Promotion, RefusesWithTheNames) {
  const auto refusal_of = [](DType a, DType b) {
    return message_of<TypeError>([&] { promote(a, b); });
  };
  for (const DTypeInfo& info : kDTypes) {
    EXPECT_EQ(refusal_of(DType::key, info.dtype),
              fmt::format("no common dtype for key and {}", info.name));
  }
  EXPECT_EQ(refusal_of(DType::f8e4m3, DType::f8e5m2), "no common dtype for f8e4m3 and f8e5m2");
  EXPECT_THROW(promote(DType::key, ScalarKind::boolean), TypeError);
  EXPECT_THROW(promote(std::span<const DType>()), ValueError);
  EXPECT_THROW(promote(static_cast<DType>(40), DType::f32), TypeError);
  EXPECT_THROW(promote(DType::f32, static_cast<ScalarKind>(9)), TypeError);
}

}  // namespace
}  // namespace plait
