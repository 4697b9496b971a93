// Compiled training steps compared with eager ones, for small ViTs and GPTs in single precision.
// bench/models/check.py does so with large models.
#include <array>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "examples/models/gpt.h"
#include "examples/models/training.h"
#include "examples/models/vit.h"

namespace plait {
namespace {

constexpr int kSteps = 20;

// Drops the keys' biases: they cancel in softmax, so their gradient is rounding error.
Tensor without_keys(std::string_view path, const Tensor& x) {
  if (!path.ends_with("qkv.bias")) return x;
  const Tensor parts = reshape(x, {3, x.shape(0).number() / 3});
  return concat(std::array{parts[0], parts[2]});
}

template <class Model, class Optimizer>
void expect_same_steps(const Model& begin, const Optimizer& optimizer, const Tensor& x,
                       const Tensor& y, double tolerance) {
  const auto compiled = jit(models::step<Model, Optimizer>, {.donate = {0, 1}});
  auto [model, state, loss] = compiled(begin, optimizer, x, y);
  auto [other, other_state, other_loss] = models::step(begin, optimizer, x, y);
  const double first = other_loss.template item<double>();
  for (int i = 1; i < kSteps; ++i) {
    std::tie(model, state, loss) = compiled(std::move(model), std::move(state), x, y);
    std::tie(other, other_state, other_loss) = models::step(other, other_state, x, y);
    const double wanted = other_loss.template item<double>();
    EXPECT_NEAR(loss.template item<double>(), wanted, tolerance * wanted) << "step " << i;
  }
  EXPECT_LT(other_loss.template item<double>(), 0.9 * first);
  EXPECT_EQ(compiled.stats().traces, 1);
  EXPECT_EQ(compiled.stats().hits, kSteps - 1);
  const std::vector<std::string> paths = leaf_paths(begin);
  const auto before = tensors_of(begin), found = tensors_of(model), wanted = tensors_of(other);
  for (size_t i = 0; i < paths.size(); ++i) {
    const Tensor apart = without_keys(paths[i], found[i] - wanted[i]);
    const Tensor way = without_keys(paths[i], wanted[i] - before[i]);
    EXPECT_LT(norm(apart).item<double>(), tolerance * norm(way).item<double>()) << paths[i];
  }
}

TEST(Training, CompiledStepsOfAVitAreThoseOfEagerTraining) {
  const auto model = models::Vit::init(
      random::key(1), {.image = 24, .patch = 4, .width = 48, .depth = 3, .heads = 3, .labels = 7});
  const Tensor x = random::normal(random::key(2), {6, 3, 24, 24});
  const Tensor y = random::randint(random::key(3), {6}, 0, 7);
  const optim::SGD optimizer(model, {.lr = 0.02, .momentum = 0.9});
  expect_same_steps(model, optimizer, x, y, 1e-3);
}

TEST(Training, CompiledStepsOfAGptAreThoseOfEagerTraining) {
  const auto model = models::Gpt::init(
      random::key(1), {.vocabulary = 23, .context = 20, .width = 48, .depth = 3, .heads = 3});
  const Tensor ids = random::randint(random::key(2), {4, 21}, 0, 23);
  const Tensor x = ids[{Slice{}, Slice{0, 20}}], y = ids[{Slice{}, Slice{1, 21}}];
  expect_same_steps(model, optim::AdamW(model, {.lr = 1e-3}), x, y, 1e-3);
}

}  // namespace
}  // namespace plait
