// How exact functions are: f32 against f64, f64 against long double, at every level.
#include <algorithm>
#include <array>
#include <string>

#include "plait/core/special_functions.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/support/special_numbers.h"

namespace plait::elementwise_test {
namespace {

struct Function {
  std::string_view op;
  double (*narrow)(double);
  Wide (*wide)(Wide);
  double ulps = 2;  // of f64
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

// erfinv in long double: Newton's method from what is tested.
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

// digamma has a test of its own. The C library's erfc and lgamma are what they are.
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
    Function{"erfc", BOTH(std::erfc), 5},
    Function{"erfinv", special::erf_inverse, erf_inverse, 3},
    Function{"lgamma", special::log_gamma, log_gamma, 6},
    Function{"floor", BOTH(std::floor)},
    Function{"ceil", BOTH(std::ceil)},
    Function{"round", BOTH(std::nearbyint)},
    Function{"trunc", BOTH(std::trunc)},
};

#undef BOTH

// Calls visit(values) for numbers of every exponent and both signs, and the unusual ones, some at a
// time. PLAIT_TEST_STEP=1 tries every f32, PLAIT_TEST_FUNCTION=atan of one function.
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

TEST(FloatFunctions, OfF64AreWithinTwoUlp) {
  std::vector<double> values = special_values<double>();
  std::mt19937_64 random(1);
  std::normal_distribution<double> near(0, 3);
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(std::bit_cast<double>(random()));
    values.push_back(near(random));
  }
  std::vector<Wide> expected(values.size());
  for (const Function& function : kFunctions) {
    for (size_t i = 0; i < values.size(); ++i) expected[i] = function.wide(values[i]);
    for (const std::string& level : cpu_levels()) {
      const AtLevel at(level);
      check_ulps(function.op, values, expected, function.ulps);
    }
  }
}

// At numbers where it is known, and by psi(x + 1) = psi(x) + 1 / x.
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
