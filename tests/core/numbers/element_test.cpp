#include "plait/core/numbers/element.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/special_numbers.h"

namespace plait {
namespace {

template <class To, class From>
To converted(From value) {
  To result;
  convert(kDTypeOf<From>, reinterpret_cast<const std::byte*>(&value), kDTypeOf<To>,
          reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

TEST(Element, TypesAndDTypesCorrespond) {
  for (const DTypeInfo& info : kDTypes) {
    with_element_type(info.dtype, [&]<class T>(std::type_identity<T>) {
      EXPECT_EQ(kDTypeOf<T>, info.dtype);
      EXPECT_EQ(static_cast<int64_t>(sizeof(T)), size_of(info.dtype)) << info.name;
    });
  }
  EXPECT_THROW(with_element_type(static_cast<DType>(99), [](auto) {}), TypeError);
}

TEST(Element, IntegersWrapAround) {
  EXPECT_EQ(converted<int8_t>(int32_t{200}), -56);
  EXPECT_EQ(converted<uint8_t>(int64_t{-1}), 255);
  EXPECT_EQ(converted<uint64_t>(int8_t{-1}), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(converted<int16_t>(uint64_t{0x18000}), std::numeric_limits<int16_t>::min());
  EXPECT_EQ(converted<int64_t>(uint32_t{0xffffffff}), 0xffffffff);
}

TEST(Element, FloatsSaturate) {
  EXPECT_EQ(converted<int8_t>(200.0), 127);
  EXPECT_EQ(converted<int8_t>(-200.0f), -128);
  EXPECT_EQ(converted<uint8_t>(-3.0), 0);
  EXPECT_EQ(converted<int32_t>(kNan), 0);
  EXPECT_EQ(converted<uint32_t>(kInfinity), 0xffffffff);
  EXPECT_EQ(converted<int64_t>(0x1p63), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(converted<int64_t>(-0x1p63), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(converted<uint64_t>(0x1p64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(converted<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(converted<int16_t>(Float16(-1.75)), -1);
  EXPECT_EQ(converted<int16_t>(Float16(1.75)), 1);
}

TEST(Element, BoolIsWhetherItDiffersFromZero) {
  EXPECT_FALSE(converted<bool>(-0.0));
  EXPECT_TRUE(converted<bool>(kNan));
  EXPECT_TRUE(converted<bool>(int16_t{256}));
  EXPECT_TRUE(converted<bool>(std::complex<float>(0, 1)));
  EXPECT_FALSE(converted<bool>(std::complex<float>(0, -0.f)));
  EXPECT_TRUE(converted<bool>(Float8E4M3(0.002)));
  EXPECT_EQ(converted<float>(true), 1.f);
  EXPECT_EQ(converted<uint8_t>(true), 1);
  EXPECT_EQ(converted<Float8E5M2>(true).bits(), 0x3c);
}

TEST(Element, ComplexGivesItsRealPart) {
  EXPECT_EQ(converted<double>(std::complex<double>(2.5, 7)), 2.5);
  EXPECT_EQ(converted<int8_t>(std::complex<float>(-2.5, 7)), -2);
  EXPECT_EQ(converted<std::complex<double>>(std::complex<float>(1, 2)), std::complex<double>(1, 2));
  EXPECT_EQ(converted<std::complex<float>>(int64_t{3}), std::complex<float>(3, 0));
}

TEST(Element, IntegersAreRoundedOnce) {
  // 1 above a tie of bf16. Rounding to f64 first would give the tie itself.
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  EXPECT_EQ(converted<BFloat16>(above_tie).bits(), 0x5e81);
  EXPECT_EQ(converted<BFloat16>(above_tie - 1).bits(), 0x5e80);
  EXPECT_EQ(converted<BFloat16>(-above_tie).bits(), 0xde81);
  EXPECT_EQ(converted<float>(above_tie), static_cast<float>(above_tie));
  EXPECT_EQ(converted<Float16>(std::numeric_limits<uint64_t>::max()).bits(), 0x7c00);
  EXPECT_EQ(converted<BFloat16>(std::numeric_limits<int64_t>::min()).bits(), 0xdf00);
}

TEST(Element, EqualDTypesAreCopiedBitForBit) {
  const uint32_t signalling = 0x7f800001;
  uint32_t copy = 0;
  convert(DType::f32, reinterpret_cast<const std::byte*>(&signalling), DType::f32,
          reinterpret_cast<std::byte*>(&copy), 1);
  EXPECT_EQ(copy, signalling);
  const KeyBits key{{1, 2}};
  EXPECT_EQ(converted<KeyBits>(key), key);
}

TEST(Element, KeysAreNotConverted) {
  std::byte bytes[32] = {};
  EXPECT_THROW(convert(DType::key, bytes, DType::u64, bytes + 16, 1), TypeError);
  EXPECT_THROW(convert(DType::u64, bytes, DType::key, bytes + 16, 1), TypeError);
  EXPECT_THROW(convert(DType::u64, bytes, DType::key, bytes + 16, 0), TypeError);
  EXPECT_THROW(load_element(DType::key, bytes), TypeError);
  EXPECT_THROW(store_element(DType::key, Element::of(1.0), bytes), TypeError);
}

TEST(Element, ConvertsManyAndNone) {
  const std::vector<int16_t> source = {-2, -1, 0, 1, 300};
  std::vector<double> target(source.size() + 1, 7);
  convert(DType::i16, reinterpret_cast<const std::byte*>(source.data()), DType::f64,
          reinterpret_cast<std::byte*>(target.data()), 5);
  EXPECT_EQ(target, (std::vector<double>{-2, -1, 0, 1, 300, 7}));
  convert(DType::i16, nullptr, DType::f64, nullptr, 0);
  convert(DType::f64, nullptr, DType::f64, nullptr, 0);
  EXPECT_THROW(convert(DType::i16, nullptr, DType::f64, nullptr, -1), ValueError);
  EXPECT_THROW(convert(DType::f64, nullptr, DType::f64, nullptr, -1), ValueError);
  EXPECT_THROW(convert(static_cast<DType>(77), nullptr, DType::f64, nullptr, 1), TypeError);
}

TEST(Element, MemoryNeedNotBeAligned) {
  std::byte bytes[24] = {};
  store_element(DType::c128, Element::of(std::complex<double>(1, 2)), bytes + 3);
  const Element element = load_element(DType::c128, bytes + 3);
  EXPECT_EQ(element.number, std::complex<double>(1, 2));
  EXPECT_EQ(element.kind, DTypeKind::complex);
}

TEST(Element, AnyByteButZeroIsTrue) {
  const std::byte odd{6};
  EXPECT_EQ(load_element(DType::boolean, &odd).integer, 1u);
}

}  // namespace
}  // namespace plait
