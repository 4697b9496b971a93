// The classes of optimizers: their rates, groups, frozen and complex parameters, LBFGS, and bad
// input. Their formulas are compared with PyTorch's by tests/oracles/optimizers_oracle.py.
#include <limits>

#include <gtest/gtest.h>

#include "plait/nn/models/freeze.h"
#include "plait/nn/models/state.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/optimizers/adam_variants.h"
#include "plait/optim/optimizers/adaptive_optimizers.h"
#include "plait/optim/optimizers/lbfgs_optimizer.h"
#include "plait/optim/schedules/lr_scheduler.h"
#include "plait/optim/sgd.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/matrices.h"
#include "plait/optim/transformations/moments.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "tests/optim/small_net.h"
#include "tests/support/errors.h"

namespace plait::optim_tests {
namespace {

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
  expect_one_record(optim::SGD(net, {.momentum = 0.9}));
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

template <class Optimizer>
void expect_decay_without_record(Optimizer optimizer) {
  Net net;
  const auto jitted = jit(step<Optimizer>);
  for (const double decay : {0., 0.5, 0., 0.25}) {
    optimizer.numbers.at("weight_decay") = number(decay);
    std::tie(net, optimizer) = jitted(net, optimizer, batch());
  }
  EXPECT_EQ(stats(jitted).traces, 1) << optimizer.name();
}

TEST(Classes, ADecayThatWasZeroNeedsNoNewRecord) {
  const Net net;
  expect_decay_without_record(optim::SGD(net));
  expect_decay_without_record(optim::ASGD(net));
  expect_decay_without_record(optim::Lion(net));
  expect_decay_without_record(optim::Adam(net));
  expect_decay_without_record(optim::AdamW(net, {.weight_decay = 0}));
  expect_decay_without_record(optim::Adamax(net));
  expect_decay_without_record(optim::NAdam(net));
  expect_decay_without_record(optim::RAdam(net));
  expect_decay_without_record(optim::LAMB(net));
  expect_decay_without_record(optim::Adagrad(net));
  expect_decay_without_record(optim::Adadelta(net));
  expect_decay_without_record(optim::RMSprop(net));
  expect_decay_without_record(optim::Adafactor(net));
}

TEST(Classes, InfiniteParametersStayWithoutDecay) {
  Net net;
  net.head = full({2}, -std::numeric_limits<double>::infinity(), DType::f64);
  const Net moved = optim::Adam(net).update(net, map_leaves(net, zeros_like)).first;
  EXPECT_EQ(moved.head.text(), net.head.text());
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
  optim::SGD optimizer(
      Net(), {.lr = 0.5,
              .weight_decay = 0.5,
              .groups = {{{"*.bias"}, {{"weight_decay", 0}}}, {{"he*"}, {{"lr", 0.25}}}}});
  const Net zeros = map_leaves(Net(), zeros_like);
  const auto update = [](const Net& net, const optim::SGD<Net>& at, const Net& gradient) {
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
    return what_of<ValueError>([&] { optim::SGD(net, {.groups = groups}); });
  };
  expect_contains(with({{{"*.bais"}, {{"lr", 0.1}}}}),
                  {"optim::SGD: groups[0]: the pattern", "*.bais", "matches no parameter"});
  expect_contains(with({{{"layer.*"}}, {{"*.bias"}}}),
                  {"layer.bias is in two groups: groups[0] and groups[1]"});
  expect_contains(with({{{"*"}, {{"rate", 0.1}}}}),
                  {"groups[0]: unknown option", "rate", "the options are lr, momentum"});
  expect_contains(with({{{"*"}, {{"lr", -0.1}}}}), {"groups[0]: lr is -0.1"});
  expect_contains(what_of<ValueError>([&] {
                    optim::SGD(net, {.momentum = 0.9, .dampening = 0.5, .nesterov = true});
                  }),
                  {"nesterov needs a dampening of 0"});
  expect_contains(what_of<ValueError>([&] { optim::Rprop(net, {.etas = {1.5, 1.2}}); }),
                  {"optim::Rprop: eta_minus is 1.5"});
  expect_contains(what_of<ValueError>([&] { optim::Rprop(net, {.step_sizes = {1., 0.1}}); }),
                  {"optim::Rprop: step_sizes are 1 and 0.1, expected the least one first"});
  expect_contains(what_of<ValueError>([&] { optim::Adafactor(net, {.beta2_decay = 0.5}); }),
                  {"optim::Adafactor: beta2_decay is 0.5"});
  const Tensor two = ones({2}, DType::f64);
  const optim::Schedule of_two = [](const Tensor& step) { return step + ones({2}, DType::f64); };
  expect_contains(what_of<ValueError>([&] { optim::SGD(net, {.lr = two}); }),
                  {"optim::SGD: lr is f64[2], expected one number, of shape []"});
  expect_contains(with({{{"head"}, {{"momentum", two}}}}), {"groups[0]: momentum is f64[2]"});
  expect_contains(what_of<ValueError>([&] { optim::sgd(two); }), {"learning_rate is f64[2]"});
  expect_contains(what_of<ValueError>([&] { optim::SGD(net, {.lr = of_two}); }), {"f64[2]"});
  optim::SGD assigned(net);
  expect_contains(what_of<ValueError>([&] { assigned.lr = two; }), {"f64[2], expected one number"});
  assigned.lr.value() = two;
  expect_contains(what_of<ValueError>([&] { return assigned.update(net, net); }),
                  {"optim::SGD: lr is f64[2]"});
  expect_contains(what_of<ShapeError>([&] { optim::Muon(net, {}); }),
                  {"optim::Muon: head is f64[2], expected a matrix"});
  expect_contains(what_of<ValueError>([] { optim::Adam(full({}, 3)); }),
                  {"optim::Adam: the model has no parameters"});
  optim::SGD plain(net);
  plain.numbers["momentum"] = number(0.9);
  expect_contains(what_of<ValueError>([&] { return plain.update(net, net); }),
                  {"momentum_buffer has no", "the momentum was 0 when the optimizer was made"});
}

TEST(Classes, NumbersThatAreAssignedAreChecked) {
  optim::AdamW optimizer(Net(), {.groups = {{{"head"}, {{"lr", 0.5}}}}});
  const auto what = [](const auto& at) {
    return what_of<ValueError>([&] { (void)step(Net(), at, batch()); });
  };
  optim::AdamW other = optimizer;
  other.lr = -1.;
  expect_contains(what(other), {"optim::AdamW: lr is -1, expected a number: 0 or more"});
  other = optimizer;
  other.numbers["beta1"] = 1;
  expect_contains(what(other), {"optim::AdamW: beta1 is 1, expected a number from 0 to below 1"});
  other = optimizer;
  other.groups[0].numbers["lr"] = -2;
  expect_contains(what(other), {"optim::AdamW: groups[0]: lr is -2"});
  const auto jitted = jit([](const Net& net, const optim::AdamW<Net>& at, const Tensor& x) {
    return step(net, at, x);
  });
  optimizer.lr = 0.1;
  (void)jitted(Net(), optimizer, batch());
}

TEST(Classes, ComplexParametersGoDownhill) {
  const Tensor z = astype(tensor<double>({3, -2}), DType::c128);
  const auto size = [](const Tensor& at) { return sum(square(absolute(at))); };
  const auto expect_smaller = [&](auto optimizer) {
    Tensor at = z * Tensor(full({}, std::complex<double>(0.6, 0.8)));
    for (int i = 0; i < 10; ++i) std::tie(at, optimizer) = optimizer.update(at, grad(size)(at));
    EXPECT_LT(size(at).template item<double>(), size(z).template item<double>() * 0.9);
  };
  expect_smaller(optim::SGD(z, {.lr = 0.05}));
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

}  // namespace
}  // namespace plait::optim_tests
