// Operations on two and three floats, for all pairs of special values, at every level.
#include <array>

#include "tests/cpu/elementwise_support.h"

namespace plait::elementwise_test {
namespace {

template <class T>
T python_remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  if (std::isnan(rest)) return rest;
  if (rest == 0) return std::copysign(T{0}, b);
  return std::signbit(rest) != std::signbit(b) ? rest + b : rest;
}
template <class T>
T log_add_exp(T a, T b) {
  if (a == b) return a + std::log(T{2});
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}
template <class T>
T maximum(T a, T b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || a < b ? b : a;
}
template <class T>
T minimum(T a, T b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || a > b ? b : a;
}

template <class T>
struct Operation {
  std::string_view op;
  T (*expected)(T, T);
  double ulps = 0;
};

// Computed in T itself: rounded once, exact, or the C library's result.
template <class T>
const std::vector<Operation<T>>& exact_operations() {
  static const std::vector<Operation<T>> kOperations = {
      {"add", [](T a, T b) { return a + b; }},
      {"subtract", [](T a, T b) { return a - b; }},
      {"multiply", [](T a, T b) { return a * b; }},
      {"divide", [](T a, T b) { return a / b; }},
      {"maximum", maximum<T>},
      {"minimum", minimum<T>},
      {"copysign", [](T a, T b) { return std::copysign(a, b); }},
      {"nextafter", [](T a, T b) { return std::nextafter(a, b); }},
      {"fmod", [](T a, T b) { return std::fmod(a, b); }},
      {"remainder", python_remainder<T>}};
  return kOperations;
}

template <class T>
std::pair<std::vector<T>, std::vector<T>> many_pairs() {
  const std::vector<T> special = special_values<T>();
  auto [a, b] = pairs(special, special);
  std::mt19937_64 random(5);
  std::normal_distribution<T> near(0, 4);
  for (int i = 0; i < 20'000; ++i) {
    a.push_back(near(random));
    b.push_back(near(random));
  }
  return {a, b};
}

template <class T, class Expected>
void check_many_pairs(std::string_view op, const Expected& expected, double most) {
  const auto [a, b] = many_pairs<T>();
  const auto result = run<T>(op, kDTypeOf<T>, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const auto right = expected(a[i], b[i]);
    ASSERT_LE(ulps_between(result[i], right), most)
        << op << '(' << a[i] << ", " << b[i] << ") gives " << result[i] << ", not " << right;
  }
}

template <class T>
void check_exact_operations() {
  for (const Operation<T>& operation : exact_operations<T>()) {
    check_many_pairs<T>(operation.op, operation.expected, operation.ulps);
  }
}

TEST(BinaryFloats, AreExactOrAsInTheCLibrary) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_exact_operations<float>();
    check_exact_operations<double>();
  }
}

TEST(BinaryFloats, FunctionsAreWithinTwoUlp) {
  const auto check = [](std::string_view op, auto in_double, auto in_long_double) {
    check_many_pairs<float>(op, in_double, 2);
    check_many_pairs<double>(op, in_long_double, 2);
  };
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check(
        "power", [](double a, double b) { return std::pow(a, b); },
        [](Wide a, Wide b) { return std::pow(a, b); });
    check(
        "atan2", [](double a, double b) { return std::atan2(a, b); },
        [](Wide a, Wide b) { return std::atan2(a, b); });
    check(
        "hypot", [](double a, double b) { return std::hypot(a, b); },
        [](Wide a, Wide b) { return std::hypot(a, b); });
    check_many_pairs<float>("logaddexp", log_add_exp<double>, 2);
  }
}

// Numbers of every exponent, paired with powers of every exponent and with numbers of similar
// magnitude.
std::pair<std::vector<double>, std::vector<double>> far_pairs() {
  std::vector<double> a, b;
  const auto add = [&](double x, double y) {
    a.push_back(x);
    b.push_back(y);
  };
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-1080, 1080), inside(-1, 1);
  for (int i = 0; i < 30'000; ++i) {
    const double any = std::bit_cast<double>(random());
    const double beside_one = 1 + inside(random) * std::exp2(-40 * std::abs(inside(random)));
    const double other = std::exp2(30 * inside(random));
    for (const double x : {any, beside_one, other}) {
      add(std::abs(x), exponent(random) / std::log2(std::abs(x)));
    }
    add(std::copysign(other, inside(random)), std::round(30 * inside(random)));
    add(any, any * inside(random));
    add(any, any * other);
  }
  return {a, b};
}

TEST(BinaryFloats, FunctionsOfF64AreWithinTwoUlpOverAllExponents) {
  const auto [a, b] = far_pairs();
  const auto check = [&](std::string_view op, Wide (*exact)(Wide, Wide)) {
    const auto result = run<double>(op, DType::f64, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const Wide expected = exact(a[i], b[i]);
      ASSERT_LE(ulps_between(result[i], expected), 2)
          << fmt::format("{}({:a}, {:a}) gives {:a}", op, a[i], b[i], result[i]);
    }
  };
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check("power", std::pow);
    check("hypot", std::hypot);
    check("atan2", std::atan2);
  }
}

// The sum of a number and a logarithm, which may nearly cancel.
TEST(BinaryFloats, LogAddExpOfF64IsNearForItsOperands) {
  const auto [a, b] = many_pairs<double>();
  const auto result = run<double>("logaddexp", DType::f64, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const Wide expected = log_add_exp<Wide>(a[i], b[i]);
    if (ulps_between(result[i], expected) <= 2) continue;
    const double size = std::max({1.0, std::abs(a[i]), std::abs(b[i])});
    ASSERT_LE(std::abs(result[i] - expected), 1e-15 * size) << a[i] << ", " << b[i];
  }
}

TEST(BinaryFloats, FloorDivideIsNumPys) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<std::array<double, 3>> cases = {
      {7, 2, 3},     {-7, 2, -4},   {7, -2, -4},   {-7, -2, 3}, {1, 0.1, 9},
      {6, 0.1, 59},  {1, 0, inf},   {-1, 0, -inf}, {0, 0, nan}, {5, inf, 0},
      {-5, inf, -1}, {inf, 2, nan}, {nan, 1, nan}, {0, 3, 0},   {-0.0, 3, -0.0}};
  for (const auto& [a, b, quotient] : cases) {
    const auto result = run<double>("floor_divide", DType::f64, std::vector{a}, std::vector{b});
    EXPECT_EQ(ulps_between(result[0], quotient), 0) << a << " // " << b << " = " << result[0];
  }
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    const auto [a, b] = many_pairs<float>();
    const auto quotient = run<float>("floor_divide", DType::f32, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const double exact = double{a[i]} / b[i];
      if (b[i] == 0 || !std::isfinite(exact) || std::isinf(a[i]) || std::abs(exact) > 1e6) continue;
      ASSERT_NEAR(quotient[i], std::floor(exact), std::isinf(b[i]) ? 1 : 1e-6)
          << a[i] << " // " << b[i];
    }
  }
}

template <class T>
void check_float_comparisons() {
  const auto [a, b] = many_pairs<T>();
  constexpr DType kDType = kDTypeOf<T>;
  const auto equal = run<bool>("equal", kDType, a, b),
             differ = run<bool>("not_equal", kDType, a, b);
  const auto less = run<bool>("less", kDType, a, b), most = run<bool>("less_equal", kDType, a, b);
  const auto nan = run<bool>("is_nan", kDType, a), infinite = run<bool>("is_infinite", kDType, a);
  const auto finite = run<bool>("is_finite", kDType, a);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(equal[i], a[i] == b[i]);
    ASSERT_EQ(differ[i], a[i] != b[i]);
    ASSERT_EQ(less[i], a[i] < b[i]);
    ASSERT_EQ(most[i], a[i] <= b[i]);
    ASSERT_EQ(nan[i], std::isnan(a[i]));
    ASSERT_EQ(infinite[i], std::isinf(a[i]));
    ASSERT_EQ(finite[i], std::isfinite(a[i]));
  }
}

template <class T>
void check_choice() {
  const auto [a, b] = many_pairs<T>();
  std::vector<uint8_t> condition(a.size());
  for (size_t i = 0; i < a.size(); ++i) condition[i] = i % 3 == 0;
  const std::vector<T> low(a.size(), T{-1}), high(a.size(), T{2});
  const auto chosen = run<T>("select", kDTypeOf<T>, condition, a, b);
  const auto clamped = run<T>("clamp", kDTypeOf<T>, low, a, high);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(ulps_between(chosen[i], condition[i] != 0 ? a[i] : b[i]), 0);
    ASSERT_EQ(ulps_between(clamped[i], minimum(maximum(a[i], T{-1}), T{2})), 0) << a[i];
  }
}

TEST(BinaryFloats, ComparisonsAndChoice) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_float_comparisons<float>();
    check_float_comparisons<double>();
    check_choice<float>();
    check_choice<double>();
  }
}

}  // namespace
}  // namespace plait::elementwise_test
