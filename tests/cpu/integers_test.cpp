// Integers and bool compared with 128-bit arithmetic, at every level.
#include "tests/cpu/elementwise_support.h"

namespace plait::elementwise_test {
namespace {

using WideInteger = __int128;

template <class T>
std::vector<T> unusual() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {L::min(), L::max(), static_cast<T>(L::min() + 1),
                           static_cast<T>(L::max() - 1), static_cast<T>(L::max() / 2)};
  for (int i = -9; i <= 9; ++i) values.push_back(static_cast<T>(i));
  for (const int i : {15, 16, 17, 31, 32, 33, 63, 64, 65, 100}) values.push_back(static_cast<T>(i));
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<T>(random()));
  return values;
}

WideInteger floor_quotient(WideInteger a, WideInteger b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
WideInteger remainder(WideInteger a, WideInteger b) {
  return b == 0 ? 0 : a - floor_quotient(a, b) * b;
}
WideInteger fmod(WideInteger a, WideInteger b) { return b == 0 ? 0 : a % b; }

template <class T>
T left_shift(T a, T b) {
  constexpr int kBits = 8 * sizeof(T);
  if (b < 0 || static_cast<WideInteger>(b) >= kBits) return 0;
  return static_cast<T>(static_cast<unsigned __int128>(a) << b);
}
template <class T>
T right_shift(T a, T b) {
  constexpr int kBits = 8 * sizeof(T);
  if (b < 0 || static_cast<WideInteger>(b) >= kBits) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}
template <class T>
T power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1 || base == static_cast<T>(-1)) return exponent % 2 == 0 ? T{1} : base;
    return 0;
  }
  uint64_t result = 1;
  for (WideInteger i = 0; i < exponent; ++i) result *= static_cast<uint64_t>(base);
  return static_cast<T>(result);
}

template <class T, class Expected>
void check_pairs(std::string_view op, const std::vector<T>& a, const std::vector<T>& b,
                 const Expected& expected) {
  using Out = decltype(expected(T{}, T{}));
  using Result = std::conditional_t<std::is_same_v<Out, bool>, bool, T>;
  const auto result = run<Result>(op, kDTypeOf<T>, a, b);
  ASSERT_EQ(result.size(), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(result[i], static_cast<Result>(expected(a[i], b[i])))
        << name_of(kDTypeOf<T>) << ' ' << op << '(' << +a[i] << ", " << +b[i] << ')';
  }
}

template <class T>
void check_arithmetic(const std::vector<T>& a, const std::vector<T>& b) {
  check_pairs("add", a, b, [](WideInteger x, WideInteger y) { return x + y; });
  check_pairs("subtract", a, b, [](WideInteger x, WideInteger y) { return x - y; });
  check_pairs("multiply", a, b, [](T x, T y) {
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  });
  check_pairs("floor_divide", a, b, floor_quotient);
  check_pairs("remainder", a, b, remainder);
  check_pairs("fmod", a, b, fmod);
  check_pairs("maximum", a, b, [](T x, T y) { return std::max(x, y); });
  check_pairs("minimum", a, b, [](T x, T y) { return std::min(x, y); });
}

template <class T>
void check_bits(const std::vector<T>& a, const std::vector<T>& b) {
  check_pairs("bitwise_and", a, b, [](T x, T y) { return static_cast<T>(x & y); });
  check_pairs("bitwise_or", a, b, [](T x, T y) { return static_cast<T>(x | y); });
  check_pairs("bitwise_xor", a, b, [](T x, T y) { return static_cast<T>(x ^ y); });
  check_pairs("left_shift", a, b, left_shift<T>);
  check_pairs("right_shift", a, b, right_shift<T>);
}

template <class T>
void check_comparisons(const std::vector<T>& a, const std::vector<T>& b) {
  check_pairs("equal", a, b, [](T x, T y) { return x == y; });
  check_pairs("not_equal", a, b, [](T x, T y) { return x != y; });
  check_pairs("less", a, b, [](T x, T y) { return x < y; });
  check_pairs("less_equal", a, b, [](T x, T y) { return x <= y; });
}

// Euclid's algorithm; a multiple that overflows is taken modulo 2^64.
WideInteger divisor(WideInteger a, WideInteger b) {
  return b == 0 ? (a < 0 ? -a : a) : divisor(b, a % b);
}
template <class T>
void check_divisors(const std::vector<T>& a, const std::vector<T>& b) {
  check_pairs("gcd", a, b, [](T x, T y) { return static_cast<T>(divisor(x, y)); });
  check_pairs("lcm", a, b, [](T x, T y) {
    if (x == 0 || y == 0) return T{0};
    const WideInteger first = x / divisor(x, y), second = y;
    const auto size = [](WideInteger v) { return static_cast<uint64_t>(v < 0 ? -v : v); };
    return static_cast<T>(size(first) * size(second));
  });
}

template <class T>
void check_one_operand(const std::vector<T>& a) {
  const auto check = [&](std::string_view op, auto expected) {
    const auto result = run<T>(op, kDTypeOf<T>, a);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(result[i], static_cast<T>(expected(a[i]))) << op << ' ' << +a[i];
    }
  };
  check("negative", [](WideInteger x) { return -x; });
  check("absolute", [](WideInteger x) { return x < 0 ? -x : x; });
  check("sign", [](WideInteger x) { return (x > 0) - (x < 0); });
  check("square", [](T x) { return static_cast<uint64_t>(x) * static_cast<uint64_t>(x); });
  check("bitwise_not", [](T x) { return ~x; });
  EXPECT_EQ(run<bool>("is_nan", kDTypeOf<T>, a), std::vector<uint8_t>(a.size(), 0));
}

template <class T>
void check_integer() {
  const auto [a, b] = pairs(unusual<T>(), unusual<T>());
  check_arithmetic(a, b);
  check_bits(a, b);
  check_divisors(a, b);
  check_comparisons(a, b);
  check_one_operand(a);
  std::vector<T> exponents;
  for (int i = std::is_signed_v<T> ? -3 : 0; i < 70; ++i) exponents.push_back(static_cast<T>(i));
  const auto [base, exponent] = pairs(unusual<T>(), exponents);
  check_pairs("power", base, exponent, power<T>);
  const std::vector<T> low(a.size(), T{2}), high(a.size(), T{90});
  const auto clamped = run<T>("clamp", kDTypeOf<T>, low, a, high);
  const std::vector<uint8_t> condition(a.size(), 1);
  EXPECT_EQ(run<T>("select", kDTypeOf<T>, condition, a, b), a);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(clamped[i], std::clamp(a[i], T{2}, T{90}));
}

TEST(Integers, WrapAndCompare) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_integer<int8_t>();
    check_integer<int16_t>();
    check_integer<int32_t>();
    check_integer<int64_t>();
    check_integer<uint8_t>();
    check_integer<uint16_t>();
    check_integer<uint32_t>();
    check_integer<uint64_t>();
  }
}

TEST(Booleans, AreLogic) {
  using Bytes = std::vector<uint8_t>;
  const Bytes a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  const auto two = [&](std::string_view op) { return run<uint8_t>(op, DType::boolean, a, b); };
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    for (const char* op : {"add", "bitwise_or", "maximum"}) EXPECT_EQ(two(op), (Bytes{0, 1, 1, 1}));
    for (const char* op : {"multiply", "bitwise_and", "minimum"}) {
      EXPECT_EQ(two(op), (Bytes{0, 0, 0, 1}));
    }
    for (const char* op : {"bitwise_xor", "not_equal"}) EXPECT_EQ(two(op), (Bytes{0, 1, 1, 0}));
    EXPECT_EQ(two("equal"), (Bytes{1, 0, 0, 1}));
    EXPECT_EQ(two("less"), (Bytes{0, 1, 0, 0}));
    EXPECT_EQ(two("less_equal"), (Bytes{1, 1, 0, 1}));
    EXPECT_EQ(run<uint8_t>("bitwise_not", DType::boolean, b), (Bytes{1, 0, 1, 0}));
    EXPECT_EQ(run<uint8_t>("select", DType::boolean, a, b, a), (Bytes{0, 0, 0, 1}));
  }
}

}  // namespace
}  // namespace plait::elementwise_test
