// Complex functions compared with std::complex of a wider type, and separately at values where
// NumPy differs from it.
#include <complex>

#include "tests/cpu/elementwise_support.h"

namespace plait::elementwise_test {
namespace {

using WideComplex = std::complex<long double>;

template <class C>
std::vector<C> numbers(uint64_t seed) {
  using T = typename C::value_type;
  std::mt19937_64 random(seed);
  std::normal_distribution<T> near(0, 2);
  std::vector<C> values = {C(1), C(0, 1), C(-1), C(0, -1), C(3, 4), C(-0.5, 0.25)};
  for (int i = 0; i < 500; ++i) values.push_back({near(random), near(random)});
  return values;
}

// The tolerance is relative to the absolute value, since one part may be much smaller than the
// other.
template <class C>
void expect_near(std::string_view op, C result, WideComplex expected, double ulps = 8) {
  using T = typename C::value_type;
  const auto distance = static_cast<double>(std::abs(WideComplex(result) - expected));
  const auto size = static_cast<double>(std::abs(expected));
  ASSERT_LE(distance, ulps * std::numeric_limits<T>::epsilon() * size)
      << op << " gives " << result << ", not " << expected;
}

struct ComplexFunction {
  std::string_view op;
  WideComplex (*expected)(const WideComplex&);
};
const ComplexFunction kComplexFunctions[] = {
    {"sqrt", std::sqrt},
    {"exp", std::exp},
    {"log", std::log},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"asinh", std::asinh},
    {"acosh", std::acosh},
    {"atanh", std::atanh},
    {"negative", [](const WideComplex& a) { return -a; }},
    {"conjugate", [](const WideComplex& a) { return std::conj(a); }},
    {"square", [](const WideComplex& a) { return a * a; }},
    {"reciprocal", [](const WideComplex& a) { return WideComplex(1) / a; }},
    {"rsqrt", [](const WideComplex& a) { return WideComplex(1) / std::sqrt(a); }},
    {"sign", [](const WideComplex& a) { return a / std::abs(a); }},
};
struct ComplexOperation {
  std::string_view op;
  WideComplex (*expected)(const WideComplex&, const WideComplex&);
};
const ComplexOperation kComplexOperations[] = {
    {"add", [](const WideComplex& a, const WideComplex& b) { return a + b; }},
    {"subtract", [](const WideComplex& a, const WideComplex& b) { return a - b; }},
    {"multiply", [](const WideComplex& a, const WideComplex& b) { return a * b; }},
    {"divide", [](const WideComplex& a, const WideComplex& b) { return a / b; }},
    {"power", [](const WideComplex& a, const WideComplex& b) { return std::pow(a, b); }},
};

template <class C>
void check_complex() {
  using T = typename C::value_type;
  constexpr DType kDType = kDTypeOf<C>;
  const auto a = numbers<C>(1), b = numbers<C>(2);
  for (const ComplexFunction& function : kComplexFunctions) {
    const auto result = run<C>(function.op, kDType, a);
    for (size_t i = 6; i < a.size(); ++i) {  // without the poles
      expect_near(function.op, result[i], function.expected(WideComplex(a[i])), 40);
    }
  }
  for (const ComplexOperation& operation : kComplexOperations) {
    const auto result = run<C>(operation.op, kDType, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      expect_near(operation.op, result[i], operation.expected(WideComplex(a[i]), WideComplex(b[i])),
                  40);
    }
  }
  const auto size = run<T>("absolute", kDType, a), real = run<T>("real", kDType, a);
  const auto imag = run<T>("imag", kDType, a);
  const auto equal = run<bool>("equal", kDType, a, a),
             differ = run<bool>("not_equal", kDType, a, b);
  const std::vector<uint8_t> condition(a.size(), 0);
  EXPECT_EQ(run<C>("select", kDType, condition, a, b), b);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(ulps_between(size[i], std::abs(WideComplex(a[i]))), 1);
    ASSERT_EQ(C(real[i], imag[i]), a[i]);
    ASSERT_TRUE(equal[i]);
    ASSERT_EQ(differ[i], a[i] != b[i]);
  }
}

TEST(ComplexNumbers, AreAsInTheLibrary) {
  check_complex<std::complex<float>>();
  check_complex<std::complex<double>>();
}

TEST(ComplexNumbers, UnusualValues) {
  using C = std::complex<double>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<C> values = {0, {inf, 0}, {0, -inf}, {nan, 1}, {1, nan}, {inf, nan}, {1, 2}};
  EXPECT_EQ(run<bool>("is_nan", DType::c128, values), (std::vector<uint8_t>{0, 0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(run<bool>("is_infinite", DType::c128, values),
            (std::vector<uint8_t>{0, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(run<bool>("is_finite", DType::c128, values),
            (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(run<C>("sign", DType::c128, values)[0], C(0));
  const auto power = [](C a, C b) {
    return run<C>("power", DType::c128, std::vector{a}, std::vector{b})[0];
  };
  EXPECT_EQ(power(0, 0), C(1));
  EXPECT_EQ(power(0, 2), C(0));
  EXPECT_TRUE(std::isnan(power(0, -1).real()));
  EXPECT_EQ(power(C(0, 1), 2), C(-1));
  EXPECT_EQ(power(2, -2), C(0.25));
  // A quotient of large numbers does not overflow, and one by 0 is infinite.
  const auto quotient = [](C a, C b) {
    return run<C>("divide", DType::c128, std::vector{a}, std::vector{b})[0];
  };
  EXPECT_EQ(quotient(C(1e300, 1e300), C(1e300, 1e300)), C(1));
  EXPECT_EQ(quotient(1, 0).real(), inf);
}

TEST(Keys, AreComparedAndChosen) {
  const std::vector<KeyBits> a = {{1, 2}, {3, 4}}, b = {{1, 2}, {3, 5}};
  EXPECT_EQ(run<bool>("equal", DType::key, a, b), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(run<KeyBits>("select", DType::key, std::vector<uint8_t>{1, 0}, a, b),
            (std::vector<KeyBits>{{1, 2}, {3, 5}}));
}

}  // namespace
}  // namespace plait::elementwise_test
