// Fashion-MNIST: images of clothes of ten kinds, their labels, and their display as characters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plait/tensor/tensor.h"

namespace plait::examples {

inline constexpr int64_t kSide = 28, kPixels = kSide * kSide, kClasses = 10;
inline constexpr const char* kFolder = "/usr/share/datasets/fashion-mnist";

struct Clothes {
  Tensor images;  // f32[n, 784], 0 to 1
  Tensor labels;  // i64[n]

  int64_t size() const { return labels.shape(0).number(); }
  Clothes rows(const Tensor& which) const;
  Clothes rows(int64_t first, int64_t last) const;

  // `part` is "train" (60,000 images) or "t10k" (10,000).
  static Clothes load(const std::string& folder, const std::string& part);
};

using Classify = std::function<Tensor(const Tensor& images)>;  // returns logits

// Classifies the images in batches.
double accuracy(const Classify& classify, const Clothes& data);

// Prints a few images side by side as characters, with their predicted labels.
void show_images(const Classify& classify, const Clothes& data);

}  // namespace plait::examples
