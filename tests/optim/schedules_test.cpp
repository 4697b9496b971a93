// Schedules: their numbers in the trees of optimizers, which need no new records, and bad input.
// Their values are compared with PyTorch's and optax's by tests/oracles/optimizers_oracle.py.
#include <algorithm>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "plait/nn/models/state.h"
#include "plait/optim/adam.h"
#include "plait/optim/optimizers/lbfgs_optimizer.h"
#include "plait/optim/schedules/lr_scheduler.h"
#include "plait/optim/sgd.h"
#include "plait/optim/training/averages.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/moments.h"
#include "plait/transform/jit.h"

#include "tests/optim/small_net.h"
#include "tests/support/errors.h"

namespace plait::optim_tests {
namespace {

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

TEST(Schedules, CyclesHaveAMomentum) {
  using namespace optim::lr_scheduler;
  const OneCycleLR cycle{.max_lr = 0.1, .total_steps = 9};
  optim::AdamW optimizer(Net(), {.lr = cycle, .beta1 = cycle.momentum()});
  Net net;
  for (int i = 0; i < 3; ++i) {
    std::tie(net, optimizer) = step(net, optimizer, batch());
    EXPECT_EQ(optimizer.numbers.at("beta1").item<double>(), cycle.momentum()(i).item<double>());
  }
  EXPECT_LT(optimizer.numbers.at("beta1").item<double>(), 0.95);
  EXPECT_EQ(cycle.momentum()(0).item<double>(), 0.95);
  expect_contains(
      what_of<ValueError>([] {
        return OneCycleLR{.max_lr = 1, .total_steps = 5, .cycle_momentum = false}.momentum();
      }),
      {"lr_scheduler::OneCycleLR: there is no momentum", "leave cycle_momentum out"});
  expect_contains(what_of<ValueError>([] {
                    return CyclicLR{.base_lr = 0, .max_lr = 1, .max_momentum = 1.5}.momentum();
                  }),
                  {"lr_scheduler::CyclicLR: max_momentum is 1.5, expected a number from 0"});
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
  const optim::SGD optimizer(Net(), {.lr = rate});
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
                                          "steps",
                                          "numbers.dampening",
                                          "numbers.weight_decay"};
  EXPECT_EQ(leaf_paths(optimizer), expected);

  // Saved, and loaded into an optimizer of another rate.
  const nn::State state = nn::state(optimizer);
  const optim::Schedule other = optim::warmup_linear_decay_schedule(0.2, 0.25, 3, 9);
  const auto loaded = nn::load_state(optim::SGD(Net(), {.lr = other}), state);
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
  optim::SGD optimizer(Net(), {.lr = schedule, .momentum = schedule});
  const auto jitted = jit(step<optim::SGD<Net>>, {.donate = {1}});
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

TEST(Schedules, CustomOnesEqualTheirCopiesOnly) {
  const auto jitted = jit(step<optim::SGD<Net>>);
  const auto made = [] {
    return optim::Schedule([](const Tensor& step) { return 0.1 / (1. + step); });
  };
  const optim::Schedule a = made(), b = made();
  EXPECT_TRUE(leaf_paths(a).empty());
  for (const optim::Schedule& each : {a, a, b}) {
    const optim::SGD optimizer(Net(), {.lr = each});
    EXPECT_EQ(jitted(Net(), optimizer, batch()).second.lr.item<double>(), 0.1);
  }
  EXPECT_EQ(stats(jitted).traces, 2);
}

TEST(Schedules, AreReplacedByWhatIsAssigned) {
  const optim::Schedule schedule = optim::lr_scheduler::StepLR{.lr = 0.5, .step_size = 1};
  optim::SGD optimizer(
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
  optim::SGD another(Net(), {.lr = optimizer.lr});
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
  expect_contains(what_of<ValueError>([&] { optim::linear_schedule(0, 1, -1); }),
                  {"transition_steps is -1, expected a number: 0 or more"});
  expect_contains(what_of<ValueError>([&] { optim::exponential_decay(1, 0, 0.5); }),
                  {"optim::exponential_decay: transition_steps is 0"});
  expect_contains(what_of<ValueError>([&] { optim::piecewise_constant_schedule(1, {{-1, 2}}); }),
                  {"optim::piecewise_constant_schedule: a boundary is -1"});
  const optim::Schedule one = optim::constant_schedule(1);
  expect_contains(what_of<ValueError>([&] { optim::join_schedules({one, one, one}, {3, 2}); }),
                  {"optim::join_schedules: a boundary is 2, expected a number: 3 or more"});
}

TEST(Schedules, RefuseNumbersThatMakeRatesNegative) {
  using namespace optim::lr_scheduler;
  const auto refused = [](const auto& make, std::string_view said) {
    expect_contains(what_of<ValueError>([&] { (void)make(); }), {said});
  };
  refused([] { return LinearLR{.lr = 1, .start_factor = 0}.schedule(); },
          "lr_scheduler::LinearLR: start_factor is 0, expected a number above 0, at most 1");
  refused([] { return LinearLR{.lr = 1, .start_factor = 2}.schedule(); }, "start_factor is 2");
  refused([] { return LinearLR{.lr = 1, .end_factor = 5}.schedule(); },
          "lr_scheduler::LinearLR: end_factor is 5, expected a number from 0 to 1");
  refused([] { return LinearLR{.lr = 1, .total_iters = -1}.schedule(); }, "total_iters is -1");
  refused([] { return ConstantLR{.lr = 1, .factor = 1.5}.schedule(); },
          "lr_scheduler::ConstantLR: factor is 1.5");
  refused([] { return ConstantLR{.lr = 1, .total_iters = -1}.schedule(); }, "total_iters is -1");
  refused([] { return PolynomialLR{.lr = 1, .total_iters = -1}.schedule(); }, "total_iters is -1");
  refused([] { return PolynomialLR{.lr = 1, .power = -1}.schedule(); }, "power is -1");
  refused([] { return StepLR{.lr = 1, .step_size = 3, .gamma = -1}.schedule(); }, "gamma is -1");
  refused([] { return MultiStepLR{.lr = 1, .milestones = {-3}}.schedule(); },
          "lr_scheduler::MultiStepLR: a milestone is -3, expected a number: 0 or more");
  refused([] { return ExponentialLR{.lr = 1, .gamma = -1}.schedule(); }, "gamma is -1");
  refused([] { return CyclicLR{.base_lr = 0, .max_lr = 1, .gamma = -1}.schedule(); }, "gamma is");
  refused([] { return CyclicLR{.base_lr = 0, .max_lr = 1, .step_size_down = -1}.schedule(); },
          "lr_scheduler::CyclicLR: step_size_down is -1");
  refused([] { return optim::warmup_stable_decay_schedule(1, -1, 2, 3); }, "warmup_steps is -1");
  refused([] { return optim::warmup_stable_decay_schedule(1, 1, -2, 3); }, "stable_steps is -2");
  refused([] { return optim::exponential_decay(1, 10, -1); }, "decay_rate is -1");
  refused([] { return optim::polynomial_schedule(1, 0, -1, 10); }, "power is -1");
  EXPECT_EQ((LinearLR{.lr = 1, .end_factor = 0, .total_iters = 0}(full({}, 1.))).item<double>(), 0);
}

}  // namespace
}  // namespace plait::optim_tests
