// Policies of augmentation: AutoAugment (Cubuk et al., 2018), RandAugment (Cubuk et al., 2019),
// TrivialAugment (Müller and Hutter, 2021) and AugMix (Hendrycks et al., 2019), as torchvision
// defines them. They apply operations with drawn magnitudes to an image of one or three channels;
// the magnitudes are meant for u8.
//
// Beside torchvision's, bytes after one operation are within one step, apart from up to 0.3 % of
// them with the nearest pixel, where a place is halfway between two. A later operation makes more
// of a difference: after several, 99 % of the bytes are within 8 steps, of AugMix within 3; most
// images are the same.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/data/transforms/image_functions.h"
#include "plait/data/transforms/transform.h"

namespace plait::data::transforms {

enum class AugmentKind : uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
  invert,
};
std::string_view name_of(AugmentKind kind);  // "ShearX"

struct AugmentStep {
  AugmentKind kind;
  double magnitude;
};
struct AugmentOptions {
  Interpolation interpolation = Interpolation::nearest;
  std::vector<double> fill = {};
};
Tensor augment(const Tensor& image, const AugmentStep& step, const AugmentOptions& options = {});

enum class AutoAugmentPolicy : uint8_t { imagenet, cifar10, svhn };

struct AutoAugment {
  AutoAugmentPolicy policy = AutoAugmentPolicy::imagenet;
  AugmentOptions options = {};

  std::vector<AugmentStep> steps(ImageSize image, const DrawKey& key) const;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
};

struct RandAugment {
  int64_t num_ops = 2;
  int64_t magnitude = 9;
  int64_t num_magnitude_bins = 31;
  AugmentOptions options = {};

  std::vector<AugmentStep> steps(ImageSize image, const DrawKey& key) const;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

struct TrivialAugmentWide {
  int64_t num_magnitude_bins = 31;
  AugmentOptions options = {};

  std::vector<AugmentStep> steps(ImageSize image, const DrawKey& key) const;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// The weighted sum of the image and of several chains of operations.
struct AugMix {
  int64_t severity = 3;
  int64_t mixture_width = 3;
  int64_t chain_depth = -1;  // 1 to 3, drawn, if it is not positive
  double alpha = 1;
  bool all_ops = true;
  AugmentOptions options = {.interpolation = Interpolation::bilinear};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

}  // namespace plait::data::transforms
