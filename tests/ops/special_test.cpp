#include "plait/ops/special.h"

#include <limits>

#include "plait/core/error.h"
#include "plait/ops/complex.h"

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
  expect_values(polygamma(2, doubles({-0.5, NAN})), {NAN, NAN});
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
  EXPECT_EQ(isclose(a, b, {.relative = 0.2, .equal_nan = true}).text(),
            "[ True  True  True False  True] : bool[5]");
  EXPECT_FALSE(allclose(a, b).item<bool>());
  EXPECT_TRUE(allclose(tensor<int64_t>({1, 2}), tensor<int64_t>({1, 2})).item<bool>());
  EXPECT_TRUE(array_equal(doubles({1, 2}), doubles({1, 2})).item<bool>());
  EXPECT_FALSE(array_equal(doubles({1, 2}), doubles({1})).item<bool>());
  EXPECT_FALSE(array_equal(doubles({NAN}), doubles({NAN})).item<bool>());
}

// The partial derivatives are differences between values nearby.
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
