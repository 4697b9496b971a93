#include "plait/data/transforms/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/augment_policies.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/color_functions.h"

namespace plait::data::transforms {
namespace {

constexpr std::array<std::string_view, 15> kKinds = {
    "Identity",  "ShearX",     "ShearY",       "TranslateX", "TranslateY",
    "Rotate",    "Brightness", "Color",        "Contrast",   "Sharpness",
    "Posterize", "Solarize",   "AutoContrast", "Equalize",   "Invert"};

// The magnitudes of an operation: equally many steps from one number to another.
struct Magnitudes {
  double first = 0, last = 0;
  bool is_signed = false;
  bool is_whole = false;
  bool is_used = true;

  // In f32, from both ends, as torch.linspace computes it.
  double at(int64_t i, int64_t count) const {
    const auto a = static_cast<float>(first), b = static_cast<float>(last);
    if (is_whole) {  // from `first` down
      const double step = static_cast<double>(count - 1) / (first - last);
      return std::nearbyint(first - static_cast<double>(i) / step);
    }
    const float step = count > 1 ? (b - a) / static_cast<float>(count - 1) : 0;
    return i < count / 2 || count == 1 ? a + step * static_cast<float>(i)
                                       : b - step * static_cast<float>(count - 1 - i);
  }
};

// The ranges in which policies differ. Translations are shares of the size, or else pixels.
struct Space {
  double shear, share, pixels, rotation, factor, most_bits, least_bits;
};
constexpr Space kAutoSpace = {0.3, 150. / 331, 0, 30, 0.9, 8, 4};
constexpr Space kWideSpace = {0.99, 0, 32, 135, 0.99, 8, 2};
constexpr Space kMixSpace = {0.3, 1. / 3, 0, 30, 0.9, 4, 0};

Magnitudes magnitudes_of(AugmentKind kind, const Space& space, ImageSize image) {
  const auto translation = [&](int64_t side) {
    return Magnitudes{0, space.pixels + space.share * static_cast<double>(side), true};
  };
  switch (kind) {
    case AugmentKind::shear_x:
    case AugmentKind::shear_y: return {0, space.shear, true};
    case AugmentKind::translate_x: return translation(image.width);
    case AugmentKind::translate_y: return translation(image.height);
    case AugmentKind::rotate: return {0, space.rotation, true};
    case AugmentKind::brightness:
    case AugmentKind::color:
    case AugmentKind::contrast:
    case AugmentKind::sharpness: return {0, space.factor, true};
    case AugmentKind::posterize: return {space.most_bits, space.least_bits, false, true};
    case AugmentKind::solarize: return {1, 0};
    default: return {.is_used = false};
  }
}

using Kinds = std::vector<AugmentKind>;

// Identity to equalize; invert is only in policies.
Kinds first_kinds() {
  Kinds kinds;
  for (int i = 0; i <= static_cast<int>(AugmentKind::equalize); ++i) {
    kinds.push_back(static_cast<AugmentKind>(i));
  }
  return kinds;
}

Kinds mixed_kinds(bool all) {
  Kinds kinds;
  for (const AugmentKind kind : first_kinds()) {
    const bool is_color = kind >= AugmentKind::brightness && kind <= AugmentKind::sharpness;
    if (kind != AugmentKind::identity && (all || !is_color)) kinds.push_back(kind);
  }
  return kinds;
}

// The step with magnitude number `index` of `count`, or with a drawn one below `most`.
AugmentStep drawn_step(Draws& draws, AugmentKind kind, const Magnitudes& magnitudes, int64_t index,
                       int64_t count) {
  if (!magnitudes.is_used) return {kind, 0};
  const double magnitude = magnitudes.at(index, count);
  const bool is_negative = magnitudes.is_signed && draws.chance(0.5);
  return {kind, is_negative ? -magnitude : magnitude};
}

AugmentKind drawn_kind(Draws& draws, const Kinds& kinds) {
  return kinds[static_cast<size_t>(draws.below(static_cast<int64_t>(kinds.size())))];
}

Tensor after_steps(const Tensor& image, const std::vector<AugmentStep>& steps,
                   const AugmentOptions& options) {
  Tensor result = image;
  for (const AugmentStep& step : steps) result = augment(result, step, options);
  return result;
}

Parameters named_steps(const std::vector<AugmentStep>& steps) {
  Parameters parameters;
  for (const AugmentStep& step : steps) {
    parameters.push_back({std::string(name_of(step.kind)), {step.magnitude}});
  }
  return parameters;
}

const Policy& policy_of(AutoAugmentPolicy policy) {
  switch (policy) {
    case AutoAugmentPolicy::cifar10: return kPolicyCifar10;
    case AutoAugmentPolicy::svhn: return kPolicySvhn;
    default: return kPolicyImagenet;
  }
}

double degrees(double tangent) { return std::atan(tangent) * 180 / std::numbers::pi; }

void expect_count(std::string_view name, std::string_view field, int64_t value, int64_t least,
                  int64_t most = INT64_MAX) {
  if (value >= least && value <= most) return;
  if (most == INT64_MAX) {
    throw ValueError("{}: {} is {}, expected {} or more", name, field, value, least);
  }
  throw ValueError("{}: {} is {}, expected {} to {}", name, field, value, least, most);
}

// ---- AugMix.

struct Chain {
  std::vector<AugmentStep> steps;
};
struct Mixture {
  std::vector<Chain> chains;
  std::vector<double> own;                     // the weight of each image of the batch
  std::vector<std::vector<double>> of_chains;  // for each image
};

constexpr int64_t kMixBins = 10;

Mixture drawn_mixture(const AugMix& mix, const ImageView& view, const DrawKey& key) {
  Draws draws(key);
  Mixture mixture;
  for (int64_t image = 0; image < view.count(); ++image) {
    const std::vector<double> shares = draws.dirichlet(2, mix.alpha);
    std::vector<double> weights =
        draws.dirichlet(static_cast<size_t>(mix.mixture_width), mix.alpha);
    for (double& weight : weights) weight *= shares[1];
    mixture.own.push_back(shares[0]);
    mixture.of_chains.push_back(std::move(weights));
  }
  const Kinds kinds = mixed_kinds(mix.all_ops);
  const ImageSize size{view.height, view.width};
  for (int64_t i = 0; i < mix.mixture_width; ++i) {
    Chain chain;
    const int64_t depth = mix.chain_depth > 0 ? mix.chain_depth : 1 + draws.below(3);
    for (int64_t k = 0; k < depth; ++k) {
      const AugmentKind kind = drawn_kind(draws, kinds);
      const Magnitudes magnitudes = magnitudes_of(kind, kMixSpace, size);
      const int64_t index = magnitudes.is_used ? draws.below(mix.severity) : 0;
      chain.steps.push_back(drawn_step(draws, kind, magnitudes, index, kMixBins));
    }
    mixture.chains.push_back(std::move(chain));
  }
  return mixture;
}

// The weighted sum, of one image after another.
template <class T>
Array mixed(const ImageView& own, const std::vector<ImageView>& chains, const Mixture& mixture) {
  Array result = image_array(own, own.array.dtype(), own.channels, own.height, own.width);
  const int64_t numbers = own.channels * own.height * own.width;
  const auto at = [numbers](const ImageView& view, int64_t image) {
    return reinterpret_cast<const T*>(view.array.data()) + image * numbers;
  };
  auto* to = reinterpret_cast<T*>(result.writable_data());
  std::vector<Wide<T>> sums(static_cast<size_t>(numbers));
  const auto add = [&](const T* from, double weight) {
    for (int64_t i = 0; i < numbers; ++i) {
      sums[static_cast<size_t>(i)] += static_cast<Wide<T>>(weight) * static_cast<Wide<T>>(from[i]);
    }
  };
  for (int64_t image = 0; image < own.count(); ++image) {
    const auto place = static_cast<size_t>(image);
    std::ranges::fill(sums, Wide<T>{0});
    add(at(own, image), mixture.own[place]);
    for (size_t i = 0; i < chains.size(); ++i) {
      add(at(chains[i], image), mixture.of_chains[place][i]);
    }
    for (const Wide<T> sum : sums) *to++ = static_cast<T>(sum);
  }
  return result;
}

}  // namespace

std::string_view name_of(AugmentKind kind) { return kKinds[static_cast<size_t>(kind)]; }

Tensor augment(const Tensor& image, const AugmentStep& step, const AugmentOptions& options) {
  const double m = step.magnitude;
  const WarpOptions warp{options.interpolation, options.fill, {}};
  const WarpOptions corner{options.interpolation, options.fill, std::array<double, 2>{0, 0}};
  switch (step.kind) {
    case AugmentKind::identity: return image;
    case AugmentKind::shear_x: return affine(image, {.shear = {degrees(m), 0}}, corner);
    case AugmentKind::shear_y: return affine(image, {.shear = {0, degrees(m)}}, corner);
    case AugmentKind::translate_x: return affine(image, {.translate = {std::trunc(m), 0}}, warp);
    case AugmentKind::translate_y: return affine(image, {.translate = {0, std::trunc(m)}}, warp);
    case AugmentKind::rotate: return rotate(image, m, warp);
    case AugmentKind::brightness: return adjust_brightness(image, 1 + m);
    case AugmentKind::color: return adjust_saturation(image, 1 + m);
    case AugmentKind::contrast: return adjust_contrast(image, 1 + m);
    case AugmentKind::sharpness: return adjust_sharpness(image, 1 + m);
    case AugmentKind::posterize: return posterize(image, static_cast<int64_t>(m));
    case AugmentKind::solarize:
      return solarize(image, image.array().dtype() == DType::u8 ? 255 * m : m);
    case AugmentKind::auto_contrast: return autocontrast(image);
    case AugmentKind::equalize: return equalize(image);
    default: return invert(image);
  }
}

std::vector<AugmentStep> AutoAugment::steps(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  const Policy& pairs = policy_of(policy);
  std::vector<AugmentStep> steps;
  for (const PolicyStep& each : pairs[static_cast<size_t>(draws.below(25))]) {
    if (!draws.chance(each.probability)) continue;
    const Magnitudes magnitudes = magnitudes_of(each.kind, kAutoSpace, image);
    steps.push_back(drawn_step(draws, each.kind, magnitudes, each.magnitude, 10));
  }
  return steps;
}
Tensor AutoAugment::operator()(const Tensor& image, const DrawKey& key) const {
  return after_steps(image, steps(size_of_image(image), key), options);
}
Parameters AutoAugment::parameters(const Tensor& image, const DrawKey& key) const {
  return named_steps(steps(size_of_image(image), key));
}

std::vector<AugmentStep> RandAugment::steps(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  const Kinds kinds = first_kinds();
  std::vector<AugmentStep> steps;
  for (int64_t i = 0; i < num_ops; ++i) {
    const AugmentKind kind = drawn_kind(draws, kinds);
    const Magnitudes magnitudes = magnitudes_of(kind, kAutoSpace, image);
    steps.push_back(drawn_step(draws, kind, magnitudes, magnitude, num_magnitude_bins));
  }
  return steps;
}
Tensor RandAugment::operator()(const Tensor& image, const DrawKey& key) const {
  return after_steps(image, steps(size_of_image(image), key), options);
}
Parameters RandAugment::parameters(const Tensor& image, const DrawKey& key) const {
  return named_steps(steps(size_of_image(image), key));
}
void RandAugment::check() const {
  expect_count("RandAugment", "num_ops", num_ops, 0);
  expect_count("RandAugment", "num_magnitude_bins", num_magnitude_bins, 2);
  expect_count("RandAugment", "magnitude", magnitude, 0, num_magnitude_bins - 1);
}

std::vector<AugmentStep> TrivialAugmentWide::steps(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  const AugmentKind kind = drawn_kind(draws, first_kinds());
  const Magnitudes magnitudes = magnitudes_of(kind, kWideSpace, image);
  const int64_t index = magnitudes.is_used ? draws.below(num_magnitude_bins) : 0;
  return {drawn_step(draws, kind, magnitudes, index, num_magnitude_bins)};
}
Tensor TrivialAugmentWide::operator()(const Tensor& image, const DrawKey& key) const {
  return after_steps(image, steps(size_of_image(image), key), options);
}
Parameters TrivialAugmentWide::parameters(const Tensor& image, const DrawKey& key) const {
  return named_steps(steps(size_of_image(image), key));
}
void TrivialAugmentWide::check() const {
  expect_count("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2);
}

Tensor AugMix::operator()(const Tensor& image, const DrawKey& key) const {
  const ImageView view = colour_view_of("AugMix", image);
  const Mixture mixture = drawn_mixture(*this, view, key);
  std::vector<Tensor> chains;
  for (const Chain& chain : mixture.chains) {
    chains.push_back(after_steps(image, chain.steps, options));
  }
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    std::vector<ImageView> views;
    for (const Tensor& chain : chains) {
      const Array same = chain.array().converted(from.array.dtype());
      views.push_back(dense(view_of("AugMix", Tensor(same))));
    }
    return mixed<T>(dense(from), views, mixture);
  });
}
Parameters AugMix::parameters(const Tensor& image, const DrawKey& key) const {
  const Mixture mixture = drawn_mixture(*this, colour_view_of("AugMix", image), key);
  Parameters parameters{{"own_weights", mixture.own}};
  for (const std::vector<double>& weights : mixture.of_chains) {
    parameters.push_back({"chain_weights", weights});
  }
  for (const Chain& chain : mixture.chains) {
    parameters.push_back({"chain", {static_cast<double>(chain.steps.size())}});
    for (const Parameter& step : named_steps(chain.steps)) parameters.push_back(step);
  }
  return parameters;
}
void AugMix::check() const {
  expect_count("AugMix", "severity", severity, 1, kMixBins);
  expect_count("AugMix", "mixture_width", mixture_width, 1);
  if (!(alpha > 0)) throw ValueError("AugMix: alpha is {}, expected more than 0", alpha);
}

}  // namespace plait::data::transforms
