// Training runs: slices of a batch, averages, clipped gradients, and the state of a run.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/nn/buffers.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/training/averages.h"
#include "plait/optim/training/gradient_clipping.h"
#include "plait/optim/training/microbatches.h"
#include "plait/optim/training/train_state.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "tests/optim/small_net.h"
#include "tests/support/errors.h"

namespace plait::optim_tests {
namespace {

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

TEST(Microbatches, OfALossThatIsASum) {
  const auto whole =
      value_and_grad([](const Net& net, const Tensor& x) { return 12. * loss_of(net, x); });
  const auto part = value_and_grad([](const Net& net, const Tensor& x) {
    return loss_of(net, x) * static_cast<double>(x.shape(0).number());
  });
  const auto [loss, gradient] = whole(Net(), batch());
  const auto [own, slices] = optim::microbatches(3, part, Reduction::sum)(Net(), batch());
  EXPECT_NEAR(own.item<double>(), loss.item<double>(), 1e-12);
  EXPECT_LT(max(absolute(slices.layer.weight - gradient.layer.weight)).item<double>(), 1e-12);
  expect_contains(what_of<ValueError>([&] { optim::microbatches(3, part, Reduction::none); }),
                  {"optim::microbatches: reduce is none, expected mean or sum"});
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
  auto greatest = optim::AveragedModel<Counted>::init(
      counted(7, 7), false,
      [](const Tensor& averaged, const Tensor& current, const Tensor& n_averaged) {
        return maximum(averaged, current) + 0.125 * n_averaged;
      });
  for (const double value : {1, 2, 6}) {
    mean_of = mean_of.update(counted(value, value));
    with_buffers = with_buffers.update(counted(value, value));
    ema = ema.update(counted(value, value));
    greatest = jit([](const auto& average, const Counted& newest) {
      return average.update(newest);
    })(greatest, counted(4 - value, value));
  }
  EXPECT_NEAR(greatest.model.weight.item<double>(), 3 + 0.125 + 0.25, 1e-12);
  EXPECT_EQ(greatest.model.statistic.item<double>(), 6);
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
  Net bad = gradient;
  bad.head = bad.head * NAN;
  EXPECT_TRUE(std::isnan(optim::clip_grad_norm(bad, 1).second.item<double>()));
  expect_contains(what_of<Error>([&] { (void)optim::clip_grad_norm(bad, 1, 2, true); }),
                  {"the gradient.head", "nan"});
}

TEST(TrainState, HasThePlaceOfALoader) {
  const auto state = optim::train_state(Net(), optim::AdamW(Net()), random::key(1), std::tuple(),
                                        std::vector<Tensor>{number(3), number(5)});
  const auto next = state.update(Net());
  EXPECT_EQ(next.loader[1].item<double>(), 5);
  std::vector<std::string> paths;
  for_each_leaf(next, [&](std::string_view path, const Tensor&) { paths.emplace_back(path); });
  EXPECT_EQ(paths.back(), "loader.1");
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
}  // namespace plait::optim_tests
