#include "plait/ops/elementwise/special.h"

#include <limits>

#include "plait/core/error.h"
#include "plait/ops/elementwise/complex.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

constexpr double kPi = 3.14159265358979323846, kEuler = 0.57721566490153286061;
constexpr double kZeta3 = 1.20205690315959428540;

TEST(Special, KnownValues) {
  expect_values(erfc(doubles({0, 1, 6})), {1, 0.15729920705028513, 2.1519736712498913e-17}, 1e-15);
  expect_values(erfinv(doubles({-1, 0, 0.5, 2})), {-INFINITY, 0, 0.47693627620446987, NAN}, 1e-14);
  expect_values(lgamma(doubles({1, 0.5, 10})), {0, std::log(kPi) / 2, std::log(362880.0)}, 1e-14);
  expect_values(digamma(doubles({1, 0.5})), {-kEuler, -kEuler - 2 * std::log(2.0)}, 1e-14);
  // ψ′(1) = π²/6, ψ′(½) = π²/2, ψ′(−½) = π²/2 + 4
  const double square = kPi * kPi;
  expect_values(polygamma(1, doubles({1, 0.5, -0.5, -3, 0})),
                {square / 6, square / 2, square / 2 + 4, INFINITY, INFINITY}, 1e-13);
  // ψ″(1) = −2 ζ(3), ψ‴(1) = π⁴/15, ψ‴(½) = π⁴
  expect_values(polygamma(2, doubles({1, 2, INFINITY})), {-2 * kZeta3, 2 - 2 * kZeta3, 0}, 1e-13);
  expect_values(polygamma(3, doubles({1, 0.5})), {square * square / 15, square * square}, 1e-13);
  expect_values(polygamma(0, doubles({1})), {-kEuler}, 1e-14);
  // Negative numbers; ψ″ has two limits at the negative integers.
  expect_values(polygamma(2, doubles({-0.5, -1.5, -1, NAN, -INFINITY})),
                {-0.82879664423431998, -0.23620405164172739, NAN, NAN, NAN}, 1e-14);
  expect_values(polygamma(3, doubles({-0.25, -2})), {1555.7633125348489, INFINITY}, 1e-11);
  expect_values(polygamma(4, doubles({-2.3})), {9738.6717365692527}, 1e-10);
  EXPECT_EQ(lgamma(tensor<int32_t>({3})).dtype(), DType::f32);
}

TEST(Special, OfTwoNumbers) {
  expect_values(
      logaddexp(doubles({0, 1000, -INFINITY, INFINITY}), doubles({0, 999, -INFINITY, -1})),
      {std::log(2.0), 1000 + std::log1p(std::exp(-1.0)), -INFINITY, INFINITY}, 1e-14);
  expect_values(xlogy(doubles({0, 0, 2, 0, 0}), doubles({0, -1, std::exp(1), NAN, INFINITY})),
                {0, 0, 2, NAN, 0}, 1e-14);
  expect_values(fmod(doubles({5.5, -5.5, 5.5}), doubles({2, 2, -2})), {1.5, -1.5, 1.5});
  EXPECT_EQ(fmod(tensor<int32_t>({7, -7, 7}), tensor<int32_t>({3, 3, 0})).text(),
            "[ 1 -1  0] : i32[3]");
  expect_values(frac(doubles({2.5, -2.5})), {0.5, -0.5});
  EXPECT_EQ(nextafter(1.0F, 2.0F).item<float>(), std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(signbit(doubles({-0.0, 0, -NAN, 3})).text(), "[ True False  True False] : bool[4]");
  EXPECT_EQ(signbit(tensor<int32_t>({-1, 0})).text(), "[ True False] : bool[2]");
}

TEST(Special, LogarithmsAndTheirLimits) {
  expect_values(
      logaddexp2(doubles({0, 1000, -INFINITY, INFINITY}), doubles({0, 999, -INFINITY, -1})),
      {1, 1000 + std::log2(1.5), -INFINITY, INFINITY}, 1e-15);
  expect_values(xlog1py(doubles({0, 0, 2, 0, 0}), doubles({0, -2, 1e-20, NAN, INFINITY})),
                {0, 0, 2e-20, NAN, 0}, 0);
  expect_values(logit(doubles({0, 1, 0.5, 1e-300, 0.5 + 1e-15, -1, NAN})),
                {-INFINITY, INFINITY, 0, std::log(1e-300), 3.9968028886505636e-15, NAN, NAN},
                1e-15);
  expect_values(sinc(doubles({0, 1, -0.5, 1e6, 0.2500001})),
                {1, 0, 2 / kPi, 0, 0.90031623887327856}, 1e-13);
  expect_values(entr(doubles({0, 1, 2, -1, NAN})), {0, 0, -2 * std::log(2), -INFINITY, NAN}, 1e-15);
  expect_values(
      log1mexp(doubles({0, 1e-300, 1e-10, 1e-3, std::log(2), 1, 40, 700, INFINITY, -1, NAN})),
      {-INFINITY, std::log(1e-300), -23.025850929990456804, -6.9082552373154707118, -std::log(2),
       -0.45867514538708189, -4.2483542552915890e-18, -9.8596765437597708e-305, 0, NAN, NAN},
      1e-15);
  const Tensor p = doubles({0, 0, 1, 1, 2, -1, NAN, 1e300}),
               q = doubles({0, 1, 0, 1, 1, 1, 1, 1e-300});
  expect_values(rel_entr(p, q),
                {0, 0, INFINITY, 0, 2 * std::log(2), INFINITY, NAN, 600 * std::log(10) * 1e300},
                1e-15);
  expect_values(kl_div(p, q),
                {0, 1, INFINITY, 0, 2 * std::log(2) - 1, INFINITY, NAN, 1.380551055796427483e303},
                1e-15);
  expect_values(rel_entr(1 + 1e-10, doubles({1})), {1.0000000827903710074e-10}, 1e-15);
}

TEST(Special, NormalDistribution) {
  expect_values(ndtr(doubles({0, 1, -INFINITY, INFINITY, -38})),
                {0.5, 0.84134474606854293, 0, 1, 2.8854283600687843e-316}, 1e-15);
  expect_values(log_ndtr(doubles({0, -1e6, 10, -INFINITY, NAN})),
                {-std::log(2), -500000000014.73444909, -7.6198530241605261e-24, -INFINITY, NAN},
                1e-14);
  expect_values(ndtri(doubles({0.5, 0, 1, 0.975, 1e-300, -1, NAN})),
                {0, -INFINITY, INFINITY, 1.959963984540054, -37.047096299361199, NAN, NAN}, 1e-13);
  expect_values(erfcx(doubles({0, 1, 1e300, -30, INFINITY})),
                {1, 0.42758357615580700, 5.6418958354775629e-301, INFINITY, 0}, 1e-15);
}

TEST(Special, BesselFunctions) {
  expect_values(i0(doubles({0, -2, INFINITY, 713, 720})),
                {1, 2.2795853023360673, INFINITY, 6.7051282636709967e307, INFINITY}, 1e-13);
  expect_values(i1(doubles({0, -2, -INFINITY})), {0, -1.5906368546373291, -INFINITY}, 1e-15);
  expect_values(i0e(doubles({-2, 1e300, INFINITY})),
                {0.30850832255367103, 3.9894228040143268e-151, 0}, 1e-15);
  expect_values(i1e(doubles({-2, 1e300, INFINITY})),
                {-0.21526928924893765, 3.9894228040143268e-151, 0}, 1e-15);
}

TEST(Special, ZetaAndBeta) {
  expect_values(
      zeta(doubles({2, 3, 1, 0.5, 2, 2, 3, 2.5}), doubles({1, 1, 2, 1, 0, -3, -0.5, -0.5})),
      {kPi * kPi / 6, kZeta3, INFINITY, NAN, INFINITY, INFINITY, 7 * kZeta3 - 8, NAN}, 1e-15);
  expect_values(zeta(doubles({INFINITY, INFINITY, 2, 1e9}), doubles({1, 2, INFINITY, 1})),
                {1, 0, 0, 1});
  expect_values(
      betaln(doubles({1, 1e10, 0.5, 0, 1, -0.5}), doubles({1, 2, 0.5, 3, INFINITY, 2.25})),
      {0, -46.05170185998091368, std::log(kPi), INFINITY, -INFINITY, 1.4747849593975275}, 1e-15);
  expect_values(multigammaln(doubles({3, 1, 0.5}), 3),
                {1.5 * std::log(kPi) + std::log(2) + std::lgamma(2.5), NAN, NAN}, 1e-15);
}

TEST(Special, SharesOfTheGammaDistribution) {
  const Tensor a = doubles({1, 0, 3, 0, INFINITY, 2, -1, INFINITY, 1e12}),
               x = doubles({1, 1, 0, 0, 5, INFINITY, 1, INFINITY, 1e12});
  const std::vector<double> below = {1 - std::exp(-1),      1, 0, NAN, 0, 1, NAN, NAN,
                                     0.50000013298076013381};
  expect_values(gammainc(a, x), below, 1e-15);
  expect_values(gammaincc(a, x), values_of(1 - doubles(below)), 1e-15);
  expect_values(gammaincc(doubles({2, 0.5}), doubles({400, 1e-300})),
                {401 * std::exp(-400), 1 - 2e-150 / std::sqrt(kPi)}, 1e-15);
  // For a large shape, the samples are close to it.
  expect_values(random_gamma_grad(doubles({1e12, 1, 0, NAN}), doubles({1e12, 0, 1, 1})),
                {1, 0, NAN, NAN}, 1e-12);
  expect_values(gammainc_grad_a(doubles({1, 2, 1}), doubles({0, INFINITY, -1})), {0, 0, NAN});
}

TEST(Special, SharesOfTheBetaDistribution) {
  const Tensor a = doubles({1, 2, 2, 2, 0, 1, 0, 2, INFINITY}),
               b = doubles({1, 3, 3, 3, 1, 0, 0, INFINITY, 2});
  const Tensor x = doubles({0.25, 0, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  expect_values(betainc(a, b, x), {0.25, 0, 1, 11. / 16, 1, 0, NAN, 1, 0}, 1e-15);
  expect_values(betainc(2., 3., doubles({-0.1, 1.1, NAN})), {NAN, NAN, NAN});
  // Where the continued fraction is no longer used, both methods must agree continuously, as far as
  // 1e9 and x can be distinguished.
  for (const double ratio : {1., 3.3}) {
    const double mean = 1 / (1 + ratio), spread = std::sqrt(mean * (1 - mean) / 1e9 / (1 + ratio));
    for (const double at : {-4., -1., 0., 1e-9, 1., 4.}) {
      const Tensor point = doubles({mean + at * spread});
      const double size = 1e9, next = std::nextafter(size, INFINITY);
      const double under = betainc(size, size * ratio, point).item<double>();
      const double over = betainc(next, next * ratio, point).item<double>();
      EXPECT_NEAR(under, over, 1e-10 * under) << ratio << ' ' << at;
    }
  }
}

TEST(Special, DerivativesThatAreNotThere) {
  const Tensor half = doubles({0.5});
  const auto refused = [](std::string_view name, const std::vector<Tensor>& operands, size_t i) {
    const std::vector<OperandType> types = types_of(operands);
    const RuleContext context{{}, operands, {}, types};
    try {
      find_rules(ir::primitive(name))->partials[i].value(context);
      ADD_FAILURE() << name;
    } catch (const ValueError& error) {
      EXPECT_NE(error.message().find("has no derivative with respect to"), std::string::npos);
    }
  };
  refused("zeta", {half, half}, 0);
  refused("gammainc_grad_a", {half, half}, 0);
  refused("random_gamma_grad", {half, half}, 0);
  refused("betainc_grad_a", {half, half, half}, 0);
  refused("betainc_grad_b", {half, half, half}, 1);
}

TEST(Special, PowersOfTwo) {
  const Tensor x = doubles({0, 1, -3, 1e-310, 1e308, INFINITY, NAN});
  const auto [mantissa, exponent] = frexp(x);
  expect_values(mantissa,
                {0, 0.5, -0.75, std::ldexp(1e-310, 1029), 0.5562684646268003, INFINITY, NAN}, 0);
  EXPECT_EQ(exponent.dtype(), DType::i32);
  expect_values(exponent, {0, 1, 2, -1029, 1024, 0, 0});
  expect_values(ldexp(mantissa, exponent), values_of(x), 0);
  expect_values(ldexp(doubles({1e-300, 1, 1}), tensor<int64_t>({2000, -1074, -2000})),
                {std::ldexp(1e-300, 2000), std::ldexp(1, -1074), 0}, 0);
  EXPECT_EQ(ldexp(astype(doubles({1.5}), DType::bf16), -130).dtype(), DType::bf16);
  expect_values(ldexp(astype(doubles({1.5}), DType::bf16), -131), {std::ldexp(1.5, -131)}, 0);
  expect_values(frexp(astype(doubles({96}), DType::f16)).mantissa, {0.75});
}

TEST(Special, NumbersOfOtherKinds) {
  expect_values(heaviside(doubles({-1, 0, 2, NAN}), 0.5), {0, 0.5, 1, NAN});
  EXPECT_EQ(heaviside(tensor<int32_t>({-1, 0, 2}), tensor<int32_t>({7})).text(),
            "[0 7 1] : i32[3]");
  EXPECT_EQ(float_power(tensor<int32_t>({2}), -2).text(), "[0.25] : f64[1]");
  EXPECT_EQ(gcd(tensor<int32_t>({12, 0, -8}), 18).text(), "[ 6 18  2] : i32[3]");
  EXPECT_EQ(lcm(tensor<int32_t>({12, 0, -8}), 18).text(), "[36  0 72] : i32[3]");
  expect_values(deg2rad(doubles({180})), {kPi}, 1e-15);
  expect_values(rad2deg(doubles({kPi})), {180}, 1e-15);
}

TEST(Special, PartsOfComplexNumbers) {
  const std::vector<std::complex<double>> numbers{{3, 4}, {0, -1}};
  const Tensor z = tensor(numbers, {2});
  expect_values(real(z), {3, 0});
  expect_values(imag(z), {4, -1});
  expect_values(imag(conj(z)), {-4, 1});
  expect_values(angle(z), {std::atan2(4, 3), -kPi / 2}, 1e-15);
  expect_values(angle(doubles({1, -1, 0, NAN})), {0, kPi, 0, NAN}, 1e-15);
  expect_values(imag(doubles({1})), {0});
  expect_values(conj(doubles({-2})), {-2});
}

TEST(Special, NumbersInPlaceOfNone) {
  const Tensor x = doubles({NAN, INFINITY, -INFINITY, 1});
  constexpr double kMost = std::numeric_limits<double>::max();
  expect_values(nan_to_num(x), {0, kMost, -kMost, 1});
  expect_values(nan_to_num(x, {.nan = 2, .positive_infinity = 3}), {2, 3, -kMost, 1});
  const Tensor half = nan_to_num(astype(x, DType::f16));
  expect_values(half, {0, 65504, -65504, 1});
  expect_values(nan_to_num(astype(x, DType::bf16)),
                {0, 3.3895313892515355e38, -3.3895313892515355e38, 1});
  EXPECT_EQ(nan_to_num(tensor<int32_t>({5})).text(), "[5] : i32[1]");
}

TEST(Special, Mixtures) {
  expect_values(lerp(doubles({1, 1, 1e30}), doubles({3, 3, 7}), doubles({0.25, 0.75, 1})),
                {1.5, 2.5, 7});
  const Tensor i = tensor(std::vector<std::complex<double>>{{0, 1}}, {1});
  expect_values(imag(lerp(i, i * 3, 0.25)), {1.5});
  expect_values(addcmul(doubles({1}), doubles({2}), doubles({3}), 0.5), {4});
  expect_values(addcdiv(doubles({1}), doubles({6}), doubles({3}), 2), {5});
}

TEST(Special, Closeness) {
  const Tensor a = doubles({1, 1, INFINITY, INFINITY, NAN}),
               b = doubles({1 + 1e-6, 1.1, INFINITY, -INFINITY, NAN});
  EXPECT_EQ(isclose(a, b).text(), "[ True False  True False False] : bool[5]");
  EXPECT_EQ(isclose(a, b, {.rtol = 0.2, .equal_nan = true}).text(),
            "[ True  True  True False  True] : bool[5]");
  EXPECT_FALSE(allclose(a, b).item<bool>());
  EXPECT_TRUE(allclose(tensor<int64_t>({1, 2}), tensor<int64_t>({1, 2})).item<bool>());
  EXPECT_TRUE(array_equal(doubles({1, 2}), doubles({1, 2})).item<bool>());
  EXPECT_FALSE(array_equal(doubles({1, 2}), doubles({1})).item<bool>());
  EXPECT_FALSE(array_equal(doubles({NAN}), doubles({NAN})).item<bool>());
}

// The partial derivatives compared with finite differences.
TEST(Special, PartialsAreDifferences) {
  struct Sample {
    const char* name;
    std::vector<double> at;
  };
  for (const Sample& s : std::vector<Sample>{{"erfc", {0.3}},
                                             {"erfinv", {0.4}},
                                             {"lgamma", {2.3}},
                                             {"digamma", {2.3}},
                                             {"logaddexp", {0.3, 0.9}},
                                             {"fmod", {7.3, 2.1}},
                                             {"logaddexp2", {0.3, 0.9}},
                                             {"betaln", {0.7, 2.3}},
                                             {"gammainc", {1.7, 2.3}},
                                             {"gammaincc", {0.7, 2.3}},
                                             {"gamma_density", {1.7, 2.3}},
                                             {"beta_density", {1.7, 2.3, 0.4}},
                                             {"betainc", {1.7, 2.3, 0.4}},
                                             {"betainc", {1.7, 2.3, 0.8}},
                                             {"i1e", {0.7}},
                                             {"log_ndtr", {-3.2}},
                                             {"relu", {0.5}}}) {
    const ir::Primitive& primitive = ir::primitive(s.name);
    const Rules& rules = *find_rules(primitive);
    std::vector<Tensor> operands;
    for (const double x : s.at) operands.push_back(doubles({x}));
    const Tensor result = plait::apply(primitive, operands);
    const std::vector<OperandType> types = types_of(operands);
    const RuleContext context{{}, operands, std::span(&result, 1), types};
    for (size_t i = 0; i < operands.size(); ++i) {
      constexpr double kStep = 1e-6;
      std::vector<Tensor> before = operands, after = operands;
      before[i] = before[i] - kStep;
      after[i] = after[i] + kStep;
      const double slope =
          ((plait::apply(primitive, after) - plait::apply(primitive, before)) / (2 * kStep))
              .item<double>();
      const Partial& partial = rules.partials[i];
      const double claimed = partial.kind == Partial::Kind::one ? 1
                             : partial.kind == Partial::Kind::given
                                 ? partial.value(context).item<double>()
                                 : 0;
      EXPECT_NEAR(claimed, slope, 1e-7) << s.name << " operand " << i;
    }
  }
}

TEST(Special, Traced) {
  const Tensor x = doubles({0.25, 0.5, 0.75});
  expect_traced_alike([](const Tensor& x) { return lgamma(x) + xlogy(x, x) + frac(x * 3); }, x);
  expect_traced_alike([](const Tensor& x) { return stop_gradient(nan_to_num(log(x - 0.5))); }, x);
}

}  // namespace
}  // namespace plait
