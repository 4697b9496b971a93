#include "fashion_mnist.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "plait/io/idx.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"

namespace plait::examples {
namespace {

constexpr std::array<std::string_view, kClasses> kNames = {
    "T-shirt", "trousers", "pullover", "dress", "coat",
    "sandal",  "shirt",    "sneaker",  "bag",   "boot"};

}  // namespace

Clothes Clothes::rows(const Tensor& which) const {
  return {take(images, which, 0), take(labels, which, 0)};
}

Clothes Clothes::rows(int64_t first, int64_t last) const {
  return {images[Slice{first, last}], labels[Slice{first, last}]};
}

Clothes Clothes::load(const std::string& folder, const std::string& part) {
  const Tensor images(load_idx(folder + "/" + part + "-images-idx3-ubyte.gz"));
  const Tensor labels(load_idx(folder + "/" + part + "-labels-idx1-ubyte.gz"));
  return {reshape(images, {-1, kPixels}) / 255.F, astype(labels, DType::i64)};
}

double accuracy(const Classify& classify, const Clothes& data) {
  constexpr int64_t kPart = 1000;
  int64_t right = 0;
  for (int64_t first = 0; first < data.size(); first += kPart) {
    const Clothes part = data.rows(first, std::min(first + kPart, data.size()));
    right += sum(equal(argmax(classify(part.images), -1), part.labels)).item<int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(data.size());
}

void show_images(const Classify& classify, const Clothes& data) {
  constexpr int64_t kShown = 4;
  constexpr std::string_view kInk = " .:-=+*#%@";
  const Clothes few = data.rows(random::randint({kShown}, 0, data.size()));
  const Tensor guesses = argmax(classify(few.images), -1);
  const Tensor ink = astype(few.images * static_cast<double>(kInk.size() - 1), DType::i64);
  const auto shades = ink.array().contiguous().elements<int64_t>();
  for (int64_t row = 0; row < kSide; row += 2) {
    for (int64_t image = 0; image < kShown; ++image) {
      fmt::print("  ");
      for (int64_t column = 0; column < kSide; ++column) {
        const auto at = static_cast<size_t>(image * kPixels + row * kSide + column);
        fmt::print("{}", kInk[static_cast<size_t>(shades[at])]);
      }
    }
    fmt::print("\n");
  }
  for (int64_t image = 0; image < kShown; ++image) {
    const auto name_of = [&](const Tensor& kinds) {
      return kNames[static_cast<size_t>(kinds[image].item<int64_t>())];
    };
    const std::string_view guess = name_of(guesses), label = name_of(few.labels);
    fmt::print("  {:^28}",
               guess == label ? std::string(guess) : fmt::format("{} (is: {})", guess, label));
  }
  fmt::print("\n");
}

}  // namespace plait::examples
