// Gradients and tangents of functions, alone and nested.
#include "plait/transform/derivatives/grad.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/tape.h"

#include "tests/transform/traced_run.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

Tensor cube(const Tensor& x) { return x * x * x; }

TEST(Grad, OfANumber) {
  EXPECT_EQ(value_of(grad(cube)(number(3))), 27);
  EXPECT_EQ(value_of(grad(grad(cube))(number(3))), 18);
  EXPECT_EQ(value_of(grad(grad(grad(cube)))(number(3))), 6);
  EXPECT_EQ(value_of(grad(grad(grad(grad(cube))))(number(3))), 0);
  EXPECT_NEAR(value_of(grad(grad([](Tensor x) { return exp(2 * x); }))(number(1))), 4 * std::exp(2),
              1e-12);
}

// Composites on large tensors are computed block by block, except when they are followed.
TEST(Grad, ThroughLargeTensors) {
  const Tensor x = sin(astype(iota(20'001), DType::f64));
  const auto f = [](const Tensor& x) { return sum(gelu(x) * lerp(x, 2 * x, x)); };
  const Tensor whole = grad(f)(x);
  const Tensor part = grad(f)(x[Slice{10'000, 10'003}]);
  expect_alike(whole[Slice{10'000, 10'003}], part);
}

TEST(Grad, ByAnArray) {
  const Tensor x = tensor({1., 2., 3.});
  const auto [value, gradient] = value_and_grad([](Tensor x) { return sum(x * sin(x)); })(x);
  EXPECT_NEAR(value_of(value), std::sin(1) + 2 * std::sin(2) + 3 * std::sin(3), 1e-12);
  for (int i = 0; i < 3; ++i) {
    const double at = i + 1;
    EXPECT_NEAR(value_of(gradient[i]), std::sin(at) + at * std::cos(at), 1e-12);
  }
  EXPECT_FALSE(gradient.derivation());
}

TEST(Grad, ByAStruct) {
  const Layer layer{full({2, 3}, 0.5, DType::f64), zeros({3}, DType::f64)};
  const Tensor x = ones({4, 2}, DType::f64);
  const auto loss = [](const Layer& layer, const Tensor& x) { return sum(square(layer(x))); };
  const Layer gradient = grad(loss)(layer, x);
  EXPECT_EQ(gradient.weight.type().text(), "f64[2, 3]");
  EXPECT_EQ(value_of(gradient.weight[{1, 2}]), 8);
  EXPECT_EQ(value_of(gradient.bias[0]), 8);
  const auto [by_layer, by_x] = grad<0, 1>(loss)(layer, x);
  EXPECT_EQ(value_of(by_x[{3, 1}]), 3);
  EXPECT_EQ(value_of(grad<1>(loss)(layer, x)[{0, 0}]), 3);
}

// A field that is not used in this model has no gradient, no cotangent and no tangent.
TEST(Grad, ByAStructWithAnEmptyTensor) {
  const Layer layer{full({2}, 3, DType::f64), {}};
  const auto loss = [](const Layer& layer) {
    return layer.bias ? sum(layer.weight + layer.bias) : sum(square(layer.weight));
  };
  const Layer gradient = grad(loss)(layer);
  EXPECT_EQ(value_of(gradient.weight[0]), 6);
  EXPECT_FALSE(gradient.bias);
  const auto doubled = [](Layer layer) {
    layer.weight = layer.weight * 2;
    return layer;
  };
  const auto [value, pull] = vjp(doubled, layer);
  EXPECT_FALSE(value.bias);
  const auto [back] = pull(layer);
  EXPECT_EQ(value_of(back.weight[0]), 6);
  EXPECT_FALSE(back.bias);
  const Layer tangent = jvp(doubled, std::tuple(layer), std::tuple(layer)).second;
  EXPECT_EQ(value_of(tangent.weight[0]), 6);
  EXPECT_FALSE(tangent.bias);
  EXPECT_EQ(value_of(linearize(doubled, layer).second(layer).weight[0]), 6);
  EXPECT_THROW(pull(Layer{layer.weight, layer.weight}), TypeError);
}

TEST(Grad, HandsThroughWhatElseTheFunctionGives) {
  const auto f = [](Tensor x) { return std::pair{sum(x * x), 2 * x}; };
  const auto [both, gradient] = value_and_grad(f, with_aux)(tensor({1., 2.}));
  EXPECT_EQ(value_of(both.first), 5);
  EXPECT_EQ(value_of(both.second[1]), 4);
  EXPECT_EQ(value_of(gradient[1]), 4);
  EXPECT_FALSE(both.second.derivation());
  EXPECT_EQ(value_of(grad(f, with_aux)(tensor({1., 2.})).second[0]), 2);
}

TEST(Grad, IsZeroOfIndependentResults) {
  const Tensor gradient = grad([](Tensor) { return number(3); })(tensor({1., 2.}));
  EXPECT_EQ(gradient.text(), "[0. 0.] : f64[2]");
  const auto f = [](Tensor x) { return sum(stop_gradient(x) * x); };
  EXPECT_EQ(grad(f)(tensor({3., 4.})).text(), "[3. 4.] : f64[2]");
}

TEST(Grad, HostCodeMayReadAndBranch) {
  const auto f = [](Tensor x) {
    Tensor y = x;
    while (y.item<double>() < 100) y = y * x;
    return y;
  };
  EXPECT_EQ(value_of(grad(f)(number(3))), 5 * 81);  // x^5
  EXPECT_EQ(value_of(grad(grad(f))(number(3))), 20 * 27);
}

// ∂/∂x (x · ∂/∂y (x + y)) must not take x for y.
TEST(Grad, DoesNotConfusePerturbations) {
  const auto f = [](Tensor x) { return x * grad([&](Tensor y) { return x + y; })(number(1)); };
  EXPECT_EQ(value_of(grad(f)(number(1))), 1);
  const auto g = [](Tensor x) {
    return x * grad([&](Tensor y) { return x * y * y; })(x);  // x · 2x²
  };
  EXPECT_EQ(value_of(grad(g)(number(2))), 24);
  EXPECT_EQ(value_of(grad(grad(g))(number(2))), 24);
}

TEST(Jvp, OfANumber) {
  EXPECT_EQ(value_of(tangent_at(cube, number(3))), 27);
  const auto first = [](Tensor x) {
    return jvp(cube, std::tuple(x), std::tuple(number(1))).second;
  };
  EXPECT_EQ(value_of(tangent_at(first, number(3))), 18);
  const auto second = [&](Tensor x) {
    return jvp(first, std::tuple(x), std::tuple(number(1))).second;
  };
  EXPECT_EQ(value_of(tangent_at(second, number(3))), 6);
}

TEST(Jvp, DoesNotConfusePerturbations) {
  const auto f = [](Tensor x) {
    const auto inner = [&](Tensor y) { return x + y; };
    return x * jvp(inner, std::tuple(number(1)), std::tuple(number(1))).second;
  };
  EXPECT_EQ(value_of(tangent_at(f, number(1))), 1);
}

TEST(Jvp, AndGradWithinEachOther) {
  const auto jvp_of_cube = [](Tensor x) {
    return jvp(cube, std::tuple(x), std::tuple(number(1))).second;
  };
  EXPECT_EQ(value_of(grad(jvp_of_cube)(number(3))), 18);
  EXPECT_EQ(value_of(tangent_at(grad(cube), number(3))), 18);
  EXPECT_EQ(value_of(grad(grad(jvp_of_cube))(number(3))), 6);
  EXPECT_EQ(value_of(tangent_at(grad(grad(cube)), number(3))), 6);
  const auto mixed = [](Tensor x) {
    return jvp(grad(cube), std::tuple(x), std::tuple(number(1))).second;
  };
  EXPECT_EQ(value_of(grad(mixed)(number(3))), 6);
}

TEST(Jvp, GivesNothingForWholeNumbers) {
  const auto f = [](Tensor x, Tensor i) { return std::pair{x * 2, i + 1}; };
  const auto [value, tangent] =
      jvp(f, std::tuple(number(3), full({}, 4, DType::i32)), std::tuple(number(1), Tensor()));
  EXPECT_EQ(value_of(tangent.first), 2);
  EXPECT_FALSE(tangent.second);
  EXPECT_EQ(value.second.item<int32_t>(), 5);
}

TEST(Vjp, MayBePulledTwice) {
  const auto [value, pull] =
      vjp([](Tensor a, Tensor b) { return exp(a) * b; }, number(0), number(5));
  EXPECT_EQ(value_of(value), 5);
  const auto [da, db] = pull(number(1));
  EXPECT_EQ(value_of(da), 5);
  EXPECT_EQ(value_of(db), 1);
  EXPECT_EQ(value_of(std::get<0>(pull(number(2)))), 10);
}

TEST(Vjp, RefusesCotangentsThatDoNotFit) {
  const auto [value, pull] = vjp([](Tensor x) { return x * 2; }, tensor({1., 2.}));
  EXPECT_THROW(pull(number(1)), ShapeError);
  EXPECT_THROW(pull(tensor({1.F, 2.F})), TypeError);
}

TEST(LinearTranspose, OfTwoArguments) {
  const Tensor m = tensor({1., 2., 3., 4., 5., 6.}), c = tensor({1., -2.});
  const Tensor matrix = reshape(m, {2, 3});
  const auto f = [&](const Tensor& x, const Tensor& y) { return matmul(matrix, x) + 2. * y; };
  const auto [x, y] = linear_transpose(f, tensor({9., 9., 9.}), tensor({7., 7.}))(c);
  EXPECT_EQ(x.text(), tensor({-7., -8., -9.}).text());
  EXPECT_EQ(y.text(), tensor({2., -4.}).text());
  const TracedProgram traced =
      trace([&](Tensor c) { return linear_transpose(f, m[Slice{0, 3}], c)(c); })(c);
  EXPECT_EQ(run_traced(traced, {c}).at(0).text(), x.text());
}

TEST(LinearTranspose, RefusesNonlinearFunctions) {
  const auto square_of = [](const Tensor& x) { return x * x; };
  const auto shifted = [](const Tensor& x) { return x + 1.; };
  EXPECT_THROW(linear_transpose(square_of, tensor({1., 2.})), ValueError);
  EXPECT_THROW(linear_transpose(shifted, tensor({1., 2.})), ValueError);
}

TEST(Linearize, IsTheJvpAtAPlace) {
  const auto f = [](Tensor x, Tensor w) { return std::pair{tanh(x) * w, sum(sort(x * w))}; };
  const Tensor x = tensor({1., 2.}), w = tensor({3., -4.});
  const auto [value, linear] = linearize(f, x, w);
  EXPECT_EQ(value.first.text(), f(x, w).first.text());
  for (const Tensor& dx : {tensor({1., 0.}), tensor({0.5, -2.})}) {
    const auto [first, second] = linear(dx, w);
    const auto wanted = jvp(f, std::tuple(x, w), std::tuple(dx, w)).second;
    EXPECT_EQ(first.text(), wanted.first.text());
    EXPECT_EQ(second.text(), wanted.second.text());
  }
  EXPECT_EQ(linear(Tensor(), Tensor()).first.text(), "[0. 0.] : f64[2]");
  EXPECT_THROW(linear(number(1), w), ShapeError);
  // The linearisation at x is differentiable by x.
  const auto along = [](Tensor x) { return linearize(cube, x).second(number(1)); };
  EXPECT_EQ(value_of(grad(along)(number(3))), 18);
}

TEST(Grad, AChainOf200000IsLinearAndTakesNoStack) {
  constexpr int kSteps = 200'000;
  const auto chain = [](Tensor x) {
    Tensor y = x;
    for (int i = 0; i < kSteps; ++i) y = y * x;
    return y;
  };
  const Tensor one = number(1);
  EXPECT_EQ(value_of(grad(chain)(one)), kSteps + 1);
  EXPECT_EQ(value_of(linearize(chain, one).second(one)), kSteps + 1);
  const Tensor w = one.requires_grad();
  chain(w).backward();
  EXPECT_EQ(value_of(w.grad()), kSteps + 1);
}

TEST(Grad, RefusesWhatHasNone) {
  EXPECT_THROW(grad([](Tensor x) { return x * 2; })(tensor({1., 2.})), ShapeError);
  EXPECT_THROW(grad([](Tensor x) { return sum(x > 0); })(tensor({1., 2.})), TypeError);
  EXPECT_THROW(grad([](Tensor x) { return sum(x); })(tensor({1, 2})), TypeError);
  const GradOptions integers{.allow_integers = true};
  EXPECT_FALSE(grad([](Tensor x) { return sum(astype(x, DType::f64)); }, integers)(tensor({1, 2})));
}

TEST(Grad, OfComplexNumbers) {
  const std::complex<double> z(1, 2);
  const Tensor at = full({}, z, DType::c128);
  // |z|²: ∂/∂x − i·∂/∂y.
  const Tensor gradient = grad([](Tensor z) { return real(z * conj(z)); })(at);
  EXPECT_EQ(gradient.item<std::complex<double>>(), std::complex<double>(2, -4));
  const GradOptions holomorphic{.holomorphic = true};
  const Tensor slope = grad([](Tensor z) { return z * z; }, holomorphic)(at);
  EXPECT_EQ(slope.item<std::complex<double>>(), 2.0 * z);
  EXPECT_THROW(grad([](Tensor z) { return z * z; })(at), TypeError);
}

TEST(Grad, InATraceBecomesPartOfTheProgram) {
  const auto f = [](Tensor x) { return sum(sin(x) * x); };
  const Tensor x = tensor({1., 2., 3.});
  const TracedProgram traced = trace(grad(f))(x);
  EXPECT_TRUE(traced.hidden_inputs.empty());
  const std::vector<Tensor> results = evaluate(traced.program, {{x}});
  EXPECT_EQ(results.at(0).text(), grad(f)(x).text());
  const TracedProgram second = trace(grad([&](Tensor x) { return sum(grad(f)(x)); }))(x);
  EXPECT_EQ(evaluate(second.program, {{x}}).at(0).text(),
            grad([&](Tensor x) { return sum(grad(f)(x)); })(x).text());
}

TEST(Grad, InATraceOfSymbolicSizes) {
  Trace trace("main");
  const Dim n = Dim::symbol("n");
  const Tensor x = trace.parameter(ir::Type::array(DType::f64, {n, 3}));
  const Tensor w = trace.parameter(ir::Type::array(DType::f64, {3}));
  const auto f = [](Tensor w, Tensor x) { return mean(square(matmul(x, w) - 1)); };
  const Tensor gradient = grad(f)(w, x);
  const RecordedFunction recorded = trace.finish({{gradient}});
  const ir::Program program = trace.program(recorded);
  for (const int64_t rows : {1, 2, 5}) {
    const Tensor data = reshape(arange(0., 3. * static_cast<double>(rows)), {rows, 3});
    const Tensor given[] = {astype(data, DType::f64), tensor({0.5, -1., 2.})};
    EXPECT_EQ(evaluate(program, given).at(0).text(), grad(f)(given[1], given[0]).text());
  }
}

}  // namespace
}  // namespace plait
