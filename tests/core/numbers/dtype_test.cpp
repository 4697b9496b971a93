#include "plait/core/numbers/dtype.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

TEST(DType, NamesReadBack) {
  std::set<std::string_view> names;
  for (const DTypeInfo& info : kDTypes) {
    EXPECT_EQ(name_of(info.dtype), info.name);
    EXPECT_EQ(parse_dtype(info.name), info.dtype);
    EXPECT_EQ(parse_dtype_or_alias(info.name), info.dtype);
    EXPECT_EQ(parse_dtype_or_alias(info.long_name), info.dtype);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(names.size(), size_t{kDTypeCount});
}

TEST(DType, KnowsTheNamesOfTheDesign) {
  EXPECT_EQ(parse_dtype("bf16"), DType::bf16);
  EXPECT_EQ(parse_dtype("f8e4m3"), DType::f8e4m3);
  EXPECT_EQ(parse_dtype("bool"), DType::boolean);
  EXPECT_EQ(parse_dtype("key"), DType::key);
  EXPECT_EQ(parse_dtype_or_alias("float32"), DType::f32);
  EXPECT_EQ(parse_dtype_or_alias("complex64"), DType::c64);
  EXPECT_EQ(parse_dtype_or_alias("uint8"), DType::u8);
}

TEST(DType, UnknownNamesGiveNothing) {
  for (const char* name : {"", "f", "f3", "f321", "F32", " f32", "float32", "int", "boolean"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
  EXPECT_EQ(parse_dtype_or_alias("float31"), std::nullopt);
  EXPECT_EQ(parse_dtype(std::string_view("f32\0", 4)), std::nullopt);
}

TEST(DType, Sizes) {
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::f8e5m2), 1);
  EXPECT_EQ(size_of(DType::u32), 4);
  EXPECT_EQ(size_of(DType::boolean), 1);
  EXPECT_EQ(size_of(DType::c64), 8);
  EXPECT_EQ(size_of(DType::c128), 16);
  EXPECT_EQ(size_of(DType::key), 16);
}

TEST(DType, EachIsOfOneKind) {
  for (const DTypeInfo& info : kDTypes) {
    const DType dtype = info.dtype;
    const int kinds = is_boolean(dtype) + is_integer(dtype) + is_floating(dtype) +
                      is_complex(dtype) + is_key(dtype);
    EXPECT_EQ(kinds, 1) << info.name;
    EXPECT_EQ(is_inexact(dtype), is_floating(dtype) || is_complex(dtype)) << info.name;
    const char first = info.name[0];
    EXPECT_EQ(is_signed(dtype), is_inexact(dtype) || first == 'i') << info.name;
    EXPECT_EQ(is_boolean(dtype), info.name == "bool");
    EXPECT_EQ(is_integer(dtype), first == 'i' || first == 'u') << info.name;
    EXPECT_EQ(is_complex(dtype), first == 'c') << info.name;
  }
}

TEST(DType, PartsOfComplexNumbers) {
  EXPECT_EQ(real_dtype(DType::c64), DType::f32);
  EXPECT_EQ(real_dtype(DType::c128), DType::f64);
  EXPECT_EQ(real_dtype(DType::bf16), DType::bf16);
  EXPECT_EQ(real_dtype(DType::key), DType::key);
}

TEST(DType, FloatLimits) {
  EXPECT_EQ(float_limits(DType::f16).max, 65504);
  EXPECT_EQ(float_limits(DType::f8e4m3).max, 448);
  EXPECT_EQ(float_limits(DType::f8e5m2).max, 57344);
  EXPECT_EQ(float_limits(DType::f64).max, std::numeric_limits<double>::max());
  EXPECT_EQ(float_limits(DType::f64).smallest_subnormal, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(float_limits(DType::f32).epsilon, std::numeric_limits<float>::epsilon());
  EXPECT_EQ(float_limits(DType::bf16).smallest_normal, std::numeric_limits<float>::min());
  EXPECT_EQ(float_limits(DType::c64).max, std::numeric_limits<float>::max());
  EXPECT_EQ(float_limits(DType::c64).bits, 32);
}

TEST(DType, IntegerLimits) {
  EXPECT_EQ(integer_limits(DType::i8).min, -128);
  EXPECT_EQ(integer_limits(DType::i64).min, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer_limits(DType::i64).max, uint64_t{std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(integer_limits(DType::u64).max, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(integer_limits(DType::u16).min, 0);
  EXPECT_EQ(integer_limits(DType::u16).bits, 16);
}

TEST(DType, LimitsOfOtherDTypesAreTypeErrors) {
  EXPECT_THROW(float_limits(DType::i32), TypeError);
  EXPECT_THROW(float_limits(DType::key), TypeError);
  EXPECT_THROW(integer_limits(DType::boolean), TypeError);
  EXPECT_THROW(integer_limits(DType::f32), TypeError);
}

TEST(DType, ANumberThatIsNoneIsATypeError) {
  const auto none = static_cast<DType>(kDTypeCount);
  EXPECT_THROW(name_of(none), TypeError);
  EXPECT_THROW(size_of(none), TypeError);
  EXPECT_THROW(is_floating(static_cast<DType>(255)), TypeError);
  try {
    name_of(none);
  } catch (const TypeError& error) {
    EXPECT_EQ(error.message(), "18 is not a dtype");
  }
}

}  // namespace
}  // namespace plait
