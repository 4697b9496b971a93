// Conversions of arrays compared with those of single elements, at every level.
#include "plait/cpu/inside/elementwise/conversion.h"

#include <random>

#include "tests/cpu/elementwise_support.h"

namespace plait::elementwise_test {
namespace {

// Special values, limits of integers and their neighbours, and midpoints between narrow floats.
std::vector<double> many_numbers() {
  std::vector<double> numbers = special_values<double>();
  for (int bits = 6; bits <= 64; ++bits) {
    for (const double beside : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0}) {
      numbers.push_back(std::ldexp(1.0, bits) + beside);
      numbers.push_back(-std::ldexp(1.0, bits) + beside);
    }
  }
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int> exponent(-160, 160);
  std::uniform_int_distribution<int> digits(1, 40);
  for (int i = 0; i < 20'000; ++i) {
    const auto whole = static_cast<double>(random() >> (64 - digits(random)));
    const double near = i % 3 == 0 ? whole + std::ldexp(1.0, -30) : whole;
    const double number = i % 2 == 0 ? near : std::ldexp(near, exponent(random));
    numbers.push_back(i % 5 == 0 ? -number : number);
  }
  return numbers;
}

bool alike(const Array& a, const Array& b, int64_t i) {
  const int64_t size = a.element_size();
  const Element left = load_element(a.dtype(), a.data() + i * size);
  if (std::isnan(left.number.real())) {
    return std::isnan(load_element(b.dtype(), b.data() + i * size).number.real());
  }
  return std::memcmp(a.data() + i * size, b.data() + i * size, static_cast<size_t>(size)) == 0;
}

TEST(Conversion, IsThatOfSingleElements) {
  const std::vector<double> values = many_numbers();
  const auto count = static_cast<int64_t>(values.size());
  const Array numbers = Array::of(std::span<const double>(values), {count});
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    for (const DTypeInfo& from : kDTypes) {
      if (is_key(from.dtype)) continue;
      const Array x = numbers.converted(from.dtype);
      for (const DTypeInfo& to : kDTypes) {
        if (is_key(to.dtype)) continue;
        const Array expected = x.converted(to.dtype), result = converted(x, to.dtype);
        ASSERT_EQ(result.dtype(), to.dtype);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_TRUE(alike(result, expected, i))
              << name_of(from.dtype) << " to " << name_of(to.dtype) << " of "
              << values[static_cast<size_t>(i)];
        }
      }
    }
  }
}

TEST(Conversion, TakesWhatLiesElsewhere) {
  std::vector<float> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
  const Array x = Array::of(std::span<const float>(values), {50, 100});
  const std::vector<int64_t> order = {1, 0};
  const Array turned = x.view(x.layout().permuted(order));
  const Array result = converted(turned, DType::i32);
  ASSERT_TRUE(result.is_contiguous());
  EXPECT_EQ(result.elements<int32_t>()[1], 33);
  EXPECT_EQ(result.elements<int32_t>()[50], 0);
}

}  // namespace
}  // namespace plait::elementwise_test
