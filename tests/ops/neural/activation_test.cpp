// Expected values are those of torch.nn.functional (PyTorch 2.15) in f64.
#include "plait/ops/neural/activation.h"

#include "plait/core/error.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

TEST(Activation, AsPyTorch) {
  const Tensor x = doubles({-30, -4, -3, -2.5, -1, -0.5, 0, 0.25, 1, 2, 3, 4.5, 6, 7, 30});
  expect_values(leaky_relu(x),
                {-0.3, -0.04, -0.03, -0.025, -0.01, -0.005, 0, 0.25, 1, 2, 3, 4.5, 6, 7, 30});
  expect_values(elu(x, 1.5), {-1.5, -1.47252654, -1.4253194, -1.3768725, -0.948180838, -0.59020401,
                              0, 0.25, 1, 2, 3, 4.5, 6, 7, 30});
  expect_values(selu(x), {-1.75809934, -1.72589863, -1.67056873, -1.61378576, -1.11133074,
                          -0.691758188, 0, 0.262675247, 1.05070099, 2.10140197, 3.15210296,
                          4.72815444, 6.30420592, 7.35490691, 31.5210296});
  expect_values(celu(x, 2), {-1.99999939, -1.72932943, -1.55373968, -1.42699041, -0.786938681,
                             -0.442398434, 0, 0.25, 1, 2, 3, 4.5, 6, 7, 30});
  expect_values(gelu(x),
                {-0, -0.000126684967, -0.00404969409, -0.0155241633, -0.158655254, -0.154268769, 0,
                 0.149676581, 0.841344746, 1.95449974, 2.99595031, 4.49998471, 5.99999999, 7, 30});
  expect_values(gelu(x, Gelu::tanh),
                {-0, -7.02459482e-05, -0.00363739208, -0.0150842661, -0.158808009, -0.15428599, 0,
                 0.149675351, 0.841191991, 1.95459769, 2.99636261, 4.49999486, 6, 7, 30});
  expect_values(
      gelu(x, Gelu::fast),
      {-2.00467977e-21, -0.00441472414, -0.0180713097, -0.034986165, -0.154204234, -0.149611563, 0,
       0.15119965, 0.845795766, 1.93565862, 2.98192869, 4.497878, 5.99977965, 6.99995313, 30});
  expect_values(silu(x), {-2.80728689e-12, -0.0719448398, -0.14227762, -0.18964545, -0.268941421,
                          -0.188770334, 0, 0.140544125, 0.731058579, 1.76159416, 2.85772238,
                          4.45055876, 5.98516426, 6.99362264, 30});
  expect_values(mish(x), {-2.80728689e-12, -0.0725917408, -0.145647461, -0.196816204, -0.303401461,
                          -0.220743775, 0, 0.16957241, 0.865098388, 1.94395896, 2.986535,
                          4.49891371, 5.99992663, 6.99998838, 30});
  expect_values(softplus(x), {9.35762297e-14, 0.0181499279, 0.0485873516, 0.0788897343, 0.313261688,
                              0.474076984, 0.693147181, 0.82593942, 1.31326169, 2.12692801,
                              3.04858735, 4.51104774, 6.00247569, 7.00091147, 30});
  expect_values(softplus(x, 2), {4.37825538e-27, 0.000167703186, 0.00123784257, 0.00335767424,
                                 0.0634640055, 0.156630844, 0.34657359, 0.487038492, 1.06346401,
                                 2.00907496, 3.00123784, 4.5000617, 6.00000307, 7.00000042, 30});
  expect_values(softsign(x),
                {-0.967741935, -0.8, -0.75, -0.714285714, -0.5, -0.333333333, 0, 0.2, 0.5,
                 0.666666667, 0.75, 0.818181818, 0.857142857, 0.875, 0.967741935});
  expect_values(logsigmoid(x),
                {-30, -4.01814993, -3.04858735, -2.57888973, -1.31326169, -0.974076984,
                 -0.693147181, -0.57593942, -0.313261688, -0.126928011, -0.0485873516,
                 -0.0110477448, -0.00247568514, -0.000911466454, -9.35762297e-14});
  expect_values(hardtanh(x), {-1, -1, -1, -1, -1, -0.5, 0, 0.25, 1, 1, 1, 1, 1, 1, 1});
  expect_values(relu6(x), {0, 0, 0, 0, 0, 0, 0, 0.25, 1, 2, 3, 4.5, 6, 6, 6});
  expect_values(hardsigmoid(x), {0, 0, 0, 0.0833333333, 0.333333333, 0.416666667, 0.5, 0.541666667,
                                 0.666666667, 0.833333333, 1, 1, 1, 1, 1});
  expect_values(hardswish(x), {-0, -0, -0, -0.208333333, -0.333333333, -0.208333333, 0, 0.135416667,
                               0.666666667, 1.66666667, 3, 4.5, 6, 7, 30});
  expect_values(hardshrink(x), {-30, -4, -3, -2.5, -1, 0, 0, 0, 1, 2, 3, 4.5, 6, 7, 30});
  expect_values(softshrink(x),
                {-29.5, -3.5, -2.5, -2, -0.5, 0, 0, 0, 0.5, 1.5, 2.5, 4, 5.5, 6.5, 29.5});
  expect_values(tanhshrink(x), {-29, -3.0006707, -2.00494525, -1.5133857, -0.238405844,
                                -0.0378828427, 0, 0.0050813376, 0.238405844, 1.03597242, 2.00494525,
                                3.50024679, 5.00001229, 6.00000166, 29});
}

TEST(Activation, AtTheEnds) {
  const Tensor x = doubles({-INFINITY, -1e300, 1e300, INFINITY, NAN});
  expect_values(relu(x), {0, 0, 1e300, INFINITY, NAN});
  expect_values(leaky_relu(x, 0.5), {-INFINITY, -5e299, 1e300, INFINITY, NAN});
  expect_values(elu(x), {-1, -1, 1e300, INFINITY, NAN});
  expect_values(softplus(x), {0, 0, 1e300, INFINITY, NAN});
  expect_values(logsigmoid(x), {-INFINITY, -1e300, 0, 0, NAN});
  expect_values(hardtanh(x), {-1, -1, 1, 1, NAN});
  expect_values(hardswish(x), {0, 0, 1e300, INFINITY, NAN});
  EXPECT_EQ(relu(tensor<int32_t>({-3, 4})).text(), "[0 4] : i32[2]");
  EXPECT_EQ(silu(tensor<int32_t>({0})).text(), "[0.] : f32[1]");
  EXPECT_EQ(relu(zeros({0, 3})).shape(), (Shape{0, 3}));
}

TEST(Activation, NarrowFloatsAreRoundedOnce) {
  const Tensor x = wave({200}, 0.7, DType::bf16) * 4;
  const Tensor wide = astype(x, DType::f32);
  expect_same(gelu(x), astype(gelu(wide), DType::bf16), 0);
  expect_same(mish(x), astype(mish(wide), DType::bf16), 0);
  EXPECT_EQ(elu(astype(x, DType::f16)).dtype(), DType::f16);
}

TEST(Activation, Prelu) {
  const Tensor x = reshape(doubles({-1, 2, -3, 4, -5, 6, -7, 8}), {1, 2, 4});
  expect_values(prelu(x, doubles({0.5})), {-0.5, 2, -1.5, 4, -2.5, 6, -3.5, 8});
  expect_values(prelu(x, doubles({0.5, 0.1})), {-0.5, 2, -1.5, 4, -0.5, 6, -0.7, 8});
  expect_values(prelu(doubles({-2, 2}), doubles({0.5})), {-1, 2});
  EXPECT_THROW(prelu(x, doubles({1, 2, 3})), ShapeError);
}

TEST(Activation, Glu) {
  const Tensor x = wave({2, 4});
  expect_values(glu(x, 0), {0, 0.266185919, 0.290635262, 0.235142895});
  expect_values(glu(x), {0, 0.453098107, 0.0987968902, -0.0955552465});
  expect_symbolic_alike([](const Tensor& x) { return glu(x, -1); }, {0}, x);
  EXPECT_THROW(glu(wave({3})), ShapeError);
}

TEST(Activation, Traced) {
  const Tensor x = wave({3, 4}) * 5;
  expect_traced_alike([](const Tensor& x) { return gelu(silu(elu(relu(x)) - 1)); }, x);
  EXPECT_THROW(hardtanh(x, 1, -1), ValueError);
  EXPECT_THROW(celu(x, 0), ValueError);
  EXPECT_THROW(relu(astype(x, DType::c64)), TypeError);
}

}  // namespace
}  // namespace plait
