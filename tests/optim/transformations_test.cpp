// Transformations, classes and what belongs to a training run: numbers, records, groups, patterns,
// ensembles, slices of a batch, narrow types, averages, bad input. Their formulas are compared with
// PyTorch's and optax's by tests/oracles/optimizers_oracle.py.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "plait/nn/buffers.h"
#include "plait/nn/models/freeze.h"
#include "plait/nn/models/state.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/optimizers/adam_variants.h"
#include "plait/optim/optimizers/adaptive_optimizers.h"
#include "plait/optim/optimizers/lbfgs_optimizer.h"
#include "plait/optim/schedules/lr_scheduler.h"
#include "plait/optim/sgd.h"
#include "plait/optim/training/averages.h"
#include "plait/optim/training/gradient_clipping.h"
#include "plait/optim/training/microbatches.h"
#include "plait/optim/training/train_state.h"
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

#include "tests/support/errors.h"

namespace plait::transformations_tests {
namespace {

using optim::Tensors;

struct Layer {
  Tensor weight = ones({2, 2}, DType::f64);
  Tensor bias = ones({2}, DType::f64);
};
struct Net {
  Layer layer = {};
  Tensor head = ones({2}, DType::f64);
};

Tensor loss_of(const Net& net, const Tensor& x) {
  const Tensor hidden = tanh(matmul(x, net.layer.weight) + net.layer.bias);
  return mean(square(matmul(hidden, net.head) - 1.));
}
Tensor batch() { return reshape(sin(astype(iota(24), DType::f64)), {12, 2}); }

double at(const Tensor& x, int64_t i) { return x[i].item<double>(); }
double first(const Tensor& x) { return flatten(x)[0].item<double>(); }
Tensor number(double value) { return full({}, value, DType::f64); }

template <class Optimizer>
std::pair<Net, Optimizer> step(const Net& net, const Optimizer& optimizer, const Tensor& x) {
  return optimizer.update(net, grad(loss_of)(net, x));
}

template <class Optimizer>
Net trained(Net net, Optimizer optimizer, int steps) {
  for (int i = 0; i < steps; ++i) std::tie(net, optimizer) = step(net, optimizer, batch());
  return net;
}

// ---- Classes

// A changed rate needs no new record.
template <class Optimizer>
void expect_one_record(Optimizer optimizer, bool is_rate_a_number = true) {
  Net net;
  const auto jitted = jit(step<Optimizer>);
  const double before = loss_of(net, batch()).template item<double>();
  for (int i = 0; i < 20; ++i) {
    if (is_rate_a_number) optimizer.lr = number(0.01 / (i + 1));
    std::tie(net, optimizer) = jitted(net, optimizer, batch());
  }
  EXPECT_EQ(stats(jitted).traces, 1) << optimizer.name();
  EXPECT_LT(loss_of(net, batch()).template item<double>(), before) << optimizer.name();
  EXPECT_EQ(optimizer.steps.template item<int64_t>(), 20);
}

TEST(Classes, ARateThatChangesNeedsNoNewRecord) {
  const Net net;
  expect_one_record(optim::Sgd(net, {.momentum = 0.9}));
  expect_one_record(optim::ASGD(net));
  expect_one_record(optim::Rprop(net));
  expect_one_record(optim::Lion(net));
  expect_one_record(optim::Adamax(net));
  expect_one_record(optim::NAdam(net));
  expect_one_record(optim::RAdam(net));
  expect_one_record(optim::SparseAdam(net));
  expect_one_record(optim::LAMB(net));
  expect_one_record(optim::Adagrad(net));
  expect_one_record(optim::Adadelta(net));
  expect_one_record(optim::RMSprop(net));
  expect_one_record(optim::Adafactor(net));
  const optim::Schedule rate = optim::lr_scheduler::ExponentialLR{0.01, 0.9};
  expect_one_record(optim::AdamW(net, {.lr = rate}), false);
}

TEST(Classes, NumberAndConstantScheduleGiveTheSameBits) {
  const auto constant = [](double value) { return optim::constant_schedule(value); };
  const Net a = trained(Net(), optim::AdamW(Net(), {.lr = 0.03, .beta1 = 0.8}), 5);
  const Net b =
      trained(Net(), optim::AdamW(Net(), {.lr = constant(0.03), .beta1 = constant(0.8)}), 5);
  EXPECT_EQ(a.layer.weight.text(), b.layer.weight.text());
  EXPECT_NE(a.layer.weight.text(), Net().layer.weight.text());
}

TEST(Classes, GroupsHaveNumbersOfTheirOwn) {
  optim::Sgd optimizer(
      Net(), {.lr = 0.5,
              .weight_decay = 0.5,
              .groups = {{{"*.bias"}, {{"weight_decay", 0}}}, {{"he*"}, {{"lr", 0.25}}}}});
  const Net zeros = map_leaves(Net(), zeros_like);
  const auto update = [](const Net& net, const optim::Sgd<Net>& at, const Net& gradient) {
    return at.update(net, gradient);
  };
  const auto jitted = jit(update);
  auto [moved, after] = jitted(Net(), optimizer, zeros);
  EXPECT_EQ(first(moved.layer.weight), 0.75);
  EXPECT_EQ(first(moved.layer.bias), 1);
  EXPECT_EQ(first(moved.head), 0.875);
  after.groups[1].numbers["lr"] = number(0.5);
  after.lr = number(1);
  std::tie(moved, after) = jitted(moved, after, zeros);
  EXPECT_EQ(first(moved.layer.weight), 0.375);
  EXPECT_EQ(first(moved.layer.bias), 1);
  EXPECT_EQ(first(moved.head), 0.65625);
  EXPECT_EQ(stats(jitted).traces, 1);
}

struct Pair {
  Tensor first = ones({2, 3}, DType::f64), second = ones({3, 2}, DType::f64);
};

TEST(Classes, FrozenMatricesAreLeftOut) {
  const auto model = nn::freeze(Pair(), {"second"});
  const auto loss = [](const nn::Frozen<Pair>& at) {
    const Pair whole = at.whole();
    return sum(square(matmul(whole.first, whole.second)));
  };
  const auto expect_trained = [&](const auto& optimizer) {
    const auto [moved, next] = optimizer.update(model, grad(loss)(model));
    EXPECT_NE(first(moved.trained.first), 1);
    EXPECT_EQ(moved.whole().second.text(), Pair().second.text());
    for (const auto& [path, kept] : nn::state(next)) {
      if (!path.ends_with("second")) continue;
      EXPECT_EQ(kept.shape().element_count().number(), 0) << path;
    }
  };
  expect_trained(optim::Muon(model, {.lr = 0.1}));
  expect_trained(optim::AdamW(model, {.lr = 0.1}));
  expect_trained(optim::Adafactor(model, {.lr = 0.1}));
  expect_trained(optim::Optimizer(optim::chain({optim::scale_by_muon(), optim::sgd(0.1)}), model));
}

TEST(Classes, RefuseWhatCannotBe) {
  const Net net;
  const auto with = [&](std::vector<optim::Group> groups) {
    return what_of<ValueError>([&] { optim::Sgd(net, {.groups = groups}); });
  };
  expect_contains(with({{{"*.bais"}, {{"lr", 0.1}}}}),
                  {"optim::Sgd: groups[0]: the pattern", "*.bais", "matches no parameter"});
  expect_contains(with({{{"layer.*"}}, {{"*.bias"}}}),
                  {"layer.bias is in two groups: groups[0] and groups[1]"});
  expect_contains(with({{{"*"}, {{"rate", 0.1}}}}),
                  {"groups[0]: unknown option", "rate", "the options are lr, momentum"});
  expect_contains(with({{{"*"}, {{"lr", -0.1}}}}), {"groups[0]: lr is -0.1"});
  expect_contains(what_of<ValueError>([&] {
                    optim::Sgd(net, {.momentum = 0.9, .dampening = 0.5, .nesterov = true});
                  }),
                  {"nesterov needs a dampening of 0"});
  expect_contains(what_of<ValueError>([&] { optim::Rprop(net, {.etas = {1.5, 1.2}}); }),
                  {"optim::Rprop: eta_minus is 1.5"});
  expect_contains(what_of<ValueError>([&] { optim::Adafactor(net, {.beta2_decay = 0.5}); }),
                  {"optim::Adafactor: beta2_decay is 0.5"});
  const Tensor two = ones({2}, DType::f64);
  const optim::Schedule of_two = [](const Tensor& step) { return step + ones({2}, DType::f64); };
  expect_contains(what_of<ValueError>([&] { optim::Sgd(net, {.lr = two}); }),
                  {"optim::Sgd: lr is f64[2], expected one number, of shape []"});
  expect_contains(with({{{"head"}, {{"momentum", two}}}}), {"groups[0]: momentum is f64[2]"});
  expect_contains(what_of<ValueError>([&] { optim::sgd(two); }), {"learning_rate is f64[2]"});
  expect_contains(what_of<ValueError>([&] { optim::Sgd(net, {.lr = of_two}); }), {"f64[2]"});
  optim::Sgd assigned(net);
  expect_contains(what_of<ValueError>([&] { assigned.lr = two; }), {"f64[2], expected one number"});
  assigned.lr.value() = two;
  expect_contains(what_of<ValueError>([&] { return assigned.update(net, net); }),
                  {"optim::Sgd: lr is f64[2]"});
  expect_contains(what_of<ShapeError>([&] { optim::Muon(net, {}); }),
                  {"optim::Muon: head is f64[2], expected a matrix"});
  expect_contains(what_of<ValueError>([] { optim::Adam(full({}, 3)); }),
                  {"optim::Adam: the model has no parameters"});
  optim::Sgd plain(net);
  plain.numbers["momentum"] = number(0.9);
  expect_contains(what_of<ValueError>([&] { return plain.update(net, net); }),
                  {"momentum_buffer has no", "the momentum was 0 when the optimizer was made"});
}

TEST(Classes, ComplexParametersGoDownhill) {
  const Tensor z = astype(tensor<double>({3, -2}), DType::c128);
  const auto size = [](const Tensor& at) { return sum(square(absolute(at))); };
  const auto expect_smaller = [&](auto optimizer) {
    Tensor at = z * Tensor(full({}, std::complex<double>(0.6, 0.8)));
    for (int i = 0; i < 10; ++i) std::tie(at, optimizer) = optimizer.update(at, grad(size)(at));
    EXPECT_LT(size(at).template item<double>(), size(z).template item<double>() * 0.9);
  };
  expect_smaller(optim::Sgd(z, {.lr = 0.05}));
  expect_smaller(optim::Adam(z, {.lr = 0.05}));
}

TEST(Lbfgs, FindsTheBottomOfAValley) {
  const auto valley = [](const Tensor& x) {
    const Tensor after = x[Slice{1, {}}], before = x[Slice{0, -1}];
    return sum(100. * square(after - square(before)) + square(1. - before));
  };
  const Tensor start = tensor<double>({-1, 2, 0.5});
  for (const auto search : {optim::LineSearch::none, optim::LineSearch::strong_wolfe}) {
    const bool searches = search == optim::LineSearch::strong_wolfe;
    const optim::LBFGS optimizer(
        start, {.lr = searches ? 1. : 0.5, .max_iter = 200, .line_search_fn = search});
    const auto update = [valley](const Tensor& x, const optim::LBFGS<Tensor>& at) {
      return at.update(x, valley);
    };
    const auto [eager, state] = update(start, optimizer);
    const auto [jitted, same_state] = jit(frozen(update))(start, optimizer);
    EXPECT_LT(max(absolute(eager - jitted)).item<double>(), 1e-8);
    EXPECT_LT(max(absolute(eager - 1.)).item<double>(), searches ? 1e-5 : 10);
    EXPECT_LT(valley(eager).item<double>(), valley(start).item<double>());
    EXPECT_EQ(state.loss.item<double>(), valley(start).item<double>());
  }
  expect_contains(what_of<ValueError>([&] { optim::LBFGS(start, {.max_iter = 0}); }),
                  {"optim::LBFGS: max_iter is 0"});
}

// ---- Transformations

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

TEST(Transformations, AnEnsembleIsTrainedAtOnce) {
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
                  {"0, -1", "expected each axis of f64[6, 8] once", "transformations_test.cpp"});
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

TEST(Schedules, MultiplicativeRatesAreALoop) {
  const optim::Schedule schedule = optim::lr_scheduler::MultiplicativeLR{
      .lr = 0.1,
      .lr_lambda = optim::Schedule([](const Tensor& step) { return 1. - 0.5 / (step + 3.); })};
  double wanted = 0.1;
  for (int i = 1; i <= 5; ++i) wanted *= 1 - 0.5 / (i + 3);
  EXPECT_NEAR(schedule(5).item<double>(), wanted, 1e-15);
  EXPECT_NEAR(schedule(0).item<double>(), 0.1, 1e-15);
}

// A step that was recorded with one schedule runs with the other one.
void expect_one_record(const optim::Schedule& a, const optim::Schedule& b) {
  using AdamW = optim::AdamW<Net>;
  const auto jitted = jit(step<AdamW>);
  for (const optim::Schedule& each : {a, b}) {
    const AdamW optimizer(Net(), {.lr = each});
    const auto [net, next] = jitted(Net(), optimizer, batch());
    const auto [wanted, after] = step(Net(), optimizer, batch());
    EXPECT_EQ(net.layer.weight.text(), wanted.layer.weight.text());
    EXPECT_EQ(next.lr.item<double>(), each(0).item<double>());
  }
  EXPECT_EQ(stats(jitted).traces, 1) << fmt::format("{}", fmt::join(leaf_paths(a), ", "));
  EXPECT_NE(a(0).item<double>(), b(0).item<double>());
}

TEST(Schedules, AnotherNumberNeedsNoNewRecord) {
  using namespace optim;
  using namespace optim::lr_scheduler;
  expect_one_record(StepLR{0.1, 30, 0.5}, StepLR{0.2, 20, 0.25});
  expect_one_record(MultiStepLR{0.1, {3, 5}}, MultiStepLR{0.2, {2, 9}, 0.5});
  expect_one_record(ConstantLR{0.1}, ConstantLR{0.1, 0.25, 7});
  expect_one_record(LinearLR{0.1}, LinearLR{0.2, 0.5, 0.75, 9});
  expect_one_record(PolynomialLR{0.1}, PolynomialLR{0.2, 7, 2});
  expect_one_record(CosineAnnealingLR{0.1, 5}, CosineAnnealingLR{0.2, 7, 0.01});
  expect_one_record(CosineAnnealingWarmRestarts{0.1, 5, 2},
                    CosineAnnealingWarmRestarts{0.2, 7, 2, 0.01});
  expect_one_record(OneCycleLR{.max_lr = 0.1, .total_steps = 9},
                    OneCycleLR{.max_lr = 0.2, .total_steps = 8, .pct_start = 0.5});
  expect_one_record(SWALR{0.1, 0.2}, SWALR{0.2, 0.1, 3});
  expect_one_record(CyclicLR{.base_lr = 0.1, .max_lr = 0.2, .scale_fn = constant_schedule(1)},
                    CyclicLR{.base_lr = 0.2, .max_lr = 0.3, .scale_fn = constant_schedule(0.5)});
  expect_one_record(LambdaLR{0.1, exponential_decay(1, 5, 0.5)},
                    LambdaLR{0.1, exponential_decay(2, 6, 1.5)});
  expect_one_record(MultiplicativeLR{0.1, constant_schedule(0.5)},
                    MultiplicativeLR{0.2, constant_schedule(0.25)});
  expect_one_record(ChainedScheduler{{ConstantLR{0.1}, ExponentialLR{1, 0.5}}},
                    ChainedScheduler{{ConstantLR{0.2}, ExponentialLR{1, 0.75}}});
  expect_one_record(SequentialLR{{ConstantLR{0.1}, StepLR{0.1, 3}}, {4}},
                    SequentialLR{{ConstantLR{0.2}, StepLR{0.1, 5}}, {6}});
  expect_one_record(polynomial_schedule(0.1, 0, 2, 9), polynomial_schedule(0.2, 0.1, 3, 7, 1));
  expect_one_record(exponential_decay(0.1, 5, 0.5, {.end_value = 0.01}),
                    exponential_decay(0.2, 5, 1.5, {.end_value = 2}));
  expect_one_record(natural_exp_decay(0.1, 2, 5), natural_exp_decay(0.2, 3, 6));
  expect_one_record(cosine_decay_schedule(0.1, 5), cosine_decay_schedule(0.2, 6, 0.5, 2));
  expect_one_record(inverse_sqrt_schedule(0.1, 5, 0.01), inverse_sqrt_schedule(0.2, 6, 0.02));
  expect_one_record(piecewise_constant_schedule(0.1, {{2, 0.5}}),
                    piecewise_constant_schedule(0.2, {{3, 0.1}}));
  expect_one_record(cosine_onecycle_schedule(9, 0.1), cosine_onecycle_schedule(8, 0.2));
  expect_one_record(warmup_cosine_decay_schedule(0.01, 0.1, 2, 9),
                    warmup_cosine_decay_schedule(0.02, 0.2, 3, 8, 0.01));
  expect_one_record(warmup_stable_decay_schedule(0.1, 2, 3, 4, {.init_value = 0.01}),
                    warmup_stable_decay_schedule(0.2, 3, 4, 5, {.init_value = 0.02}));
}

TEST(Schedules, NumbersAreInTheTreeOfTheOptimizer) {
  const optim::Schedule rate = optim::warmup_linear_decay_schedule(0.1, 0.5, 2, 6);
  const optim::Sgd optimizer(Net(), {.lr = rate});
  const std::vector<std::string> expected{"lr",
                                          "lr.boundaries.0",
                                          "lr.schedules.0.end_value",
                                          "lr.schedules.0.init_value",
                                          "lr.schedules.0.power",
                                          "lr.schedules.0.transition_begin",
                                          "lr.schedules.0.transition_steps",
                                          "lr.schedules.1.end_value",
                                          "lr.schedules.1.init_value",
                                          "lr.schedules.1.power",
                                          "lr.schedules.1.transition_begin",
                                          "lr.schedules.1.transition_steps",
                                          "steps"};
  EXPECT_EQ(leaf_paths(optimizer), expected);

  // Saved, and loaded into an optimizer of another rate.
  const nn::State state = nn::state(optimizer);
  const optim::Schedule other = optim::warmup_linear_decay_schedule(0.2, 0.25, 3, 9);
  const auto loaded = nn::load_state(optim::Sgd(Net(), {.lr = other}), state);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ((*loaded.lr.schedule)(i).item<double>(), rate(i).item<double>());
  }

  // A transformation has them in its state.
  optim::Optimizer transformed(optim::chain({optim::scale_by_adopt(), optim::sgd(rate)}), Net());
  const std::vector<std::string> paths = leaf_paths(transformed);
  const std::string path = "state.parts.1.parts.1.numbers.learning_rate.schedules.1.end_value";
  EXPECT_NE(std::ranges::find(paths, path), paths.end())
      << fmt::format("{}", fmt::join(paths, " "));
}

TEST(Schedules, NumbersAreChangedAndDonated) {
  using optim::lr_scheduler::StepLR;
  const optim::Schedule schedule = StepLR{.lr = 0.5, .step_size = 1, .gamma = 0.5};
  optim::Sgd optimizer(Net(), {.lr = schedule, .momentum = schedule});
  const auto jitted = jit(step<optim::Sgd<Net>>, {.donate = {1}});
  optimizer = jitted(Net(), std::move(optimizer), batch()).second;
  optimizer.lr.schedule->number("gamma") = number(0.25);
  optimizer = jitted(Net(), std::move(optimizer), batch()).second;
  EXPECT_EQ(optimizer.lr.item<double>(), 0.125);
  EXPECT_EQ(optimizer.numbers.at("momentum").item<double>(), 0.25);
  EXPECT_EQ(stats(jitted).traces, 1);
  EXPECT_EQ(schedule(1).item<double>(), 0.25);

  optim::Optimizer transformed(optim::sgd(schedule), Net());
  transformed.state.number("learning_rate").schedule->number("lr") = number(2);
  transformed = step(Net(), transformed, batch()).second;
  EXPECT_EQ(transformed.state.number("learning_rate").item<double>(), 2);
  expect_contains(
      what_of<KeyError>([&] { optimizer.lr.schedule->number("gama") = number(1); }),
      {"optim::Schedule: unknown number \"gama\"; the numbers are gamma, lr, step_size"});
}

TEST(Schedules, ThoseOfUsersAreEqualToTheirCopiesOnly) {
  const auto jitted = jit(step<optim::Sgd<Net>>);
  const auto made = [] {
    return optim::Schedule([](const Tensor& step) { return 0.1 / (1. + step); });
  };
  const optim::Schedule a = made(), b = made();
  EXPECT_TRUE(leaf_paths(a).empty());
  for (const optim::Schedule& each : {a, a, b}) {
    const optim::Sgd optimizer(Net(), {.lr = each});
    EXPECT_EQ(jitted(Net(), optimizer, batch()).second.lr.item<double>(), 0.1);
  }
  EXPECT_EQ(stats(jitted).traces, 2);
}

TEST(Schedules, AreReplacedByWhatIsAssigned) {
  const optim::Schedule schedule = optim::lr_scheduler::StepLR{.lr = 0.5, .step_size = 1};
  optim::Sgd optimizer(
      Net(),
      {.lr = schedule, .momentum = schedule, .groups = {{{"head"}, {{"weight_decay", schedule}}}}});
  optimizer.lr = number(2);
  optimizer.numbers["momentum"] = 0.25;
  optimizer.groups[0].numbers["weight_decay"] = 0.125;
  for (int i = 0; i < 2; ++i) optimizer = step(Net(), optimizer, batch()).second;
  EXPECT_EQ(optimizer.lr.item<double>(), 2);
  EXPECT_EQ(optimizer.numbers.at("momentum").item<double>(), 0.25);
  EXPECT_EQ(optimizer.groups[0].numbers.at("weight_decay").item<double>(), 0.125);
  optimizer.lr = schedule;
  optimizer = step(Net(), optimizer, batch()).second;
  EXPECT_EQ(optimizer.lr.item<double>(), schedule(2).item<double>());
  optim::Sgd another(Net(), {.lr = optimizer.lr});
  for (int i = 0; i < 2; ++i) another = step(Net(), another, batch()).second;
  EXPECT_EQ(another.lr.item<double>(), schedule(1).item<double>());

  optim::Optimizer transformed(optim::sgd(schedule), Net());
  transformed.state.number("learning_rate") = 0.25;
  transformed = step(Net(), transformed, batch()).second;
  EXPECT_EQ(transformed.state.number("learning_rate").item<double>(), 0.25);

  optim::LBFGS<Net> lbfgs(Net(), {.lr = schedule, .max_iter = 1});
  const auto loss = [](const Net& net) { return loss_of(net, batch()); };
  for (int i = 0; i < 2; ++i) lbfgs = lbfgs.update(Net(), loss).second;
  EXPECT_EQ(lbfgs.lr.item<double>(), schedule(1).item<double>());
  lbfgs.lr = 0.75;
  EXPECT_EQ(lbfgs.update(Net(), loss).second.lr.item<double>(), 0.75);

  auto ema = optim::EMA<Net>::init(Net(), schedule);
  for (int i = 0; i < 2; ++i) ema = ema.update(Net());
  EXPECT_EQ(ema.decay.item<double>(), schedule(1).item<double>());
}

TEST(Schedules, PlateausDifferInNumbersWithoutANewRecord) {
  using optim::lr_scheduler::ReduceLROnPlateau;
  const auto jitted =
      jit([](const ReduceLROnPlateau& at, const Tensor& loss) { return at.step(loss); });
  for (const double factor : {0.5, 0.25}) {
    auto plateau = ReduceLROnPlateau::init(1, {.factor = factor, .patience = 0});
    for (int i = 0; i < 2; ++i) plateau = jitted(plateau, number(3));
    EXPECT_EQ(plateau.lr.item<double>(), factor);
  }
  EXPECT_EQ(stats(jitted).traces, 1);
}

TEST(Schedules, RefuseWhatCannotBe) {
  using namespace optim::lr_scheduler;
  const auto at_0 = [](const optim::Schedule& schedule) { schedule(0); };
  expect_contains(what_of<ValueError>([&] { at_0(StepLR{.lr = 0.1, .step_size = 0}); }),
                  {"lr_scheduler::StepLR: step_size is 0, expected a number above 0"});
  expect_contains(what_of<ValueError>([&] { ReduceLROnPlateau::init(0.1, {.factor = 1.5}); }),
                  {"ReduceLROnPlateau: factor is 1.5"});
  expect_contains(what_of<ValueError>([&] { optim::cosine_decay_schedule(0.1, 0); }),
                  {"optim::cosine_decay_schedule: decay_steps is 0"});
  expect_contains(
      what_of<ValueError>([&] { optim::join_schedules({optim::constant_schedule(1)}, {3}); }),
      {"1 boundaries of 1 schedules, expected one less"});
  expect_contains(what_of<ValueError>([&] { optim::piecewise_constant_schedule(1, {{3, -1}}); }),
                  {"the factor from step 3 on is -1, expected 0 or more"});
  expect_contains(what_of<ValueError>([&] { optim::warmup_cosine_decay_schedule(0, 1, 10, 5); }),
                  {"decay_steps is 5, expected more than warmup_steps, 10"});
}

// ---- Training runs

TEST(Microbatches, AreEqualToTheWholeBatch) {
  const Net net;
  const auto whole = value_and_grad(loss_of);
  const auto [loss, gradient] = whole(net, batch());
  const auto expect_equal = [&](const auto& run) {
    const auto [own, slices] = run(net, batch());
    EXPECT_NEAR(own.template item<double>(), loss.template item<double>(), 1e-12);
    EXPECT_LT(max(absolute(slices.layer.weight - gradient.layer.weight)).template item<double>(),
              1e-12);
  };
  for (const int64_t n : {1, 3, 12}) {
    const auto run = optim::microbatches(n, whole);
    expect_equal(run);
    expect_equal(jit(frozen(run)));
  }
  expect_contains(what_of<ValueError>([&] { optim::microbatches(5, whole)(net, batch()); }),
                  {"the batch of 12 cannot be cut into 5 equal slices"});
  expect_contains(what_of<ValueError>([&] { optim::microbatches(0, whole); }),
                  {"optim::microbatches: n is 0"});
}

struct Normed {
  Tensor weight = tensor<double>({1, 2});
  nn::Buffer mean = number(0);
  nn::Buffer calls = full({}, int64_t{0});
};

TEST(Microbatches, TakeModelsWithIntegersInBuffers) {
  const auto loss = [](const Normed& model, const Tensor& x) {
    Normed changed = model;
    changed.mean = 0.5 * model.mean + mean(x);
    changed.calls = model.calls + 1;
    return std::pair(mean(square(x * model.weight)), changed);
  };
  const auto number_of = [&](const Normed& model, const Tensor& x) { return loss(model, x).first; };
  const auto step = value_and_grad(loss, with_aux);
  const Tensor x = batch();
  const auto [whole, wanted] = step(Normed(), x);

  const auto [value, gradient] = optim::microbatches(3, value_and_grad(number_of))(Normed(), x);
  EXPECT_LT(max(absolute(gradient.weight - wanted.weight)).item<double>(), 1e-12);
  EXPECT_EQ(gradient.calls.item<int64_t>(), 0);

  const auto [once, same] = optim::microbatches(3, step)(Normed(), x);
  EXPECT_EQ(once.second.calls.item<int64_t>(), 1);
  EXPECT_NEAR(once.second.mean.item<double>(), whole.second.mean.item<double>(), 1e-12);

  Normed after;
  for (int64_t i = 0; i < 3; ++i) after = loss(after, x[Slice{4 * i, 4 * i + 4}]).second;
  const auto expect_passed_on = [&](const auto& run) {
    const auto [result, gradients] = run(Normed(), x);
    EXPECT_NEAR(result.first.template item<double>(), whole.first.template item<double>(), 1e-12);
    EXPECT_LT(max(absolute(gradients.weight - wanted.weight)).template item<double>(), 1e-12);
    EXPECT_EQ(result.second.calls.template item<int64_t>(), 3);
    EXPECT_NEAR(result.second.mean.template item<double>(), after.mean.template item<double>(),
                1e-12);
  };
  const auto run = optim::microbatches(3, step, optim::changes_model);
  expect_passed_on(run);
  expect_passed_on(jit(frozen(run)));

  const auto counts = [](const Normed&, const Tensor& each) {
    return astype(sum(each), DType::i64);
  };
  expect_contains(what_of<TypeError>([&] { optim::microbatches(3, counts)(Normed(), x); }),
                  {"is i64[], which has no mean", "optim::changes_model"});
}

struct Counted {
  Tensor weight;
  nn::Buffer statistic;
};
Counted counted(double weight, double statistic) {
  return {.weight = number(weight), .statistic = number(statistic)};
}

TEST(Averages, AreThoseOfTheParameters) {
  auto mean_of = optim::AveragedModel<Counted>::init(counted(7, 7));
  auto with_buffers = optim::AveragedModel<Counted>::init(counted(7, 7), true);
  auto ema = optim::EMA<Counted>::init(counted(7, 7), 0.75);
  for (const double value : {1, 2, 6}) {
    mean_of = mean_of.update(counted(value, value));
    with_buffers = with_buffers.update(counted(value, value));
    ema = ema.update(counted(value, value));
  }
  EXPECT_NEAR(mean_of.model.weight.item<double>(), 3, 1e-12);
  EXPECT_EQ(mean_of.model.statistic.item<double>(), 6);
  EXPECT_NEAR(with_buffers.model.statistic.item<double>(), 3, 1e-12);
  EXPECT_NEAR(ema.model.weight.item<double>(), 0.75 * 1.25 + 0.25 * 6, 1e-12);
  EXPECT_EQ(mean_of.n_averaged.item<int64_t>(), 3);
  expect_contains(what_of<ValueError>([] { optim::EMA<Counted>::init(counted(1, 1), 1.5); }),
                  {"optim::EMA: decay is 1.5"});
}

TEST(Averages, KeepTheirDtypes) {
  const auto in = [](DType weight, double value) {
    return Counted{.weight = full({1}, value, weight), .statistic = full({}, value, weight)};
  };
  const auto after_two = [&](auto average, DType newest) {
    average = average.update(in(newest, 1));
    return average.update(in(newest, 1 + 1. / 64)).model;
  };
  const auto f32 = optim::EMA<Counted>::init(in(DType::f32, 7), 0.5);
  EXPECT_EQ(after_two(f32, DType::bf16).weight.text(), "[1.0078125] : f32[1]");
  EXPECT_EQ(after_two(f32, DType::f64).weight.text(), "[1.0078125] : f32[1]");
  EXPECT_EQ(after_two(f32, DType::bf16).statistic.dtype(), DType::f32);
  const auto f64 = optim::AveragedModel<Counted>::init(in(DType::f64, 7));
  EXPECT_EQ(after_two(f64, DType::f16).weight.text(), "[1.0078125] : f64[1]");
  const auto bf16 = optim::EMA<Counted>::init(in(DType::bf16, 7), 0.5);
  EXPECT_EQ(after_two(bf16, DType::f32).weight.dtype(), DType::bf16);
}

TEST(GradientClipping, BoundsTheTotalNorm) {
  const Net gradient;  // 8 ones
  EXPECT_NEAR(optim::get_total_norm(gradient).item<double>(), std::sqrt(8), 1e-12);
  EXPECT_NEAR(optim::get_total_norm(gradient, 1).item<double>(), 8, 1e-12);
  EXPECT_NEAR(optim::get_total_norm(gradient, INFINITY).item<double>(), 1, 1e-12);
  const auto [clipped, norm] = optim::clip_grad_norm(gradient, 1);
  EXPECT_NEAR(norm.item<double>(), std::sqrt(8), 1e-12);
  EXPECT_NEAR(first(clipped.head), 1 / (std::sqrt(8) + 1e-6), 1e-12);
  EXPECT_EQ(first(optim::clip_grad_norm(gradient, 100).first.head), 1);
  EXPECT_EQ(first(optim::clip_grad_value(gradient, 0.25).head), 0.25);
  expect_contains(what_of<ValueError>([&] { optim::get_total_norm(gradient, 0); }),
                  {"norm_type is 0, expected a number above 0"});
}

TEST(TrainState, IsOneTreeOfAJittedStep) {
  auto state = optim::train_state(Net(), optim::AdamW(Net(), {.lr = 0.05}), random::key(1));
  using Run = decltype(state);
  const auto run = [](const Run& at, const Tensor& x) {
    const Tensor noised = x + 0.01 * random::normal(at.step_key(3), x.shape(), 0., 1., DType::f64);
    const auto [loss, gradient] = value_and_grad(loss_of)(at.model, noised);
    return std::pair(at.update(gradient), loss);
  };
  const auto jitted = jit(run);
  Tensor loss, begun;
  for (int i = 0; i < 10; ++i) {
    std::tie(state, loss) = jitted(state, batch());
    if (i == 0) begun = loss;
  }
  EXPECT_EQ(state.step.item<int64_t>(), 10);
  EXPECT_EQ(stats(jitted).traces, 1);
  EXPECT_LT(loss.item<double>(), begun.item<double>());
  EXPECT_NE(random::uniform(state.step_key(), {1}).text(),
            random::uniform(state.step_key(1), {1}).text());
}

}  // namespace
}  // namespace plait::transformations_tests
