// Narrow floats: conversions as in core/numbers/float_formats.h, and operations computed in f32 and
// rounded once.
#include <bit>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

#include "tests/cpu/elementwise_support.h"

namespace plait::elementwise_test {
namespace {

constexpr DType kNarrow[] = {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};

std::vector<cpu::NarrowFloats> conversions() {
  std::vector<cpu::NarrowFloats> tables(static_cast<size_t>(best_cpu_level()));
  for (size_t level = 0; level < tables.size(); ++level) cpu::kNarrowFloats[level](tables[level]);
  return tables;
}

uint32_t code_at(const std::vector<std::byte>& bytes, size_t index, size_t size) {
  uint32_t code = 0;
  std::memcpy(&code, bytes.data() + index * size, size);
  return code;
}

// A signalling narrow NaN may become quiet or not.
bool same_float(float a, float b) {
  return std::isnan(a) ? std::isnan(b) && std::signbit(a) == std::signbit(b)
                       : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

TEST(NarrowFloats, AreWidenedExactly) {
  for (const cpu::NarrowFloats& table : conversions()) {
    ASSERT_EQ(table.size(), std::size(kNarrow));
    for (const cpu::NarrowFloat& narrow : table) {
      const auto size = static_cast<size_t>(size_of(narrow.dtype));
      const size_t count = size_t{1} << (8 * size);
      std::vector<std::byte> codes(count * size);
      for (size_t i = 0; i < count; ++i) std::memcpy(codes.data() + i * size, &i, size);
      std::vector<float> result(count);
      const std::byte* in = codes.data();
      narrow.widen(reinterpret_cast<std::byte*>(result.data()), &in, static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i) {
        const FloatFormat format = info_of(narrow.dtype).format;
        const auto expected = static_cast<float>(decode_float(static_cast<uint32_t>(i), format));
        ASSERT_TRUE(same_float(result[i], expected))
            << name_of(narrow.dtype) << ' ' << i << ": " << result[i] << ", not " << expected;
      }
    }
  }
}

TEST(NarrowFloats, AreRoundedOnce) {
  std::vector<float> values = special_values<float>();
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 2477) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  // Ties, and their neighbours.
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 0x1000) {
    for (const int64_t next : {-1, 0, 1}) {
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits + next)));
    }
  }
  for (const cpu::NarrowFloats& table : conversions()) {
    for (const cpu::NarrowFloat& narrow : table) {
      const auto size = static_cast<size_t>(size_of(narrow.dtype));
      std::vector<std::byte> codes(values.size() * size);
      const std::byte* in = bytes_of(values);
      narrow.narrow(codes.data(), &in, static_cast<int64_t>(values.size()));
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(code_at(codes, i, size), encode_float(values[i], info_of(narrow.dtype).format))
            << name_of(narrow.dtype) << " of " << values[i];
      }
    }
  }
}

template <class T>
void check_narrow_arithmetic() {
  using Bits = typename T::Bits;
  std::vector<T> a, b;
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    a.push_back(T::from_bits(static_cast<Bits>(random())));
    b.push_back(T::from_bits(static_cast<Bits>(random())));
  }
  const auto sum = run<T>("add", T::kDType, a, b), e = run<T>("exp", T::kDType, a);
  const auto less = run<bool>("less", T::kDType, a, b), nan = run<bool>("is_nan", T::kDType, a);
  const auto root = run<T>("sqrt", T::kDType, a), next = run<T>("nextafter", T::kDType, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<float>(a[i]), y = static_cast<float>(b[i]);
    const auto same = [&](T result, float expected) {
      return std::isnan(static_cast<float>(T(expected))) ? std::isnan(static_cast<float>(result))
                                                         : result.bits() == T(expected).bits();
    };
    ASSERT_TRUE(same(sum[i], x + y)) << name_of(T::kDType) << ' ' << x << " + " << y;
    ASSERT_TRUE(same(e[i], static_cast<float>(std::exp(double{x})))) << "exp " << x;
    ASSERT_TRUE(same(root[i], std::sqrt(x))) << "sqrt " << x;
    ASSERT_EQ(less[i], x < y);
    ASSERT_EQ(nan[i], std::isnan(x));
    // There is no number between a number and the next one.
    const auto z = static_cast<float>(next[i]);
    if (std::isnan(x) || std::isnan(y)) {
      ASSERT_TRUE(std::isnan(z));
    } else if (x == y) {
      ASSERT_EQ(z, y);
    } else {
      ASSERT_TRUE(x < y ? x < z && z <= y : x > z && z >= y) << x << " to " << y << ": " << z;
      const T middle((double{x} + double{z}) / 2);
      ASSERT_TRUE(middle == a[i] || middle == next[i] || std::isinf(x) || std::isinf(z))
          << x << " to " << y << ": " << z;
    }
  }
}

TEST(NarrowFloats, AreComputedWithInF32) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_narrow_arithmetic<Float16>();
    check_narrow_arithmetic<BFloat16>();
    check_narrow_arithmetic<Float8E4M3>();
    check_narrow_arithmetic<Float8E5M2>();
  }
}

}  // namespace
}  // namespace plait::elementwise_test
