// Optimizers as values: in programs, jitted and with donated arguments; and errors.
// tests/oracles/models_oracle.py and tests/python/layers/nn_test.py compare their steps with
// PyTorch.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/nn/buffers.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/schedule.h"
#include "plait/optim/sgd.h"
#include "plait/optim/transformations/descents.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"
#include "plait/transform/vmap.h"

#include "tests/support/errors.h"

// A layer of another library, with a private weight.
namespace theirs {

class Scale {
 public:
  explicit Scale(plait::Tensor weight) : weight_(std::move(weight)) {}
  plait::Tensor& weight() { return weight_; }
  const plait::Tensor& weight() const { return weight_; }

 private:
  plait::Tensor weight_;
};

}  // namespace theirs

template <>
struct plait::FieldsOf<theirs::Scale> {
  static constexpr auto fields() {
    return plait::fields<theirs::Scale>("weight",
                                        [](auto& scale) -> auto& { return scale.weight(); });
  }
};

namespace plait::optimizer_tests {
namespace {

struct Line {
  Tensor slope, offset;
  std::vector<Tensor> more = {};
  int64_t kind = 0;
};

Line line() { return {.slope = tensor<double>({1, -2}), .offset = full({}, 0.5, DType::f64)}; }
Tensor loss_of(const Line& line, const Tensor& x) {
  return sum(square(line.slope * x + line.offset));
}

double at(const Tensor& x, int64_t i) { return x[i].item<double>(); }

TEST(SGD, StepsOfSmallNumbers) {
  const Line gradient{.slope = tensor<double>({10, 20}), .offset = full({}, -1., DType::f64)};
  const optim::SGD plain(line(), {.lr = 0.1});
  EXPECT_TRUE(plain.state.empty());
  const auto [moved, next] = plain.update(line(), gradient);
  EXPECT_DOUBLE_EQ(at(moved.slope, 0), 0);
  EXPECT_DOUBLE_EQ(at(moved.slope, 1), -4);
  EXPECT_DOUBLE_EQ(moved.offset.item<double>(), 0.6);
  EXPECT_EQ(next.steps.item<int64_t>(), 1);
  EXPECT_EQ(plain.steps.item<int64_t>(), 0);

  const optim::SGD heavy(line(), {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.1});
  const auto [first, after] = heavy.update(line(), gradient);
  EXPECT_DOUBLE_EQ(at(first.slope, 0), 1 - 0.1 * 10.1);
  const auto [second, last] = after.update(first, gradient);
  EXPECT_DOUBLE_EQ(at(second.slope, 0),
                   at(first.slope, 0) - 0.1 * (0.5 * 10.1 + 10 + 0.1 * at(first.slope, 0)));
}

TEST(Adam, TheFirstStepIsTheRateWhateverTheGradient) {
  const Line gradient{.slope = tensor<double>({1e-3, -40}), .offset = full({}, 7., DType::f64)};
  const auto [moved, next] = optim::Adam(line(), {.lr = 0.25}).update(line(), gradient);
  EXPECT_NEAR(at(moved.slope, 0), 0.75, 1e-5);
  EXPECT_NEAR(at(moved.slope, 1), -1.75, 1e-5);
  const auto [decayed, last] =
      optim::AdamW(line(), {.lr = 0.25, .weight_decay = 0.4}).update(line(), gradient);
  EXPECT_NEAR(at(decayed.slope, 0), 0.65, 1e-5);
  EXPECT_NEAR(at(decayed.slope, 1), -1.55, 1e-5);
}

TEST(Optimizers, ClassesOfOthersAreDifferentiatedMappedJittedAndTrained) {
  const auto loss = [](const theirs::Scale& scale, const Tensor& x) {
    return sum(square(scale.weight() * x - 1));
  };
  const Tensor x = tensor<double>({1, 2});
  const theirs::Scale scale(tensor<double>({3, 1}));
  EXPECT_EQ(leaf_paths(scale), std::vector<std::string>{"weight"});
  EXPECT_EQ(grad(loss)(scale, x).weight().text(), "[4. 4.] : f64[2]");
  EXPECT_EQ(jit(grad(loss))(scale, x).weight().text(), "[4. 4.] : f64[2]");
  const auto [moved, next] = optim::SGD(scale, {.lr = 0.25}).update(scale, grad(loss)(scale, x));
  EXPECT_EQ(moved.weight().text(), "[2. 0.] : f64[2]");
  const theirs::Scale many(tensor<double>({3, 1}));
  EXPECT_EQ(vmap([](const theirs::Scale& each) { return each.weight() * 2; })(many).text(),
            "[6. 2.] : f64[2]");
}

TEST(Optimizers, StatesHaveTheNamesOfTheModel) {
  const std::vector<std::string> expected{"lr",
                                          "steps",
                                          "numbers.beta1",
                                          "numbers.beta2",
                                          "numbers.eps",
                                          "numbers.weight_decay",
                                          "state.exp_avg.offset",
                                          "state.exp_avg.slope",
                                          "state.exp_avg_sq.offset",
                                          "state.exp_avg_sq.slope"};
  EXPECT_EQ(leaf_paths(optim::AdamW(line())), expected);
  const optim::SGD sgd(line(), {.momentum = 0.9});
  EXPECT_EQ(sgd.state.at("momentum_buffer").size(), 2u);
}

// A model with a running statistic, a frozen parameter and a counter.
struct Normed {
  Tensor scale = tensor<double>({1, -2});
  nn::Buffer average = tensor<double>({3, 4});
  Tensor frozen = Tensor();
  Tensor count = full({}, 7);
};

TEST(Optimizers, OnlyParametersAreTrained) {
  const Normed model;
  const Normed gradient{.scale = tensor<double>({1, 1}),
                        .average = tensor<double>({9, 9}),
                        .frozen = Tensor(),
                        .count = Tensor()};
  const auto expect_trained = [&](const auto& optimizer) {
    const auto [moved, next] = optimizer.update(model, gradient);
    EXPECT_NE(at(moved.scale, 0), 1);
    EXPECT_EQ(moved.average.text(), model.average.text());
    EXPECT_EQ(moved.count.text(), model.count.text());
    EXPECT_FALSE(moved.frozen);
    for (const auto& [name, kept] : next.state) EXPECT_EQ(kept.size(), 1u) << name;
  };
  expect_trained(optim::SGD(model, {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.5}));
  expect_trained(optim::AdamW(model, {.lr = 0.1, .weight_decay = 0.5}));
  const optim::Optimizer optimizer(optim::adamw(0.1, {.weight_decay = 0.5}), model);
  const auto [moved, next] = optimizer.update(model, gradient);
  EXPECT_NE(at(moved.scale, 0), 1);
  EXPECT_EQ(moved.average.text(), model.average.text());
  EXPECT_EQ(next.state.parts.at("0").kept.at("mu").size(), 1u);
}

template <class Optimizer>
auto step(Line model, Optimizer optimizer, const Tensor& x) {
  auto [loss, gradients] = value_and_grad(loss_of)(model, x);
  std::tie(model, optimizer) = optimizer.update(model, gradients);
  return std::tuple(model, optimizer, loss);
}

// Compares eager steps with jitted ones, which are recorded once although the rate changes.
template <class Optimizer>
void expect_jitted_alike(const Optimizer& optimizer) {
  const Tensor x = tensor<double>({0.3, 0.7});
  const auto jitted = jit(step<Optimizer>, {.donate = {0, 1}});
  auto [a, own] = std::pair(line(), optimizer);
  auto [b, theirs] = std::pair(line(), optimizer);
  for (int i = 0; i < 20; ++i) {
    own.lr = theirs.lr = optim::warmup_cosine(own.steps, {.peak = 0.05, .warmup = 3, .total = 20});
    Tensor loss, same_loss;
    std::tie(a, own, loss) = step(a, own, x);
    std::tie(b, theirs, same_loss) = jitted(std::move(b), std::move(theirs), x);
    EXPECT_EQ(loss.text(), same_loss.text());
  }
  EXPECT_EQ(a.slope.text(), b.slope.text());
  EXPECT_EQ(theirs.steps.template item<int64_t>(), 20);
  EXPECT_EQ(jitted.stats().traces, 1);
  EXPECT_LT(loss_of(b, x).template item<double>(), loss_of(line(), x).template item<double>());
}

TEST(Optimizers, AreJittedAndGivenAway) {
  expect_jitted_alike(optim::SGD(line(), {.momentum = 0.9, .nesterov = true}));
  expect_jitted_alike(optim::Adam(line(), {.weight_decay = 0.01}));
  expect_jitted_alike(optim::AdamW(line()));
}

TEST(Optimizers, TrainManyModelsTogether) {
  const Tensor x = tensor<double>({0.3, 0.7});
  const auto train = [x](const Tensor& offset) {
    Line model{.slope = tensor<double>({1, -2}), .offset = offset};
    optim::AdamW optimizer(model, {.lr = 0.1});
    for (int i = 0; i < 3; ++i) std::tie(model, optimizer, std::ignore) = step(model, optimizer, x);
    return model.slope;
  };
  const Tensor offsets = tensor<double>({0.5, -1, 2});
  const Tensor found = vmap(train)(offsets);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LT(max(absolute(found[i] - train(offsets[i]))).item<double>(), 1e-12);
  }
}

TEST(Optimizers, NarrowWeightsStayNarrowAndIntegersStayAsTheyAre) {
  const Line model{.slope = astype(tensor<double>({1, -2}), DType::bf16), .offset = arange(3)};
  Line gradient = map_leaves(model, zeros_like);
  gradient.slope = astype(tensor<double>({4, 4}), DType::f32);
  gradient.offset = Tensor();
  const auto [moved, next] = optim::Adam(model, {.lr = 0.25}).update(model, gradient);
  EXPECT_EQ(moved.slope.text(), "[ 0.75 -2.25] : bf16[2]");
  EXPECT_EQ(next.state.at("exp_avg").at("slope").dtype(), DType::bf16);
  EXPECT_EQ(moved.offset.text(), model.offset.text());
}

TEST(Optimizers, Schedule) {
  const optim::WarmupCosine schedule{.peak = 2, .least = 1, .warmup = 4, .total = 14};
  const auto at = [&](int64_t step) {
    return optim::warmup_cosine(full({}, step), schedule).item<double>();
  };
  EXPECT_DOUBLE_EQ(at(0), 0.4);
  EXPECT_DOUBLE_EQ(at(3), 1.6);
  EXPECT_DOUBLE_EQ(at(4), 2);
  EXPECT_DOUBLE_EQ(at(9), 1.5);
  EXPECT_DOUBLE_EQ(at(12), 1 + 0.5 * (1 + std::cos(0.8 * std::numbers::pi)));
  EXPECT_DOUBLE_EQ(at(14), 1);
  EXPECT_DOUBLE_EQ(at(1000), 1);
  expect_contains(
      what_of<ValueError>([] { optim::warmup_cosine(arange(1), {.warmup = 5, .total = 5}); }),
      {"5 steps, of which 5 are warmup"});
}

TEST(Optimizers, RefuseBadOptions) {
  expect_contains(what_of<ValueError>([] { optim::SGD(line(), {.lr = -1}); }),
                  {"optim::SGD: lr is -1"});
  expect_contains(what_of<ValueError>([] { optim::SGD(line(), {.momentum = std::nan("")}); }),
                  {"momentum is nan"});
  expect_contains(what_of<ValueError>([] { optim::SGD(line(), {.nesterov = true}); }),
                  {"nesterov needs a momentum"});
  expect_contains(what_of<ValueError>([] { optim::AdamW(line(), {.beta2 = 1}); }),
                  {"optim::AdamW: beta2 is 1, expected a number from 0 to below 1"});
  expect_contains(what_of<ValueError>([] { optim::Adam(line(), {.eps = -1e-8}); }),
                  {"optim::Adam: eps is -1e-08"});
}

TEST(Optimizers, RefuseTreesThatAreNotTheModels) {
  const optim::AdamW adam(line());
  const optim::SGD sgd(line(), {.momentum = 0.9});
  Line wide = line();
  wide.slope = tensor<double>({1, 2, 3});
  expect_contains(what_of<ShapeError>([&] { return adam.update(line(), wide); }),
                  {"optim::AdamW: slope is f64[2], but the gradient of it is f64[3]"});
  expect_contains(what_of<ShapeError>([&] { return sgd.update(wide, wide); }),
                  {"optim::SGD: slope is f64[3], but momentum_buffer of it is f64[2]"});
  Line longer = line();
  longer.more.push_back(arange(2));
  expect_contains(what_of<ValueError>([&] { return adam.update(longer, line()); }),
                  {"the model and the gradient are different trees", "more"});
  Line empty = line();
  empty.offset = Tensor();
  expect_contains(what_of<ValueError>([&] { return sgd.update(line(), empty); }),
                  {"the gradient of offset is an empty tensor"});
}

}  // namespace
}  // namespace plait::optimizer_tests
