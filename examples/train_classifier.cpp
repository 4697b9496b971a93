// Trains an image classifier with two layers eagerly, and shows its predictions for test images:
//
//   plait-train-classifier [--epochs 4] [--data /usr/share/datasets/fashion-mnist]
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <tuple>

#include <fmt/core.h>

#include "plait/nn/layers/linear_layers.h"
#include "plait/nn/losses.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/random/random.h"
#include "plait/optim/adam.h"
#include "plait/transform/derivatives/grad.h"

#include "support/arguments.h"
#include "support/fashion_mnist.h"
#include "support/progress.h"

namespace {

using namespace plait;
using namespace plait::examples;

constexpr int64_t kHidden = 256, kBatch = 128;

struct Classifier {
  nn::Linear hidden = nn::Linear::init(random::draw_key(), kPixels, kHidden);
  nn::Linear output = nn::Linear::init(random::draw_key(), kHidden, kClasses);

  Tensor operator()(const Tensor& images) const { return output(relu(hidden(images))); }
};

Tensor loss_of(const Classifier& classifier, const Clothes& batch) {
  return nn::cross_entropy(classifier(batch.images), batch.labels);
}

void train(Classifier& classifier, const Clothes& data, const Clothes& test, int64_t epochs) {
  optim::Adam adam(classifier, {.lr = 1e-3});
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    Progress progress(data.size());
    const Tensor order = random::permutation(data.size());
    for (int64_t first = 0; first < data.size(); first += kBatch) {
      const int64_t last = std::min(first + kBatch, data.size());
      const auto [value, gradients] =
          value_and_grad(loss_of)(classifier, data.rows(order[Slice{first, last}]));
      std::tie(classifier, adam) = adam.update(classifier, gradients);
      progress.show(epoch, epochs, last, value.item<double>());
    }
    fmt::print("  test accuracy {:.1f} %\n", 100 * accuracy(classifier, test));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string folder = kFolder;
  int64_t epochs = 4, seed = 0;
  Arguments("Trains a classifier of images of clothes, and shows what it makes of new ones.")
      .text("--data", folder, "The folder of the IDX files")
      .whole("--epochs", epochs, "How often each image is seen", 1, 1000)
      .whole("--seed", seed, "Of the random numbers")
      .parse(argc, argv);

  random::seed(static_cast<uint64_t>(seed));
  const Clothes data = Clothes::load(folder, "train"), test = Clothes::load(folder, "t10k");
  fmt::print("{} images to learn from, {} to be tested with; {} parameters\n", data.size(),
             test.size(), kPixels * kHidden + kHidden + kHidden * kClasses + kClasses);
  Classifier classifier;
  train(classifier, data, test, epochs);
  show_images(classifier, test);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
