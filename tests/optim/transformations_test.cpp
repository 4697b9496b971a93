// Transformations: their numbers, states, patterns, ensembles, narrow types, and bad input. Their
// formulas are compared with optax's by tests/oracles/optimizers_oracle.py.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/optimizers/adaptive_optimizers.h"
#include "plait/optim/optimizers/lbfgs_optimizer.h"
#include "plait/optim/schedules/schedules.h"
#include "plait/optim/transformations/clipping.h"
#include "plait/optim/transformations/conditions.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/galore.h"
#include "plait/optim/transformations/linesearch.h"
#include "plait/optim/transformations/matrices.h"
#include "plait/optim/transformations/moments.h"
#include "plait/optim/transformations/narrow.h"
#include "plait/optim/transformations/wrappers.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/optim/small_net.h"
#include "tests/support/errors.h"

namespace plait::optim_tests {
namespace {

using optim::Tensors;

TEST(Transformations, NumbersAreInTheStateAndChangeWithoutANewRecord) {
  Net net;
  optim::Optimizer optimizer(optim::chain(optim::clip_by_global_norm(1), optim::adamw(0.1)), net);
  const auto jitted = jit(step<optim::Optimizer<Net>>);
  for (int i = 0; i < 20; ++i) {
    optimizer.state.number("learning_rate") = number(0.1 / (i + 1));
    optimizer.state.number("b1") = number(0.9 - 0.001 * i);
    std::tie(net, optimizer) = jitted(net, optimizer, batch());
  }
  EXPECT_EQ(stats(jitted).traces, 1);
  EXPECT_EQ(optimizer.steps.item<int64_t>(), 20);
  EXPECT_LT(loss_of(net, batch()).item<double>(), loss_of(Net(), batch()).item<double>());
  const std::vector<std::string> paths = leaf_paths(optimizer);
  EXPECT_NE(std::ranges::find(paths, R"(state.parts.1.parts.0.kept.mu."layer.weight")"),
            paths.end());
  EXPECT_NE(std::ranges::find(paths, "state.parts.1.parts.0.numbers.b2"), paths.end());
}

// A tensor at two places would be another structure for jit.
template <class Optimizer>
void expect_tensors_of_their_own(const Net& net, const Optimizer& optimizer) {
  std::set<const void*> places;
  for (const Tensor& each : tensors_of(std::tuple(net, optimizer))) {
    EXPECT_TRUE(places.insert(each.identity()).second);
  }
}

TEST(Transformations, NoTensorIsAtTwoPlaces) {
  const Net net;
  const Tensor rate = number(0.1);
  const auto inner = optim::adam(0.1);
  for (const optim::Transformation& each :
       {optim::adamw(rate), optim::optimistic_adam(rate), optim::madgrad(0.1), optim::cocob(),
        optim::adafactor(0.1), optim::yogi(0.1), optim::novograd(0.1), optim::muon(0.1),
        optim::sm3(0.1), optim::galore(0.1), optim::lookahead(inner, 2, 0.5),
        optim::schedule_free(inner, rate), optim::sam(inner, optim::sgd(0.1)),
        optim::mechanize(inner), optim::loss_scale(inner), optim::multi_steps(inner, 2),
        optim::lbfgs(), optim::adamw_8bit(0.1)}) {
    SCOPED_TRACE(each.text());
    expect_tensors_of_their_own(net, optim::Optimizer(each, net));
  }
  expect_tensors_of_their_own(net, optim::AdamW(net, {.lr = rate, .beta1 = rate}));
  expect_tensors_of_their_own(net, optim::LBFGS(net));
}

TEST(Transformations, TrainAnEnsembleTogether) {
  const auto train = [](const Tensor& head) {
    Net net;
    net.head = head;
    const optim::Optimizer optimizer(
        optim::chain(optim::clip_by_global_norm(0.5), optim::adamw(0.1)), net);
    return trained(net, optimizer, 3).layer.weight;
  };
  const Tensor heads = reshape(cos(astype(iota(6), DType::f64)), {3, 2});
  const Tensor found = vmap(train)(heads);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LT(max(absolute(found[i] - train(heads[i]))).item<double>(), 1e-12);
  }
}

TEST(Transformations, PatternsChooseParameters) {
  const Net net, gradient;
  const auto update = [&](const optim::Transformation& transformation) {
    return optim::Optimizer(transformation, net).update(net, gradient).first;
  };
  const Net some =
      update(optim::partition({{"none", optim::set_to_zero()}, {"some", optim::sgd(0.25)}},
                              {{"*.bias", "none"}, {"*", "some"}}));
  EXPECT_EQ(first(some.layer.bias), 1);
  EXPECT_EQ(first(some.layer.weight), 0.75);
  const Net masked = update(optim::masked(optim::set_to_zero(), "layer.*"));
  EXPECT_EQ(first(masked.layer.bias), 1);
  EXPECT_EQ(first(masked.head), 2);
  expect_contains(what_of<ValueError>([&] { update(optim::masked(optim::sgd(0.1), "*.wieght")); }),
                  {"optim::masked: the pattern", "*.wieght", "matches no parameter"});
  expect_contains(what_of<ValueError>([&] {
                    update(optim::partition({{"a", optim::sgd(0.1)}}, {{"*.bias", "a"}}));
                  }),
                  {"optim::partition: no pattern matches the parameter head"});
  expect_contains(what_of<ValueError>(
                      [&] { update(optim::partition({{"a", optim::sgd(0.1)}}, {{"*", "b"}})); }),
                  {"the label of head is", "b", "which has no transformation"});
}

TEST(Transformations, CheckNumbersThatWereAssigned) {
  const Net net, gradient;
  optim::Optimizer optimizer(optim::chain(optim::clip_by_global_norm(1), optim::adam(0.1)), net);
  const auto update = [&] { return optimizer.update(net, gradient); };
  optimizer.state.number("b1") = 1.;
  expect_contains(what_of<ValueError>(update),
                  {"optim::scale_by_adam: b1 is 1, expected a number from 0 to below 1"});
  optimizer.state.number("b1") = 0.5;
  optimizer.state.number("max_norm") = number(-2);
  expect_contains(what_of<ValueError>(update), {"optim::clip_by_global_norm: max_norm is -2"});
  optimizer.state.number("max_norm") = optim::Schedule([](const Tensor& step) { return step; });
  const auto [moved, next] = update();
  EXPECT_EQ(next.state.rule, optimizer.state.rule);
  // Also of an optimizer that a jitted function has returned.
  auto [again, after] = jit(step<optim::Optimizer<Net>>)(net, optimizer, batch());
  after.state.number("eps") = -1.;
  expect_contains(what_of<ValueError>([&] { return after.update(again, gradient); }),
                  {"optim::scale_by_adam: eps is -1"});
  optim::LBFGS search(net);
  search.lr = -1.;
  const auto descend = [&] {
    return search.update(net, [](const Net& at) { return loss_of(at, batch()); });
  };
  expect_contains(what_of<ValueError>(descend), {"optim::LBFGS: lr is -1"});
  search.lr = 1.;
  search.tolerance_grad = -1.;
  expect_contains(what_of<ValueError>(descend), {"optim::LBFGS: tolerance_grad is -1"});
}

struct Cube {
  Tensor w = sin(reshape(astype(iota(24), DType::f64), {3, 4, 2}));
};

// Rows and columns are axes 0 and 2, and each slice along axis 1 is a matrix.
TEST(Transformations, MuonTakesFurtherAxesAsABatch) {
  const auto axes = [](const std::string&, const Tensor&) {
    return std::optional<optim::MuonDimensionNumbers>({{0}, {-1}});
  };
  const Cube cube, gradient{cos(cube.w)};
  const optim::Optimizer whole(optim::muon(0.1, {.muon_weight_dimension_numbers = axes}), cube);
  const Tensor found = whole.update(cube, gradient).first.w;
  for (int64_t i = 0; i < 4; ++i) {
    const Cube one{cube.w[{Slice{}, i}]}, slope{gradient.w[{Slice{}, i}]};
    const Tensor wanted = optim::Optimizer(optim::muon(0.1), one).update(one, slope).first.w;
    EXPECT_LT(max(absolute(found[{Slice{}, i}] - wanted)).item<double>(), 1e-12);
  }
  const auto twice = [](const std::string&, const Tensor&) {
    return std::optional<optim::MuonDimensionNumbers>({{0}, {0}});
  };
  const optim::Optimizer wrong(optim::scale_by_muon({.weight_dimension_numbers = axes}), cube);
  EXPECT_LT(max(absolute(wrong.update(cube, gradient).first.w)).item<double>(), 10);
  expect_contains(what_of<ValueError>([&] {
                    optim::Optimizer(optim::scale_by_muon({.weight_dimension_numbers = twice}),
                                     cube);
                  }),
                  {"optim::scale_by_muon: the axes of rows are 0 and those of columns 0, expected "
                   "different axes of f64[3, 4, 2]"});
}

TEST(Transformations, LineSearchesKeepTheGradient) {
  const auto loss = [](const Net& net) -> Tensor { return loss_of(net, batch()); };
  for (const bool by_zoom : {true, false}) {
    Net net;
    optim::Optimizer optimizer(
        optim::chain(optim::sgd(1),
                     by_zoom ? optim::scale_by_zoom_linesearch(15)
                             : optim::scale_by_backtracking_linesearch(15, {.store_grad = true})),
        net);
    for (int i = 0; i < 3; ++i) {
      const auto [value, gradients] = optim::value_and_grad_from_state(loss)(net, optimizer.state);
      const auto [wanted, slope] = value_and_grad(loss)(net);
      EXPECT_NEAR(value.item<double>(), wanted.item<double>(), 1e-12);
      EXPECT_LT(max(absolute(gradients.layer.weight - slope.layer.weight)).item<double>(), 1e-12);
      std::tie(net, optimizer) = optimizer.update_by_loss(net, gradients, value, loss);
    }
  }
  const optim::Optimizer plain(optim::scale_by_backtracking_linesearch(15), Net());
  expect_contains(what_of<ValueError>(
                      [&] { return optim::value_and_grad_from_state(loss)(Net(), plain.state); }),
                  {"the state has no value and gradient", ".store_grad = true"});
}

TEST(Transformations, APlateauHasNoSchedules) {
  expect_contains(
      what_of<ValueError>(
          [] { optim::reduce_on_plateau({.patience = optim::constant_schedule(3)}); }),
      {"optim::reduce_on_plateau: a number is a schedule, expected one that is the same"});
}

TEST(Transformations, RefuseWhatCannotBe) {
  expect_contains(what_of<ValueError>([] { optim::adam(0.1, {.b1 = 1}); }),
                  {"optim::scale_by_adam: b1 is 1, expected a number from 0 to below 1"});
  expect_contains(what_of<ValueError>([] { optim::adam(0.1, {.eps = -1}); }),
                  {"optim::scale_by_adam: eps is -1"});
  expect_contains(what_of<ValueError>([] { optim::clip(-1); }), {"optim::clip: max_delta is -1"});
  expect_contains(what_of<ValueError>([] { optim::multi_steps(optim::sgd(0.1), 0); }),
                  {"optim::multi_steps: every_k_schedule is 0"});
  expect_contains(
      what_of<ValueError>([] { optim::loss_scale(optim::sgd(0.1), {.initial_scale = 0}); }),
      {"optim::loss_scale: initial_scale is 0"});
  expect_contains(what_of<ValueError>([] { optim::scale_by_muon({.ns_steps = 100}); }),
                  {"optim::scale_by_muon: ns_steps is 100"});
  const Tensors weights{{"w", ones({2})}};
  const auto tx = optim::adamw(0.1);
  expect_contains(what_of<TypeError>([&] { return tx.update(weights, tx.init(weights)); }),
                  {"optim::add_decayed_weights: the parameters are missing"});
  const auto polyak = optim::polyak_sgd();
  expect_contains(what_of<TypeError>([&] { return polyak.update(weights, polyak.init(weights)); }),
                  {"optim::scale_by_polyak: the loss is missing"});
  const auto adam = optim::scale_by_adam();
  expect_contains(
      what_of<ValueError>([&] { return adam.update(weights, adam.init({{"v", ones({2})}})); }),
      {"the state's mu has no w"});
  optim::State state = optim::chain(optim::trace(0.9), optim::ema(0.9)).init(weights);
  expect_contains(what_of<KeyError>([&] { state.number("decay"); }), {"2 numbers are named decay"});
}

TEST(Transformations, AGradientThatIsNotFiniteIsNamed) {
  const Net net;
  Net gradient;
  gradient.layer.bias = tensor<double>({1, std::nan("")});
  const optim::Optimizer named(optim::chain(optim::expect_finite(), optim::sgd(0.1)), net);
  expect_contains(what_of<CheckError>([&] { return named.update(net, gradient); }),
                  {"the gradient.layer.bias has 1 nan"});
  const optim::Optimizer skips(optim::apply_if_finite(optim::adam(0.1), 5), net);
  const auto [same, after] = skips.update(net, gradient);
  EXPECT_EQ(first(same.head), 1);
  EXPECT_EQ(after.state.values.at("notfinite_count").item<int64_t>(), 1);
  EXPECT_EQ(after.state.parts.at("inner").parts.at("0").values.at("count").item<int64_t>(), 0);
}

TEST(Transformations, MuonOfWeightsOfSize0) {
  for (const Shape& shape : {Shape{0, 3}, {3, 0}, {0, 0}}) {
    const Tensor empty = zeros(shape);
    const optim::Optimizer transformed(optim::muon(0.1), empty);
    EXPECT_EQ(transformed.update(empty, empty).first.shape(), shape);
    using enum optim::MuonRate;
    for (const optim::MuonRate rate : {original, match_rms_adamw, spectral_unclamped}) {
      const optim::Muon optimizer(empty, {.adjust_lr_fn = rate});
      EXPECT_EQ(optimizer.update(empty, empty).first.shape(), shape);
    }
    const optim::Optimizer projected(optim::galore(0.1), empty);
    EXPECT_EQ(projected.update(empty, empty).first.shape(), shape);
  }
}

TEST(Transformations, GaLoreHasASmallState) {
  const Tensor model = reshape(astype(arange(48), DType::f64), {6, 8}), noise = sin(model);
  optim::Optimizer optimizer(optim::galore(0.1, {.rank = 2}), model);
  EXPECT_EQ(optimizer.state.parts.at("0").kept.at("projector").at("").shape(), Shape({8, 2}));
  EXPECT_EQ(optimizer.state.parts.at("0").parts.at("inner").kept.at("mu").at("").shape(),
            Shape({6, 2}));
  const Tensor step = optimizer.update(model, noise).first - model;
  EXPECT_LT(linalg::svdvals(step)[2].item<double>(), 1e-12);
  const auto turned = [](const std::string&, const Tensor&) {
    return std::optional(optim::GaLoreDimensionNumbers{{0, -1}, {1}});
  };
  const Tensor cube = reshape(model, {3, 4, 4});
  optim::Optimizer of_cube(optim::galore(0.1, {.rank = 9, .weight_dimension_numbers = turned}),
                           cube);
  EXPECT_EQ(of_cube.update(cube, sin(cube)).first.shape(), cube.shape());
  EXPECT_EQ(of_cube.state.parts.at("0").kept.at("projector").at("").shape(), Shape({12, 4}));
  expect_contains(what_of<ValueError>([] { optim::galore(0.1, {.rank = 0}); }),
                  {"optim::scale_by_galore: rank is 0"});
  expect_contains(what_of<ValueError>([&] {
                    optim::Optimizer(optim::galore(0.1, {.weight_dimension_numbers = turned}),
                                     model);
                  }),
                  {"0, -1", "expected different axes of f64[6, 8]", "transformations_test.cpp"});
}

TEST(Transformations, TheScaleOfALossHasAFloor) {
  const Tensor model = ones({2});
  const auto least_scale = [&](const optim::LossScaleOptions& options) {
    optim::Optimizer optimizer(optim::loss_scale(optim::sgd(0.1), options), model);
    for (int i = 0; i < 200; ++i) {
      optimizer = optimizer.update(model, model / 0).second;
    }
    return optimizer.loss_scale().item<double>();
  };
  EXPECT_EQ(least_scale({}), 1);
  EXPECT_EQ(least_scale({.initial_scale = 3, .min_scale = 0.25}), 0.25);
  expect_contains(what_of<ValueError>([] { optim::loss_scale(optim::sgd(0.1), {.min_scale = 0}); }),
                  {"optim::loss_scale: min_scale is 0"});
  expect_contains(
      what_of<ValueError>([] { optim::loss_scale(optim::sgd(0.1), {.initial_scale = 0.5}); }),
      {"initial_scale is 0.5, expected min_scale, 1, or more", ".min_scale = 0.5"});
}

TEST(Transformations, TheScaleOfALossFollowsItsGradients) {
  const Tensor start = astype(tensor<double>({1, -2}), DType::f16);
  Tensor model = start;
  optim::Optimizer optimizer(
      optim::loss_scale(optim::sgd(0.125), {.initial_scale = 65536. * 8, .growth_interval = 3}),
      model);
  std::vector<double> scales;
  const auto scaled_loss = [](const Tensor& at, const Tensor& scale) {
    return sum(square(at)) * scale;
  };
  for (int i = 0; i < 12; ++i) {
    scales.push_back(optimizer.loss_scale().item<double>());
    const auto loss = [&](const Tensor& at) {
      return scaled_loss(at, astype(optimizer.loss_scale(), DType::f16));
    };
    std::tie(model, optimizer) = optimizer.update(model, grad(loss)(model));
  }
  EXPECT_EQ(scales[0], 65536. * 8);
  EXPECT_LT(*std::ranges::min_element(scales), 65536);
  EXPECT_TRUE(all(isfinite(model)).item<bool>());
  EXPECT_LT(sum(square(astype(model, DType::f32))).item<double>(), 1);
  int64_t falls = 0;
  for (size_t i = 1; i < scales.size(); ++i) falls += scales[i] < scales[i - 1] ? 1 : 0;
  EXPECT_NEAR(optimizer.state.values.at("skipped").item<double>(), falls, 1);
}

TEST(Transformations, NoiseHasItsVariance) {
  const auto tx = optim::add_noise(0.25, 0.5, random::key(3));
  const Tensors zeros_of_two{{"a", zeros({20000})}, {"b", zeros({20000})}};
  const auto [updates, state] = tx.update(zeros_of_two, tx.init(zeros_of_two));
  const auto deviation = [](const Tensor& x) { return sqrt(mean(square(x))).item<double>(); };
  EXPECT_NEAR(deviation(updates.at("a")), 0.5, 0.01);
  EXPECT_LT(std::abs(mean(updates.at("a") * updates.at("b")).item<double>()), 0.01);
  const auto [again, last] = tx.update(zeros_of_two, state);
  EXPECT_NEAR(deviation(again.at("a")), 0.5 / std::pow(2, 0.25), 0.01);
}

TEST(Transformations, TheDiagonalOfAHessianIsEstimated) {
  const auto tx = optim::hutchinson_estimator_diag_hessian(random::key(2));
  const Tensors x{{"x", tensor<double>({1, 2})}};
  const auto cubes = [](const Tensors& at) { return sum(at.at("x") * at.at("x") * at.at("x")); };
  const auto [diagonal, state] = tx.update(x, tx.init(x), x, {.value_fn = cubes});
  EXPECT_EQ(diagonal.at("x").text(), "[ 6. 12.] : f64[2]");
}

TEST(Transformations, GradientsOfExamplesAreClipped) {
  const Tensors grads{{"w", tensor(std::vector<double>{3, 4, 0.5, 0}, {2, 2})}};
  const auto [clipped, count] = optim::per_example_global_norm_clip(grads, 1.);
  EXPECT_NEAR(at(clipped.at("w"), 0), 1.1, 1e-12);
  EXPECT_NEAR(at(clipped.at("w"), 1), 0.8, 1e-12);
  EXPECT_EQ(count.item<int64_t>(), 1);
  const auto [layers, counts] = optim::per_example_layer_norm_clip(grads, 1.);
  EXPECT_NEAR(at(layers.at("w"), 0), 1.1, 1e-12);
  EXPECT_EQ(counts.at("w").item<int64_t>(), 1);
  const auto tx = optim::differentially_private_aggregate(1, 0, random::key(0));
  const Tensors weights{{"w", zeros({2}, DType::f64)}};
  EXPECT_NEAR(at(tx.update(grads, tx.init(weights)).first.at("w"), 0), 0.55, 1e-12);
  expect_contains(
      what_of<ShapeError>([&] { return tx.update({{"w", number(1)}}, tx.init(weights)); }),
      {"the gradient of w is f64[]", "an axis of examples first"});
}

TEST(Transformations, SamInOneUpdateTakesTheGradientWhereItAscends) {
  const auto tx = optim::sam(optim::sgd(0.1), optim::chain(optim::normalize(), optim::sgd(0.05)),
                             {.opaque_mode = true});
  const Tensors weights{{"w", tensor<double>({3, 4})}};
  const auto gradient = [](const Tensors& at, int) { return Tensors{{"w", 2. * at.at("w")}}; };
  const auto [updates, state] =
      tx.update(gradient(weights, 0), tx.init(weights), weights, {.grad_fn = gradient});
  EXPECT_NEAR(first(updates.at("w")), -0.606, 1e-12);
}

TEST(Transformations, EightBitsAreCloseToTheMoments) {
  const Tensor x = sin(astype(iota(1000), DType::f32) * 0.37) *
                   exp(-astype(remainder(iota(1000), 7), DType::f32));
  const auto error = [&](const Tensor& values, double most, double power_of) {
    const optim::Codes codes = optim::encoded(values, most, power_of);
    EXPECT_LE(max(absolute(codes.codes)).item<double>(), most);
    return absolute(optim::decoded(codes, most, power_of, values.shape()) - values);
  };
  const Tensor bound = (sqrt(absolute(x)) + 1. / 508) / 127.;  // the largest magnitudes are below 1
  EXPECT_TRUE(all(error(x, 127, 2) <= bound).item<bool>());
  const Tensor part = power(square(x), 0.25) + 1. / 510;
  EXPECT_TRUE(all(error(square(x), 255, 4) <= 2. * part * part * part / 255.).item<bool>());
  const auto loss_after = [](const optim::Transformation& transformation) {
    const Net net = trained(Net(), optim::Optimizer(transformation, Net()), 40);
    return loss_of(net, batch()).item<double>();
  };
  const double narrow = loss_after(optim::adamw_8bit(0.02)), whole = loss_after(optim::adamw(0.02));
  EXPECT_NEAR(narrow, whole, 0.01);
  EXPECT_LT(narrow, loss_of(Net(), batch()).item<double>() / 2);
}

TEST(Transformations, SmallMomentsKeepTheirBitsBesideLargeOnes) {
  const auto tx = optim::scale_by_adam_8bit();
  const Tensors gradient{{"w", tensor<float>({1, 0.05F})}};
  const auto [updates, state] = tx.update(gradient, tx.init(gradient));
  EXPECT_EQ(state.kept.at("mu").at("w").dtype(), DType::i8);
  const auto [again, last] = tx.update(gradient, state);
  EXPECT_NEAR(at(again.at("w"), 0), 1, 0.05);
  EXPECT_NEAR(at(again.at("w"), 1), 1, 0.05);
}

TEST(Transformations, RowsAndColumnsOfAnyOrderAreFactored) {
  const Tensor wide = reshape(1. + square(sin(astype(iota(6), DType::f64))), {2, 3});
  const auto tx = optim::scale_by_factored_rms({.min_dim_size_to_factor = 2});
  const auto updated = [&](const Tensor& x) {
    const Tensors gradient{{"w", x}};
    return tx.update(gradient, tx.init(gradient), gradient).first.at("w");
  };
  const Tensor found = updated(wide);
  EXPECT_LT(max(absolute(matrix_transpose(updated(matrix_transpose(wide))) - found)).item<double>(),
            1e-12);
  const Tensor deep = reshape(1. + square(sin(astype(iota(24), DType::f64))), {2, 3, 4});
  EXPECT_LT(max(absolute(transpose(updated(transpose(deep))) - updated(deep))).item<double>(),
            1e-12);
  // The squares as a product of the means of rows and columns.
  const Tensor squares = square(wide);
  const Tensor product = mean(squares, 1, true) * mean(squares, 0, true) / mean(squares);
  EXPECT_LT(max(absolute(found - wide / sqrt(product))).item<double>(), 1e-12);
}

TEST(Transformations, UpdatesOfOtherTypesAreRefused) {
  const Net net;
  const auto expect_refused = [&](const auto& change, const std::string& update) {
    const optim::Optimizer optimizer(
        optim::stateless_with_tree_map([&](const Tensor& x, const Tensor&) { return change(x); }),
        net);
    expect_contains(what_of<ValueError>([&] { return optimizer.update(net, net); }),
                    {"optim::apply_updates: head is f64[2], but its update is " + update});
  };
  expect_refused([](const Tensor& x) { return stack(std::vector{x, x}); }, "f64[2, 2]");
  expect_refused([](const Tensor& x) { return sum(x); }, "f64[]");
  expect_refused([](const Tensor& x) { return astype(x, DType::c128); }, "c128[2]");
  expect_refused([](const Tensor&) { return Tensor(); }, "an empty tensor");
  expect_contains(
      what_of<ValueError>([&] { return optim::with_parameters(net, {{"layer.bias", number(1)}}); }),
      {"optim: layer.bias is f64[2], but its next value is f64[]"});
}

TEST(Transformations, AnOptimizerSearchesByTheLoss) {
  Net net;
  optim::Optimizer optimizer(optim::lbfgs(), net);
  const Tensor x = batch();
  const auto loss = [&](const Net& at) { return loss_of(at, x); };
  for (int i = 0; i < 15; ++i) {
    const auto [value, gradient] = value_and_grad(loss)(net);
    std::tie(net, optimizer) = optimizer.update_by_loss(net, gradient, value, loss);
  }
  EXPECT_LT(loss(net).item<double>(), 1e-3 * loss(Net()).item<double>());
  expect_contains(what_of<TypeError>([&] { return optimizer.update(net, net); }), {"is missing"});
}

}  // namespace
}  // namespace plait::optim_tests
