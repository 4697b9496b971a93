// Losses that PyTorch does not have, by their formulas; those that the oracle does not reach;
// errors, names of tensors, and batches of symbolic size. tests/oracles/layer_cases_losses.cpp
// compares the others with PyTorch's.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/nn/losses/class_losses.h"
#include "plait/nn/losses/distance_losses.h"
#include "plait/nn/losses/more_losses.h"
#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::losses_tests {
namespace {

Tensor draw(uint64_t seed, const Shape& shape) {
  return random::normal(random::key(seed), shape, 0., 1., DType::f64);
}
double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(absolute(a - b)).item<double>();
}
std::vector<double> numbers_in(const Tensor& x) {
  std::vector<double> numbers;
  const Tensor flat = reshape(x, {-1});
  for (int64_t i = 0; i < flat.shape(0).number(); ++i) numbers.push_back(flat[i].item<double>());
  return numbers;
}

// ---- Compared with loops.

TEST(Losses, FocalLossOfLabels) {
  const Tensor x = draw(1, {4, 3}), target = astype(draw(2, {4, 3}) > 0, DType::f64);
  const Tensor found = nn::sigmoid_focal_loss(x, target, {.alpha = 0.3, .gamma = 1.5});
  const auto scores = numbers_in(x), labels = numbers_in(target), losses = numbers_in(found);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double yes = 1 / (1 + std::exp(-scores[i])), p = labels[i] == 1 ? yes : 1 - yes;
    const double alpha = labels[i] == 1 ? 0.3 : 0.7;
    EXPECT_NEAR(losses[i], -alpha * std::pow(1 - p, 1.5) * std::log(p), 1e-12);
  }
  const Tensor plain = binary_cross_entropy_with_logits(x, target);
  EXPECT_LT(difference(nn::sigmoid_focal_loss(
                           x, target, {.alpha = -1, .gamma = 0, .reduction = Reduction::mean}),
                       plain),
            1e-14);
}

TEST(Losses, FocalLossOfClasses) {
  const Tensor x = draw(1, {5, 3}), target = tensor<int64_t>({0, 2, -100, 1, 2});
  const Tensor alpha = tensor<double>({0.5, 2, 3});
  const Tensor found = nn::softmax_focal_loss(x, target, {.alpha = alpha, .gamma = 3});
  const Tensor p = softmax(x, 1);
  double total = 0;
  for (int64_t row = 0; row < 5; ++row) {
    const auto to = target[row].item<int64_t>();
    double wanted = 0;
    if (to >= 0) {
      const auto share = p[{row, to}].item<double>();
      wanted = -alpha[to].item<double>() * std::pow(1 - share, 3) * std::log(share);
    }
    EXPECT_NEAR(found[row].item<double>(), wanted, 1e-12);
    total += wanted;
  }
  const Tensor mean =
      nn::softmax_focal_loss(x, target, {.alpha = alpha, .gamma = 3, .reduction = Reduction::mean});
  EXPECT_NEAR(mean.item<double>(), total / 4, 1e-12);
}

TEST(Losses, FocalLossOfCertainAndIgnoredClassesHasFiniteDerivatives) {
  const Tensor x = tensor(std::vector<double>{1000, 0, 0, 1}, {2, 2});
  const Tensor target = tensor<int64_t>({0, -100});
  const Tensor slope = grad(
      [&](const Tensor& at) { return sum(nn::softmax_focal_loss(at, target, {.gamma = 0.5})); })(x);
  EXPECT_EQ(difference(slope, zeros_like(slope)), 0);
}

TEST(Losses, Dice) {
  const Tensor x = sigmoid(draw(1, {2, 3, 4, 5})), target = sigmoid(draw(2, {2, 3, 4, 5}));
  const Tensor found = nn::dice_loss(x, target, {.smooth = 0.5, .reduction = Reduction::none});
  EXPECT_EQ(found.type().text(), "f64[2, 3]");
  double total = 0;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const auto a = numbers_in(x[{i, c}]), b = numbers_in(target[{i, c}]);
      double both = 0, either = 0;
      for (size_t k = 0; k < a.size(); ++k) {
        both += a[k] * b[k];
        either += a[k] + b[k];
      }
      const double wanted = 1 - (2 * both + 0.5) / (either + 0.5);
      EXPECT_NEAR((found[{i, c}].item<double>()), wanted, 1e-12);
      total += wanted;
    }
  }
  EXPECT_NEAR(nn::dice_loss(x, target, {.smooth = 0.5}).item<double>(), total / 6, 1e-12);
  const Tensor vectors = x[{0, 0}], others = target[{0, 0}];
  EXPECT_EQ(nn::dice_loss(vectors, others, {.axis = -1, .reduction = Reduction::none}).shape(0), 4);
}

TEST(Losses, LogCoshAndHinge) {
  const Tensor x = tensor<double>({0.5, -700, 3}), target = tensor<double>({0.25, 700, 3});
  const auto found = numbers_in(nn::log_cosh(x, target, Reduction::none));
  EXPECT_NEAR(found[0], std::log(std::cosh(0.25)), 1e-14);
  EXPECT_NEAR(found[1], 1400 - std::log(2.), 1e-10);
  EXPECT_NEAR(found[2], 0, 1e-15);
  const Tensor signs = tensor<double>({1, -1, -1});
  EXPECT_EQ(numbers_in(nn::hinge_loss(x, signs, Reduction::none)),
            (std::vector<double>{0.5, 0, 4}));
  EXPECT_NEAR(nn::hinge_loss(x, signs).item<double>(), 1.5, 1e-15);
}

double cosine(const Tensor& a, const Tensor& b) {
  return (sum(a * b) / sqrt(sum(square(a)) * sum(square(b)))).item<double>();
}

TEST(Losses, InfoNce) {
  const Tensor query = draw(1, {4, 3}), key = draw(2, {4, 3}), negative = draw(3, {6, 3});
  const Tensor found = nn::info_nce(query, key, 0.2, {.reduction = Reduction::none});
  const Tensor apart =
      nn::info_nce(query, key, 0.2, {.negative_keys = negative, .reduction = Reduction::none});
  for (int64_t i = 0; i < 4; ++i) {
    const double own = std::exp(cosine(query[i], key[i]) / 0.2);
    double all = 0, others = own;
    for (int64_t j = 0; j < 4; ++j) all += std::exp(cosine(query[i], key[j]) / 0.2);
    for (int64_t j = 0; j < 6; ++j) others += std::exp(cosine(query[i], negative[j]) / 0.2);
    EXPECT_NEAR(found[i].item<double>(), -std::log(own / all), 1e-12);
    EXPECT_NEAR(apart[i].item<double>(), -std::log(own / others), 1e-12);
  }
  EXPECT_NEAR(nn::info_nce(query, key, 0.2).item<double>(), mean(found).item<double>(), 1e-14);
}

TEST(Losses, NtXent) {
  const Tensor x1 = draw(1, {3, 4}), x2 = draw(2, {3, 4});
  const Tensor found = nn::nt_xent(x1, x2, 0.7, Reduction::none);
  const Tensor views[] = {x1, x2};
  const Tensor all = concat(views, 0);
  for (int64_t i = 0; i < 6; ++i) {
    double total = 0;
    for (int64_t j = 0; j < 6; ++j) {
      if (j != i) total += std::exp(cosine(all[i], all[j]) / 0.7);
    }
    const double own = std::exp(cosine(all[i], all[(i + 3) % 6]) / 0.7);
    EXPECT_NEAR(found[i].item<double>(), -std::log(own / total), 1e-12);
  }
  // A temperature that is learnt.
  const Tensor slope = grad([&](const Tensor& temperature) {
    return nn::nt_xent(x1, x2, temperature);
  })(tensor<double>({0.7})[0]);
  const auto at = [&](double temperature) {
    return nn::nt_xent(x1, x2, temperature).item<double>();
  };
  EXPECT_NEAR(slope.item<double>(), (at(0.7 + 1e-5) - at(0.7 - 1e-5)) / 2e-5, 1e-8);
}

// ---- Structs.

TEST(Losses, AVarianceWithoutTheLastAxisIsThatOfAllItsElements) {
  const Tensor x = draw(1, {4, 3}), target = draw(2, {4, 3}), var = square(draw(3, {4})) + 0.1;
  const nn::GaussianNLLLoss loss{.full = true};
  EXPECT_LT(difference(loss(x, target, var),
                       gaussian_nll_loss(x, target, broadcast_to(expand_dims(var, 1), {4, 3}),
                                         {.full = true})),
            1e-14);
}

TEST(Losses, TheDivergenceOfOneNumberIsABatch) {
  const nn::KLDivLoss loss{.reduction = Reduction::batchmean};
  const Tensor x = tensor<double>({-0.5})[0], target = tensor<double>({0.25})[0];
  EXPECT_NEAR(loss(x, target).item<double>(), 0.25 * (std::log(0.25) + 0.5), 1e-14);
}

TEST(Losses, ADistanceMayBeALayer) {
  struct Weighted {
    Tensor weight;
    Tensor operator()(const Tensor& a, const Tensor& b) const {
      return sum(weight * absolute(a - b), -1);
    }
  };
  const nn::TripletMarginWithDistanceLoss loss{
      .distance_function = Weighted{tensor<double>({1, 10, 0})}, .margin = 2};
  EXPECT_EQ(leaf_paths(loss), std::vector<std::string>{"distance_function.weight"});
  const Tensor anchor = zeros({1, 3}, DType::f64), positive = ones({1, 3}, DType::f64);
  const Tensor negative = tensor(std::vector<double>{3, 0, 7}, {1, 3});
  EXPECT_EQ(loss(anchor, positive, negative).item<double>(), 2 + 11 - 3);
  const auto slope = grad([&](const auto& at) { return at(anchor, positive, negative); })(loss);
  EXPECT_EQ(numbers_in(slope.distance_function.weight), (std::vector<double>{-2, 1, -6}));
}

TEST(Losses, WeightsAreBuffers) {
  const nn::BCEWithLogitsLoss loss{.weight = ones({3}), .pos_weight = ones({3}) * 2};
  EXPECT_EQ(leaf_paths(loss), (std::vector<std::string>{"weight", "pos_weight"}));
  const Tensor x = draw(1, {4, 3});
  const auto slope = grad([&](const nn::BCEWithLogitsLoss& at) { return at(x, x); })(loss);
  EXPECT_FALSE(bool(*slope.weight) && max(absolute(*slope.weight)).item<double>() > 0);
}

// As PyTorch's, whose slope by the probability is at most 10¹².
TEST(Losses, CertainAndWrongProbabilitiesHaveASteepSlope) {
  const Tensor p = tensor<double>({1, 0, 1, 0, 1e-13, 0.25}),
               y = tensor<double>({0, 1, 1, 0, 1, 1});
  const auto loss = [&](const Tensor& at) {
    return nn::BCELoss{.reduction = Reduction::none}(at, y);
  };
  const auto losses = numbers_in(loss(p));
  const std::vector<double> wanted{100, 100, 0, 0, -std::log(1e-13), -std::log(0.25)};
  const auto slopes = numbers_in(grad([&](const Tensor& at) { return sum(loss(at)); })(p));
  const std::vector<double> wanted_slopes{1e12, -1e12, 0, 0, 0.1 - 1e12, -4};
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(losses[i], wanted[i], 1e-12) << i;
    EXPECT_NEAR(slopes[i], wanted_slopes[i], 1e-3) << i;
  }
  EXPECT_TRUE(std::isnan(loss(tensor<double>({-0.5, 2, -1e-20, 2, -1, 2}))[0].item<double>()));
}

// PyTorch adds 10⁻¹² to each squared norm, where cosine_similarity bounds the norms.
TEST(Losses, CosinesOfTinyVectors) {
  const Tensor a = tensor<double>({1e-6, 0}), b = tensor<double>({2, 0});
  const double found = nn::CosineEmbeddingLoss{}(a, b, tensor<double>({1})[0]).item<double>();
  EXPECT_NEAR(found, 1 - 2e-6 / std::sqrt(2e-12 * 4), 1e-9);
  const Tensor nothing = zeros({2}, DType::f64);
  EXPECT_EQ(nn::CosineEmbeddingLoss{}(nothing, b, tensor<double>({1})[0]).item<double>(), 1);
}

TEST(Losses, OneRecordServesEveryBatch) {
  const auto run = jit([](const Tensor& x, const Tensor& y, const Tensor& classes) {
    const nn::CrossEntropyLoss entropy{.label_smoothing = 0.1};
    return std::tuple{entropy(x, classes),
                      nn::nt_xent(x, y),
                      nn::info_nce(x, y),
                      nn::softmax_focal_loss(x, classes, {.reduction = Reduction::mean}),
                      nn::GaussianNLLLoss{}(x, y, exp(x)),
                      nn::log_cosh(x, y)};
  });
  for (const int64_t batch : {2, 3, 5, 1, 7}) {
    const Tensor x = draw(1, {batch, 4}), y = draw(2, {batch, 4});
    const Tensor classes = random::randint(random::key(3), {batch}, 0, 4);
    const nn::CrossEntropyLoss entropy{.label_smoothing = 0.1};
    const auto [a, b, c, d, e, f] = run(x, y, classes);
    EXPECT_LT(difference(a, entropy(x, classes)), 1e-12);
    EXPECT_LT(difference(b, nn::nt_xent(x, y)), 1e-12);
    EXPECT_LT(difference(c, nn::info_nce(x, y)), 1e-12);
    EXPECT_LT(difference(d, nn::softmax_focal_loss(x, classes, {.reduction = Reduction::mean})),
              1e-12);
    EXPECT_LT(difference(e, nn::GaussianNLLLoss{}(x, y, exp(x))), 1e-12);
    EXPECT_LT(difference(f, nn::log_cosh(x, y)), 1e-12);
  }
  EXPECT_LE(run.stats().traces, 3);
}

TEST(Losses, OfEachSampleOfABatch) {
  const Tensor x = draw(1, {3, 4, 5}), y = draw(2, {3, 4, 5});
  const Tensor classes = random::randint(random::key(3), {3, 4}, 0, 5);
  const auto all = [](const Tensor& a, const Tensor& b, const Tensor& to) {
    const nn::CrossEntropyLoss entropy{.label_smoothing = 0.1};
    const nn::TripletMarginWithDistanceLoss<> triplets;
    return entropy(a, to) + nn::GaussianNLLLoss{}(a, b, exp(b)) + nn::nt_xent(a, b) +
           nn::info_nce(a, b) + triplets(a, b, a * b) + nn::dice_loss(a, b, {.axis = -1}) +
           nn::softmax_focal_loss(a, to, {.reduction = Reduction::mean});
  };
  const auto slope = grad(all);
  const Tensor found = vmap(all)(x, y, classes), slopes = vmap(slope)(x, y, classes);
  const Tensor again = vmap(grad(remat(all)))(x, y, classes);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LT(difference(found[i], all(x[i], y[i], classes[i])), 1e-12);
    EXPECT_LT(difference(slopes[i], slope(x[i], y[i], classes[i])), 1e-12);
    EXPECT_LT(difference(again[i], slopes[i]), 1e-12);
  }
}

TEST(Losses, NarrowFloatsAreComputedInF32) {
  const Tensor x = astype(draw(1, {64, 4}), DType::bf16), y = astype(draw(2, {64, 4}), DType::bf16);
  const Tensor found = nn::nt_xent(x, y);
  EXPECT_EQ(found.dtype(), DType::bf16);
  const double wanted = nn::nt_xent(astype(x, DType::f64), astype(y, DType::f64)).item<double>();
  EXPECT_NEAR(found.item<double>(), wanted, wanted / 256);
}

TEST(Losses, RefuseWhatDoesNotFit) {
  const Tensor x = draw(1, {4, 3}), target = tensor<int64_t>({0, 1, 2, 0});
  expect_contains(
      what_of<ValueError>([&] { nn::CrossEntropyLoss{.label_smoothing = 2}(x, target); }),
      {"smoothing is 2", "losses_test.cpp"});
  expect_contains(
      what_of<ShapeError>([&] { nn::CrossEntropyLoss{.weight = ones({4})}(x, target); }),
      {"weights"});
  expect_contains(what_of<ShapeError>([&] { nn::CrossEntropyLoss{}(x, expand_dims(target, -1)); }),
                  {"i64[4, 1]", "expected [4]", "squeeze the last axis of the targets"});
  expect_contains(what_of<TypeError>([&] { nn::CrossEntropyLoss{}(x, target > 1); }),
                  {"the target is bool[4], not integers", "convert it to i64 with astype"});
  expect_contains(what_of<ValueError>([&] { nn::MultiMarginLoss{.p = 3}(x, target); }), {"p is 3"});
  expect_contains(what_of<ValueError>([&] { nn::HuberLoss{.delta = 0}(x, x); }), {"delta is 0"});
  expect_contains(what_of<ShapeError>([&] { nn::dice_loss(x, x); }),
                  {"nn::dice_loss", "[batch, classes, …]", ".axis = -1"});
  expect_contains(what_of<ShapeError>([&] { nn::nt_xent(x, draw(2, {5, 3})); }),
                  {"nn::nt_xent", "[batch, features] twice"});
  expect_contains(what_of<ValueError>([&] { nn::info_nce(x, x, -1); }), {"temperature is -1"});
  expect_contains(what_of<ValueError>([&] { nn::sigmoid_focal_loss(x, x, {.alpha = 2}); }),
                  {"alpha is 2"});
  expect_contains(what_of<ValueError>([&] { nn::softmax_focal_loss(x, target, {.gamma = -1}); }),
                  {"gamma is -1"});
  expect_contains(what_of<TypeError>([&] { nn::softmax_focal_loss(x, x); }),
                  {"indices of classes"});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(nn::TripletMarginWithDistanceLoss<>{.margin = nan}(x, x, x), ValueError);
}

}  // namespace
}  // namespace plait::losses_tests
