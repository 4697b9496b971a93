// Trains a classifier of images with two layers, and shows what it then makes of images that it has
// not seen:
//
//   plait-train-classifier [--epochs 4] [--data /usr/share/datasets/fashion-mnist]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "plait/io/idx.h"
#include "plait/ops/activation.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/index.h"
#include "plait/ops/linear.h"
#include "plait/ops/random.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/ops/softmax.h"
#include "plait/ops/sort.h"
#include "plait/ops/take.h"
#include "plait/transform/grad.h"

namespace {

using namespace plait;

constexpr int64_t kPixels = 28 * 28, kHidden = 256, kClasses = 10, kBatch = 128;
constexpr const char* kNames[kClasses] = {"T-shirt", "trousers", "pullover", "dress", "coat",
                                          "sandal",  "shirt",    "sneaker",  "bag",   "boot"};

struct Data {
  Tensor images;  // f32[n, 784], 0 to 1
  Tensor labels;  // i64[n]

  int64_t size() const { return labels.shape(0).number(); }
  Data rows(const Tensor& which) const { return {take(images, which, 0), take(labels, which, 0)}; }
};

Data load(const std::string& folder, const std::string& part) {
  const Tensor images(load_idx(folder + "/" + part + "-images-idx3-ubyte.gz"));
  const Tensor labels(load_idx(folder + "/" + part + "-labels-idx1-ubyte.gz"));
  return {reshape(images, {-1, kPixels}) / 255.F, astype(labels, DType::i64)};
}

struct Layer {
  Tensor weight, bias;

  static Layer random_of(int64_t inputs, int64_t outputs) {
    const double spread = std::sqrt(2. / static_cast<double>(inputs));
    return {random::normal({inputs, outputs}, 0., spread), zeros({outputs})};
  }
  Tensor operator()(const Tensor& x) const { return matmul(x, weight) + bias; }
};

struct Classifier {
  Layer hidden = Layer::random_of(kPixels, kHidden);
  Layer output = Layer::random_of(kHidden, kClasses);

  Tensor operator()(const Tensor& images) const { return output(relu(hidden(images))); }
};

// The mean of −log p(label).
Tensor loss_of(const Classifier& classifier, const Data& batch) {
  const Tensor log_p = log_softmax(classifier(batch.images));
  return -mean(sum(log_p * one_hot(batch.labels, kClasses), -1));
}

// Adam: what it remembers of gradients has the structure of the model.
class Adam {
 public:
  Adam(const Classifier& model, double rate)
      : rate_(rate),
        means_(map_leaves(model, zeros_like)),
        squares_(map_leaves(model, zeros_like)) {}

  void follow(Classifier& model, const Classifier& gradients) {
    constexpr double kMean = 0.9, kSquare = 0.999, kSmall = 1e-8;
    const auto steps = static_cast<double>(++steps_);
    const auto values = leaves<Tensor>(model), means = leaves<Tensor>(means_);
    const auto squares = leaves<Tensor>(squares_);
    const std::vector<Tensor> found = tensors_of(gradients);
    for (size_t i = 0; i < found.size(); ++i) {
      *means[i] = kMean * *means[i] + (1 - kMean) * found[i];
      *squares[i] = kSquare * *squares[i] + (1 - kSquare) * square(found[i]);
      const Tensor direction = *means[i] / (1 - std::pow(kMean, steps));
      const Tensor scale = sqrt(*squares[i] / (1 - std::pow(kSquare, steps))) + kSmall;
      *values[i] = *values[i] - rate_ * direction / scale;
    }
  }

 private:
  double rate_;
  int64_t steps_ = 0;
  Classifier means_, squares_;
};

double accuracy(const Classifier& classifier, const Data& data) {
  const Tensor is_right = equal(argmax(classifier(data.images), -1), data.labels);
  return mean(is_right).item<double>();
}

// One line that is written over and over where somebody watches.
class Progress {
 public:
  explicit Progress(int64_t images) : images_(images) {}

  void show(int epoch, int epochs, int64_t done, double loss) {
    constexpr int kWidth = 30;
    const auto filled = static_cast<int>(kWidth * done / images_);
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    const double speed = static_cast<double>(done) / passed.count();
    if (!is_watched_ && done < images_) return;
    fmt::print("{}  epoch {}/{}  [{:#<{}}{:-<{}}]  loss {:.3f}  {:.0f} images/s",
               is_watched_ ? "\r" : "", epoch, epochs, "", filled, "", kWidth - filled, loss,
               speed);
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t images_;
  Clock::time_point begin_ = Clock::now();
  bool is_watched_ = isatty(STDOUT_FILENO) != 0;
};

void train(Classifier& classifier, const Data& data, const Data& test, int epochs) {
  Adam adam(classifier, 1e-3);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    Progress progress(data.size());
    const Tensor order = random::permutation(data.size());
    double loss = 0;
    for (int64_t first = 0; first < data.size(); first += kBatch) {
      const int64_t last = std::min(first + kBatch, data.size());
      const auto [value, gradients] =
          value_and_grad(loss_of)(classifier, data.rows(order[Slice{first, last}]));
      adam.follow(classifier, gradients);
      const double now = value.item<double>();
      loss = first == 0 ? now : 0.98 * loss + 0.02 * now;
      progress.show(epoch, epochs, last, loss);
    }
    fmt::print("  test accuracy {:.1f} %\n", 100 * accuracy(classifier, test));
  }
}

// A few images side by side, in characters, with what they are taken for.
void show_images(const Classifier& classifier, const Data& test) {
  constexpr int64_t kShown = 4;
  constexpr std::string_view kInk = " .:-=+*#%@";
  const Data few = test.rows(random::randint({kShown}, 0, test.size()));
  const Tensor guesses = argmax(classifier(few.images), -1);
  const Tensor ink = astype(few.images * static_cast<double>(kInk.size() - 1), DType::i64);
  const auto shades = ink.array().contiguous().elements<int64_t>();
  for (int64_t row = 0; row < 28; row += 2) {
    for (int64_t image = 0; image < kShown; ++image) {
      fmt::print("  ");
      for (int64_t column = 0; column < 28; ++column) {
        const auto at = static_cast<size_t>(image * kPixels + row * 28 + column);
        fmt::print("{}", kInk[static_cast<size_t>(shades[at])]);
      }
    }
    fmt::print("\n");
  }
  for (int64_t image = 0; image < kShown; ++image) {
    const auto guess = guesses[image].item<int64_t>(), label = few.labels[image].item<int64_t>();
    const std::string text =
        guess == label ? kNames[guess] : fmt::format("{} (is: {})", kNames[guess], kNames[label]);
    fmt::print("  {:^28}", text);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Trains a classifier of images of clothes, and shows what it makes of new ones.");
  std::string folder = "/usr/share/datasets/fashion-mnist";
  int epochs = 4;
  uint64_t seed = 0;
  app.add_option("--data", folder, "The folder of the IDX files")->capture_default_str();
  app.add_option("--epochs", epochs, "How often each image is seen")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", seed, "Of the random numbers")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  random::seed(seed);
  const Data data = load(folder, "train"), test = load(folder, "t10k");
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
