// Trains a small vision transformer with a jitted step, and shows its predictions for test images:
//
//   plait-train-vit [--epochs 3] [--data /usr/share/datasets/fashion-mnist]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "plait/nn/losses.h"
#include "plait/optim/adam.h"
#include "plait/optim/schedule.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "models/vit.h"
#include "support/arguments.h"
#include "support/fashion_mnist.h"
#include "support/progress.h"

namespace {

using namespace plait;
using namespace plait::examples;
using models::Vit;
using Optimizer = optim::AdamW<Vit>;

Tensor logits_of(const Vit& model, const Tensor& pixels) {
  return model(reshape((pixels - 0.5) * 2., {pixels.shape(0), 1, kSide, kSide}));
}

Tensor loss_of(const Vit& model, const Clothes& batch) {
  return nn::cross_entropy(logits_of(model, batch.images), batch.labels);
}

std::tuple<Vit, Optimizer, Tensor> step(const Vit& model, Optimizer optimizer, const Clothes& batch,
                                        const optim::WarmupCosine& rate) {
  optimizer.lr = optim::warmup_cosine(optimizer.steps, rate);
  const auto [loss, gradients] = value_and_grad(loss_of)(model, batch);
  const auto [next, state] = optimizer.update(model, gradients);
  return {next, state, loss};
}

struct Training {
  int64_t epochs = 3, images = 60'000, batch = 100;
  double rate = 3e-3;
};

Vit trained(Vit model, const Clothes& data, const Clothes& test, const Training& training) {
  const auto jitted_step = jit(step, {.name = "step", .donate = {0, 1}});
  const auto jitted_logits = jit(logits_of, {.name = "logits"});
  const int64_t steps = training.images / training.batch;
  const optim::WarmupCosine rate{
      .peak = training.rate, .warmup = steps / 5, .total = steps * training.epochs};
  Optimizer optimizer(model, {.weight_decay = 0.05});
  for (int64_t epoch = 1; epoch <= training.epochs; ++epoch) {
    Progress progress(steps * training.batch);
    const Tensor order = random::permutation(data.size());
    for (int64_t i = 0; i < steps; ++i) {
      const Slice range{i * training.batch, (i + 1) * training.batch};
      auto [next, state, loss] =
          jitted_step(std::move(model), std::move(optimizer), data.rows(order[range]), rate);
      model = std::move(next);
      optimizer = std::move(state);
      progress.show(epoch, training.epochs, (i + 1) * training.batch, loss.item<double>());
    }
    const auto logits = [&](const Tensor& images) { return jitted_logits(model, images); };
    fmt::print("  test accuracy {:.1f} %\n", 100 * accuracy(logits, test));
  }
  return model;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string folder = kFolder;
  Training training;
  models::VitSizes sizes{.image = kSide,
                         .patch = 7,
                         .channels = 1,
                         .width = 64,
                         .depth = 2,
                         .heads = 4,
                         .labels = kClasses};
  int64_t seed = 0;
  Arguments("Trains a small vision transformer on images of clothes, jitted.")
      .text("--data", folder, "The folder of the IDX files")
      .whole("--epochs", training.epochs, "How often each image is seen", 1, 1000)
      .whole("--images", training.images, "How many images are seen in an epoch", 1, 60'000)
      .whole("--batch", training.batch, "Images in a step", 1, 60'000)
      .number("--rate", training.rate, "The greatest rate")
      .one_of("--patch", sizes.patch, "Pixels along a patch's sides, of 28", {2, 4, 7, 14})
      .whole("--width", sizes.width, "Of the transformer", 1, 4096)
      .whole("--depth", sizes.depth, "Its blocks", 1, 100)
      .whole("--seed", seed, "Of the random numbers")
      .parse(argc, argv);
  training.batch = std::min(training.batch, training.images);

  random::seed(static_cast<uint64_t>(seed));
  const Clothes data = Clothes::load(folder, "train"), test = Clothes::load(folder, "t10k");
  Vit model = Vit::init(random::draw_key(), sizes);
  int64_t parameters = 0;
  for_each_tensor(model,
                  [&](Tensor& leaf) { parameters += leaf.shape().element_count().number(); });
  fmt::print("{} images to learn from, {} to be tested with; {} parameters\n", data.size(),
             test.size(), parameters);
  model = trained(std::move(model), data, test, training);
  show_images([&](const Tensor& images) { return logits_of(model, images); }, test);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
