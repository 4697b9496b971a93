// Functions of optax that are not transformations: projections, linear problems, assignments,
// second derivatives, perturbed functions. Values and gradients are compared with optax's by
// tests/oracles/functions_oracle.py.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "plait/nn/buffers.h"
#include "plait/nn/models/freeze.h"
#include "plait/nn/models/vectors.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/functions/assignment.h"
#include "plait/optim/functions/linear_algebra.h"
#include "plait/optim/functions/perturbations.h"
#include "plait/optim/functions/projections.h"
#include "plait/optim/functions/second_order.h"
#include "plait/optim/transformations/clipping.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/optim/small_net.h"
#include "tests/support/errors.h"

namespace plait::optim_tests {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Model {
  Tensor weight = tensor<double>({3, 0});
  nn::Buffer mean = nn::Buffer(tensor<double>({5, 6}));
  Tensor count = tensor<int64_t>({7});
  Tensor narrow = astype(tensor<double>({4}), DType::f16);
};

double distance(const Tensor& a, const Tensor& b) {
  return max(absolute(astype(a, DType::f64) - astype(b, DType::f64))).item<double>();
}

TEST(Projections, LeaveBuffersIntegersAndDtypes) {
  const Model made = optim::projection_l2_sphere(Model(), 10.);
  EXPECT_LT(distance(made.weight, tensor<double>({6, 0})), 1e-12);
  EXPECT_EQ(made.narrow.dtype(), DType::f16);
  EXPECT_EQ(first(astype(made.narrow, DType::f64)), 8);
  EXPECT_EQ(first(made.mean), 5);
  EXPECT_EQ(made.count.item<int64_t>(), 7);
  const auto frozen = optim::projection_hypercube(nn::freeze(Model(), {"weight"}));
  EXPECT_EQ(first(frozen.whole().weight), 3);
  EXPECT_EQ(first(astype(frozen.whole().narrow, DType::f64)), 1);
}

TEST(Projections, TakeTensorsAsModelsAndAsScales) {
  const Tensor x = tensor<double>({3, 4});
  EXPECT_LT(distance(optim::projection_l2_ball(x, number(1)), tensor<double>({0.6, 0.8})), 1e-12);
  EXPECT_LT(distance(optim::projection_box(x, tensor<double>({0, 5}), 6.), tensor<double>({3, 5})),
            1e-12);
  const Tensor rows = stack(std::vector<Tensor>{x, 2. * x});
  const auto onto = [](const Tensor& row) { return optim::projection_simplex(row); };
  EXPECT_LT(distance(vmap(onto)(rows), tensor(std::vector<double>{0, 1, 0, 1}, {2, 2})), 1e-12);
}

TEST(Projections, RefuseWhatCannotBe) {
  const Tensor x = ones({2});
  expect_contains(what_of<ValueError>([&] { return optim::projection_simplex(x, 0); }),
                  {"optim::projection_simplex: scale is 0, expected a number above 0"});
  expect_contains(what_of<ValueError>([&] { return optim::projection_linf_ball(x, -1); }),
                  {"optim::projection_linf_ball: scale is -1, expected a number: 0 or more"});
  expect_contains(what_of<ShapeError>([&] { return optim::projection_l2_ball(x, x); }),
                  {"optim::projection_l2_ball: scale is f32[2], expected one number"});
  expect_contains(what_of<ShapeError>([&] { return optim::projection_vector(x, ones({3})); }),
                  {"optim::projection_vector: a of the model is f32[3]", "the shape of f32[2]"});
  expect_contains(
      what_of<ShapeError>([&] { return optim::projection_box(x, ones({3}), 1.); }),
      {"optim::projection_box: lower of the model is f32[3], expected the shape of f32[2]"});
  expect_contains(what_of<ValueError>([&] { return optim::projection_l1_ball(iota(2)); }),
                  {"optim::projection_l1_ball: the model has no parameters"});
  const Tensor complex = make_complex(x, x);
  expect_contains(what_of<TypeError>([&] { return optim::projection_simplex(complex); }),
                  {"optim::projection_simplex: c64[2], expected real numbers"});
}

TEST(PowerIteration, TakesFunctionsOfTrees) {
  struct Pair {
    Tensor a, b;
  };
  const Pair begin{tensor<double>({1, 1}), tensor<double>({1})};
  const auto times = [](const Pair& x) { return Pair{2. * x.a, -5. * x.b}; };
  const auto [value, vector] =
      optim::power_iteration(times, begin, {.num_iters = 200, .error_tolerance = 1e-12});
  EXPECT_NEAR(value.item<double>(), -5, 1e-9);
  EXPECT_NEAR(std::abs(first(vector.b)), 1, 1e-9);
  const auto [own, direction] = optim::power_iteration(tensor<double>({4, 1, 1, 3}, {2, 2}));
  EXPECT_NEAR(own.item<double>(), (7 + std::sqrt(5)) / 2, 1e-5);
  EXPECT_NEAR(sum(square(direction)).item<double>(), 1, 1e-9);
}

TEST(PowerIteration, RefusesWhatCannotBe) {
  expect_contains(what_of<ShapeError>([] { return optim::power_iteration(ones({2, 3})); }),
                  {"optim::power_iteration: the matrix is f32[2, 3], expected [n, n]"});
  expect_contains(
      what_of<ShapeError>([] { return optim::power_iteration(ones({2, 2}), {.v0 = ones({3})}); }),
      {"optim::power_iteration: v0 is f32[3], expected [2], of a matrix f32[2, 2]"});
  expect_contains(
      what_of<ValueError>([] { return optim::power_iteration(ones({2, 2}), {.num_iters = -1}); }),
      {"optim::power_iteration: num_iters is -1, expected 0 to"});
  expect_contains(what_of<ShapeError>([] {
                    return optim::power_iteration(
                        [](const Tensor& x) { return stack(std::vector<Tensor>{x, x}); },
                        ones({2}));
                  }),
                  {"optim::power_iteration: the matrix maps f32[2] to f32[2, 2]"});
  expect_contains(what_of<TypeError>([] {
                    return optim::power_iteration([](const Tensor& x) { return x; }, iota(2));
                  }),
                  {"optim::power_iteration: v0 is i64[2], expected tensors of floats"});
}

TEST(Nnls, RefusesWhatCannotBe) {
  expect_contains(what_of<ShapeError>([] { return optim::nnls(ones({3, 2}), ones({2}), 5); }),
                  {"optim::nnls: A is f32[3, 2] and b f32[2], expected A [m, n]"});
  expect_contains(what_of<ValueError>([] { return optim::nnls(ones({3, 2}), ones({3}), -5); }),
                  {"optim::nnls: iters is -5"});
  EXPECT_EQ(first(optim::nnls(zeros({3, 2}), ones({3}), 5)), 0);
}

TEST(HungarianAlgorithm, ForbidsPairsAndTakesManyProblems) {
  const std::vector<double> costs{4, 1, 3, 2, 0, 5, 3, 2, 2};
  const Tensor cost = tensor(costs, {3, 3});
  const auto [i, j] = optim::hungarian_algorithm(cost);
  EXPECT_EQ(i.text(), tensor<int64_t>({1, 0, 2}).text());
  EXPECT_EQ(j.text(), tensor<int64_t>({0, 1, 2}).text());
  const Tensor forbidden = tensor<double>({kNone, 1, 1, kNone}, {2, 2});
  EXPECT_EQ(optim::hungarian_algorithm(forbidden).first.text(), tensor<int64_t>({1, 0}).text());
  const Tensor two = stack(std::vector<Tensor>{cost, matrix_transpose(cost)});
  const Tensor rows =
      vmap([](const Tensor& each) { return optim::hungarian_algorithm(each).first; })(two);
  EXPECT_EQ(Tensor(rows[0]).text(), i.text());
  EXPECT_EQ(optim::hungarian_algorithm(zeros({0, 3})).first.shape(0).number(), 0);
}

TEST(HungarianAlgorithm, RefusesWhatCannotBe) {
  expect_contains(what_of<ShapeError>([] { return optim::hungarian_algorithm(ones({2, 2, 2})); }),
                  {"the costs are f32[2, 2, 2], expected [rows, columns]",
                   "vmap(optim::hungarian_algorithm)(costs)"});
  expect_contains(what_of<CheckError>([] {
                    return optim::hungarian_algorithm(tensor<double>({NAN, 1, 1, 1}, {2, 2}));
                  }),
                  {"a cost is NaN or -inf"});
  const Tensor impossible = tensor<double>({kNone, kNone, 1, 1}, {2, 2});
  expect_contains(what_of<CheckError>([&] { return optim::hungarian_algorithm(impossible); }),
                  {"no assignment has a finite sum"});
}

TEST(SecondOrder, IsInTheOrderOfTheFields) {
  const Net net;
  const Tensor x = batch(), diagonal = optim::hessian_diag(loss_of, net, x);
  EXPECT_EQ(diagonal.shape(), nn::parameters_to_vector(net).shape());
  constexpr double kStep = 1e-4;
  const Tensor vector = nn::parameters_to_vector(net);
  for (const int64_t i : {0, 4, 7}) {
    const Tensor step = where(iota(8) == i, number(kStep), 0);
    const auto at = [&](const Tensor& moved) {
      return loss_of(nn::vector_to_parameters(moved, net), x).item<double>();
    };
    const double wanted =
        (at(vector + step) - 2 * at(vector) + at(vector - step)) / (kStep * kStep);
    EXPECT_NEAR(optim_tests::at(diagonal, i), wanted, 1e-5);
  }
  const Tensor squares = square(nn::parameters_to_vector(grad(loss_of)(net, x)));
  EXPECT_LT(distance(optim::fisher_diag(loss_of, net, x), squares), 1e-12);
  const auto run = [&](const Net& at) { return optim::hessian_diag(loss_of, at, x); };
  EXPECT_LT(distance(jit(frozen(run))(net), diagonal), 1e-12);
}

TEST(SecondOrder, RefusesWhatCannotBe) {
  const auto total = [](const Tensor& x) -> Tensor { return sum(real(x)); };
  const Tensor complex = make_complex(ones({2}), ones({2}));
  expect_contains(what_of<TypeError>([&] { return optim::fisher_diag(total, complex); }),
                  {"optim::fisher_diag: the parameters are complex"});
  expect_contains(what_of<ValueError>([&] { return optim::hessian_diag(total, iota(2)); }),
                  {"optim::hessian_diag: there are no parameters"});
}

TEST(PerturbedFunctions, SmoothTheMaximum) {
  const Tensor x = tensor<double>({0.3, -0.5, 0.1});
  const auto largest = [](const Tensor& each) -> Tensor { return max(each); };
  const auto smooth = optim::make_perturbed_fun(largest, {.num_samples = 50'000, .sigma = 0.7});
  const auto at = [&](const Tensor& each) -> Tensor { return smooth(random::key(3), each); };
  const auto [value, slope] = jit(frozen(value_and_grad(at)))(x);
  EXPECT_NEAR(value.item<double>(), 0.7 * (std::log(sum(exp(x / 0.7)).item<double>()) + 0.5772157),
              0.02);
  EXPECT_LT(distance(slope, softmax(x / 0.7, -1)), 0.03);
}

TEST(PerturbedFunctions, RefuseWhatCannotBe) {
  const auto f = [](const Tensor& x) -> Tensor { return sum(x); };
  expect_contains(what_of<ValueError>([&] { optim::make_perturbed_fun(f, {.num_samples = 0}); }),
                  {"optim::make_perturbed_fun: num_samples is 0, expected 1 to"});
  expect_contains(what_of<ValueError>([&] { optim::make_perturbed_fun(f, {.sigma = 0}); }),
                  {"optim::make_perturbed_fun: sigma is 0, expected a number above 0"});
  expect_contains(what_of<ValueError>([&] { optim::make_perturbed_fun(f, {.noise = {}}); }),
                  {"noise lacks a function", "optim::normal_noise()"});
  expect_contains(
      what_of<TypeError>([&] { return optim::make_perturbed_fun(f)(random::key(1), iota(2)); }),
      {"optim::make_perturbed_fun: x has i64[2], expected real floats"});
}

TEST(UnitwiseClip, RefusesOtherShapes) {
  const Tensor x = ones({2, 3});
  expect_contains(what_of<ShapeError>([&] { return optim::unitwise_clip(ones({2}), x, x); }),
                  {"optim::unitwise_clip: g_norm is f32[2], expected the shape of the gradient"});
}

}  // namespace
}  // namespace plait::optim_tests
