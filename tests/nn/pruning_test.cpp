// Pruned weights: names of tensors, training, pruning again, and bad input. Masks are compared with
// PyTorch's by tests/oracles/functions_oracle.py.
#include "plait/nn/models/pruning.h"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/models/sequential.h"
#include "plait/nn/models/state.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/sgd.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "tests/support/errors.h"

namespace plait::pruning_tests {
namespace {

namespace prune = nn::prune;
using nn::Linear;
using Net = nn::Sequential<Linear, nn::BatchNorm1d, Linear>;

Linear layer() { return {reshape(sin(iota(12, DType::f64)), {3, 4}), ones({3}, DType::f64)}; }
Net net() {
  return {Linear::init(random::key(1), 4, 3, {.dtype = DType::f64}),
          nn::BatchNorm1d::init(3, {.dtype = DType::f64}),
          Linear::init(random::key(2), 3, 2, {.dtype = DType::f64})};
}
Tensor batch() { return reshape(cos(iota(20, DType::f64)), {5, 4}); }

int64_t zeros_in(const Tensor& x) { return sum(x == 0).item<int64_t>(); }
template <class Model>
std::string names_in(const Model& model) {
  std::string made;
  for (const auto& [name, tensor] : nn::state(model)) {
    if (tensor.shape().rank() > 0) made += name + " ";
  }
  return made;
}

TEST(Pruning, HasTheNamesOfPyTorch) {
  const auto pruned = prune::l1_unstructured(layer(), {"weight"}, 0.5);
  EXPECT_EQ(names_in(pruned), "bias weight weight_mask weight_orig ");
  EXPECT_EQ(zeros_in(pruned.whole().weight), 6);
  EXPECT_EQ(Tensor(pruned.masks.at("weight_mask")).dtype(), DType::f64);
  EXPECT_TRUE(prune::is_pruned(pruned));
  EXPECT_TRUE(prune::is_pruned(nn::Sequential{pruned, layer()}));
  EXPECT_FALSE(prune::is_pruned(layer()));
  const Linear whole = prune::remove(pruned);
  EXPECT_EQ(zeros_in(whole.weight), 6);
  EXPECT_EQ(names_in(whole), "bias weight ");
  const auto several = prune::l1_unstructured(net(), {"0.weight", "2.*"}, 1);
  EXPECT_EQ(several.originals.size(), 3);
  EXPECT_TRUE(several.masks.contains("2.bias_mask"));
  const auto less = prune::remove(several, {"2.*"});
  EXPECT_EQ(less.originals.size(), 1);
  EXPECT_EQ(zeros_in(std::get<2>(less.rest).weight), 1);
}

TEST(Pruning, TrainsOnlyWhatIsLeft) {
  auto model = prune::global_unstructured(net(), {"*.weight"}, 10);
  using Pruned = decltype(model);
  optim::SGD<Pruned> optimizer(model, {.lr = 0.1, .momentum = 0.9});
  const auto step = [](Pruned at, const optim::SGD<Pruned>& state, const Tensor& x) {
    const auto loss_of = [](Pruned each, const Tensor& inputs) {
      const Tensor loss = mean(square(each(inputs) - 1));
      return std::pair(loss, each);
    };
    auto [result, gradient] = value_and_grad(loss_of, with_aux)(at, x);
    return std::tuple_cat(std::tuple(result.first), state.update(result.second, gradient));
  };
  const auto jitted = jit(frozen(step));
  const auto zeros_of = [](const Pruned& at) {
    const Net whole = at.whole();
    return zeros_in(std::get<0>(whole).weight) + zeros_in(std::get<2>(whole).weight);
  };
  const Tensor mean_before = *std::get<1>(model.rest).running_mean;
  Tensor loss;
  double first = 0;
  for (int i = 0; i < 20; ++i) {
    std::tie(loss, model, optimizer) = jitted(model, optimizer, batch());
    if (i == 0) first = loss.item<double>();
    EXPECT_EQ(zeros_of(model), 10);
  }
  EXPECT_LT(loss.item<double>(), first);
  EXPECT_NE(mean_before.text(), std::get<1>(model.rest).running_mean->text());
  EXPECT_EQ(stats(jitted).traces, 1);
}

TEST(Pruning, AgainChoosesFromWhatIsLeft) {
  const auto once = prune::ln_structured(layer(), {"weight"}, 1, 2, 0);
  EXPECT_EQ(zeros_in(once.whole().weight), 4);
  const auto twice = prune::l1_unstructured(once, {"weight"}, 0.5);
  EXPECT_EQ(zeros_in(twice.whole().weight), 8);
  const auto more = prune::random_structured(random::key(1), twice, {"weight"}, 1, 1);
  EXPECT_GT(zeros_in(more.whole().weight), 8);
  const auto random = prune::random_unstructured(random::key(2), once, {"weight"}, 3);
  EXPECT_EQ(zeros_in(random.whole().weight), 7);
  const auto all = prune::global_unstructured(net(), {"*.weight"}, 0.5, {.key = random::key(3)});
  EXPECT_EQ(zeros_in(std::get<0>(all.whole()).weight) + zeros_in(std::get<2>(all.whole()).weight),
            9);
  EXPECT_EQ(prune::identity(layer(), {"*"}).originals.size(), 2);
}

TEST(Pruning, RefusesWhatCannotBe) {
  const Linear plain = layer();
  const auto l1 = [&](prune::Amount amount) {
    return what_of<ValueError>([&] { return prune::l1_unstructured(plain, {"weight"}, amount); });
  };
  expect_contains(l1(-1), {"nn::prune::l1_unstructured: amount is -1, expected a count of 0 or"});
  expect_contains(l1(1.5), {"amount is 1.5, expected a count of 0 or more, or a fraction"});
  expect_contains(l1(13), {"amount is 13, and weight has only 12 elements that are left"});
  expect_contains(what_of<ValueError>([&] { return prune::identity(plain, {"wieght"}); }),
                  {"nn::prune::identity: no tensor of the model matches", "did you mean weight?"});
  expect_contains(what_of<ValueError>([&] { return prune::identity(net(), {"1.running_mean"}); }),
                  {"nn::prune::identity: no tensor of the model matches"});
  expect_contains(
      what_of<ShapeError>([&] { return prune::custom_from_mask(plain, {"weight"}, ones({4, 3})); }),
      {"nn::prune::custom_from_mask: the mask of weight is f32[4, 3], expected the "
       "shape of f64[3, 4]"});
  expect_contains(
      what_of<ShapeError>([&] { return prune::ln_structured(plain, {"bias"}, 1, 2, 0); }),
      {"nn::prune::ln_structured: bias is f64[3], expected at least two dimensions"});
  expect_contains(
      what_of<IndexError>([&] { return prune::ln_structured(plain, {"weight"}, 1, 2, 2); }),
      {"nn::prune::ln_structured: dim is 2, out of range for weight, f64[3, 4]"});
  expect_contains(what_of<ShapeError>([&] {
                    return prune::ln_structured(plain, {"weight"}, 1, linalg::MatrixNorm::nuclear,
                                                0);
                  }),
                  {"the norm is nuclear, and weight is f64[3, 4]"});
  expect_contains(what_of<ValueError>([&] {
                    return prune::l1_unstructured(plain, {"weight"}, 1, {{"bias", ones({3})}});
                  }),
                  {"importance_scores has \"bias\", which is not one of the weights"});
  expect_contains(what_of<ValueError>(
                      [&] { return prune::remove(prune::identity(plain, {"weight"}), {"bias"}); }),
                  {"nn::prune::remove: no tensor of the model matches"});
}

}  // namespace
}  // namespace plait::pruning_tests
