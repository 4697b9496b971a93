// Accuracy of functions: f32 compared with f64, f64 with long double, at every level.
#include <algorithm>
#include <array>
#include <numbers>
#include <string>

#include "plait/core/inside/mathematics/special_functions.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/support/special_numbers.h"

namespace plait::elementwise_test {
namespace {

struct Function {
  std::string_view op;
  double (*narrow)(double);
  Wide (*wide)(Wide);
  double ulps = 2;  // for f64
};

template <class T>
T sigmoid(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class T>
T rsqrt(T x) {
  return 1 / std::sqrt(x);
}
template <class T>
T square(T x) {
  return x * x;
}
template <class T>
T reciprocal(T x) {
  return 1 / x;
}
template <class T>
T negative(T x) {
  return -x;
}
template <class T>
T sign(T x) {
  return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}

// erfinv in long double: Newton's method, starting from the tested result.
Wide erf_inverse(Wide y) {
  Wide x = special::erf_inverse(static_cast<double>(y));
  if (!std::isfinite(x) || x == 0) return x;
  const Wide size = std::abs(y);
  for (int i = 0; i < 3; ++i) {
    const Wide a = std::abs(x);
    const Wide excess = size < 0.5L ? std::erf(a) - size : (1 - size) - std::erfc(a);
    x -= std::copysign(Wide{1}, x) * excess / (1.128379167095512573896L * std::exp(-a * a));
  }
  return x;
}
Wide log_gamma(Wide x) { return std::lgamma(x); }

#define BOTH(name) static_cast<double (*)(double)>(name), static_cast<Wide (*)(Wide)>(name)

// digamma has a separate test. lgamma is the C library's.
const std::array kFunctions = {
    Function{"exp", BOTH(std::exp)},
    Function{"exp2", BOTH(std::exp2)},
    Function{"expm1", BOTH(std::expm1)},
    Function{"log", BOTH(std::log)},
    Function{"log2", BOTH(std::log2)},
    Function{"log10", BOTH(std::log10)},
    Function{"log1p", BOTH(std::log1p)},
    Function{"sqrt", BOTH(std::sqrt)},
    Function{"rsqrt", BOTH(rsqrt)},
    Function{"square", BOTH(square)},
    Function{"reciprocal", BOTH(reciprocal)},
    Function{"negative", BOTH(negative)},
    Function{"absolute", BOTH(std::abs)},
    Function{"sign", BOTH(sign)},
    Function{"sin", BOTH(std::sin)},
    Function{"cos", BOTH(std::cos)},
    Function{"tan", BOTH(std::tan)},
    Function{"asin", BOTH(std::asin)},
    Function{"acos", BOTH(std::acos)},
    Function{"atan", BOTH(std::atan)},
    Function{"sinh", BOTH(std::sinh)},
    Function{"cosh", BOTH(std::cosh)},
    Function{"tanh", BOTH(std::tanh)},
    Function{"asinh", BOTH(std::asinh)},
    Function{"acosh", BOTH(std::acosh)},
    Function{"atanh", BOTH(std::atanh)},
    Function{"sigmoid", BOTH(sigmoid)},
    Function{"erf", BOTH(std::erf)},
    Function{"erfc", BOTH(std::erfc)},
    Function{"erfinv", special::erf_inverse, erf_inverse, 3},
    Function{"lgamma", special::log_gamma, log_gamma, 6},
    Function{"floor", BOTH(std::floor)},
    Function{"ceil", BOTH(std::ceil)},
    Function{"round", BOTH(std::nearbyint)},
    Function{"trunc", BOTH(std::trunc)},
};

#undef BOTH

// Calls visit(values), in batches, with numbers of every exponent and sign, and special values.
// PLAIT_TEST_STEP=1 tries every f32; PLAIT_TEST_FUNCTION=atan selects one function.
template <class Visit>
void each_exponent(const Visit& visit) {
  const char* step = std::getenv("PLAIT_TEST_STEP");
  const uint64_t stride = step != nullptr ? std::stoull(step) : 4099;
  std::vector<float> values = special_values<float>();
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (values.size() < size_t{1} << 22) continue;
    visit(values);
    values.clear();
  }
  visit(values);
}
bool is_wanted(std::string_view function) {
  const char* only = std::getenv("PLAIT_TEST_FUNCTION");
  return only == nullptr || function == only;
}

template <class T, class Expected>
double check_ulps(std::string_view op, const std::vector<T>& values, const Expected& expected,
                  double most) {
  const auto result = run<T>(op, kDTypeOf<T>, values);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double ulps = ulps_between(result[i], expected[i]);
    if (ulps > worst) {
      worst = ulps;
      at = i;
    }
  }
  EXPECT_LE(worst, most) << op << '(' << values[at] << ") gives " << result[at] << ", not "
                         << expected[at];
  return worst;
}

template <class Function>
void check_f32_ulps(std::string_view op, const Function& exact) {
  double worst = 0;
  each_exponent([&](const std::vector<float>& values) {
    std::vector<double> expected(values.size());
    std::ranges::transform(values, expected.begin(), exact);
    for (const std::string& level : cpu_levels()) {
      const AtLevel at(level);
      worst = std::max(worst, check_ulps(op, values, expected, 2));
    }
  });
  testing::Test::RecordProperty(fmt::format("{}_f32", op), fmt::format("{:.3f}", worst));
}

TEST(FloatFunctions, OfF32AreWithinTwoUlp) {
  for (const Function& function : kFunctions) {
    if (is_wanted(function.op)) check_f32_ulps(function.op, function.narrow);
  }
}

// Zeros of functions, and points at which their algorithms change: powers of 2, and others.
constexpr std::array kExponents = {-1074, -1022, -54, -53, -28, -1,  0,   1,
                                   10,    20,    52,  53,  500, 511, 512, 1023};
constexpr std::array kBorders = {0.16514867741462, 0.34657359027997, 0.625,           0.66,
                                 0.70710678118655, 1.41421356237310, 1.51515151515152};
// Arguments from which on results overflow, underflow, or are rounded to a limit.
constexpr std::array kLimits = {5.92158,
                                18.714973875118524,
                                26.543258454250982,
                                27.226017111108362,
                                36.7368005696771,
                                709.782712893384,
                                710.4758600739439,
                                744.4400719213812,
                                745.1332191019412,
                                308.25471555991674,
                                1022.0,
                                1074.0,
                                1075.0};

void add_beside(double point, std::vector<double>& values) {
  double below = point, above = point;
  for (int i = 0; i < 40; ++i) {
    for (const double x : {below, above}) {
      values.push_back(x);
      values.push_back(-x);
    }
    below = std::nextafter(below, -kInfinity);
    above = std::nextafter(above, kInfinity);
  }
}

// Numbers of every exponent, critical numbers, numbers near 1, and near multiples of pi / 2.
// PLAIT_TEST_SAMPLES sets the number of each.
std::vector<double> double_values() {
  const char* samples = std::getenv("PLAIT_TEST_SAMPLES");
  const int count = samples != nullptr ? std::stoi(samples) : 100'000;
  std::vector<double> values = special_values<double>();
  for (const int exponent : kExponents) add_beside(std::ldexp(1.0, exponent), values);
  for (const double point : kBorders) add_beside(point, values);
  for (const double point : kLimits) add_beside(point, values);
  std::mt19937_64 random(1);
  std::normal_distribution<double> near(0, 3);
  std::uniform_real_distribution<double> exponent(-60, 11), inside(-1, 1), outside(-800, 800);
  for (int i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<double>(random()));
    values.push_back(near(random));
    values.push_back(inside(random));
    values.push_back(outside(random));
    values.push_back(std::copysign(std::exp2(exponent(random)), inside(random)));
    values.push_back(1 + std::exp2(exponent(random) - 12) * inside(random));
    values.push_back(std::round(inside(random) * 1e6) * (std::numbers::pi / 2));
  }
  return values;
}

TEST(FloatFunctions, OfF64AreWithinTwoUlp) {
  const std::vector<double> values = double_values();
  std::vector<Wide> expected(values.size());
  for (const Function& function : kFunctions) {
    if (!is_wanted(function.op)) continue;
    std::ranges::transform(values, expected.begin(), function.wide);
    double worst = 0;
    for (const std::string& level : cpu_levels()) {
      const AtLevel at(level);
      worst = std::max(worst, check_ulps(function.op, values, expected, function.ulps));
    }
    testing::Test::RecordProperty(fmt::format("{}_f64", function.op), fmt::format("{:.3f}", worst));
  }
}

// At known values, and by psi(x + 1) = psi(x) + 1 / x.
TEST(FloatFunctions, Digamma) {
  constexpr double kEuler = 0.57721566490153286061;
  const auto digamma = [](double x) {
    return run<double>("digamma", DType::f64, std::vector{x})[0];
  };
  EXPECT_DOUBLE_EQ(digamma(1), -kEuler);
  EXPECT_DOUBLE_EQ(digamma(2), 1 - kEuler);
  EXPECT_DOUBLE_EQ(digamma(0.5), -kEuler - 2 * std::log(2.0));
  EXPECT_DOUBLE_EQ(digamma(1e300), std::log(1e300));
  EXPECT_LT(std::abs(digamma(1.4616321449683623413)), 1e-15);
  EXPECT_EQ(digamma(0.0), -kInfinity);
  EXPECT_EQ(digamma(-0.0), kInfinity);
  EXPECT_EQ(digamma(kInfinity), kInfinity);
  for (const double x : {-1.0, -7.0, -1e20, -kInfinity, std::nan("")}) {
    EXPECT_TRUE(std::isnan(digamma(x))) << x;
  }
  for (double x = -20.3; x < 30; x += 0.37) {
    EXPECT_NEAR(digamma(x + 1), digamma(x) + 1 / x, 1e-13 * (1 + std::abs(digamma(x)))) << x;
  }
  EXPECT_EQ(run<float>("digamma", DType::f32, std::vector{1.f})[0], static_cast<float>(-kEuler));

  check_f32_ulps("digamma", special::digamma);
}

}  // namespace
}  // namespace plait::elementwise_test
