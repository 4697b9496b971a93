#include "plait/data/transforms/image_transforms.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/data/inside/transforms/checks.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/color_functions.h"
#include "plait/io/inside/file.h"

namespace plait::data::transforms {
namespace {

void expect_pixels(std::string_view name, ImageSize size) {
  if (size.height > 0 && size.width > 0) return;
  throw ValueError("{}: the size is [{}, {}], expected 1 or more", name, size.height, size.width);
}

Parameters flag(std::string name, bool value) {
  return {{std::move(name), {static_cast<double>(value)}}};
}

bool is_drawn(double p, const DrawKey& key) { return Draws(key).chance(p); }

// As Python rounds: to even.
int64_t rounded(double number) { return static_cast<int64_t>(std::nearbyint(number)); }

// The area and the ratio of the sides, ten times; `accept(√(area · ratio), √(area / ratio))` says
// if they do.
template <class Accept>
bool draw_sides(Draws& draws, double area, const Range& scale, const Range& ratio, Accept accept) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * draws.uniform(scale[0], scale[1]);
    const double shape = std::exp(draws.uniform(std::log(ratio[0]), std::log(ratio[1])));
    if (accept(rounded(std::sqrt(part * shape)), rounded(std::sqrt(part / shape)))) return true;
  }
  return false;
}

ImageBox central_box(ImageSize image, const Range& ratio) {
  const double shape = static_cast<double>(image.width) / static_cast<double>(image.height);
  int64_t height = image.height, width = image.width;
  if (shape < ratio[0]) {
    height = std::min(height, rounded(static_cast<double>(width) / ratio[0]));
  } else if (shape > ratio[1]) {
    width = std::min(width, rounded(static_cast<double>(height) * ratio[1]));
  }
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

Parameters named(const ImageBox& box) {
  return {{"top", {static_cast<double>(box.top)}},
          {"left", {static_cast<double>(box.left)}},
          {"height", {static_cast<double>(box.height)}},
          {"width", {static_cast<double>(box.width)}}};
}

struct PaddedCrop {
  Padding padding;
  ImageBox box;
};

void widen(int64_t& before, int64_t& after, int64_t& size, int64_t needed) {
  if (size >= needed) return;
  const int64_t missing = needed - size;
  before += missing;
  after += missing;
  size += 2 * missing;
}

PaddedCrop drawn_crop(const RandomCrop& crop, ImageSize image, const DrawKey& key) {
  Padding padding = crop.padding.value_or(Padding{});
  int64_t height = image.height + padding.top + padding.bottom;
  int64_t width = image.width + padding.left + padding.right;
  if (crop.pad_if_needed) {
    widen(padding.top, padding.bottom, height, crop.size.height);
    widen(padding.left, padding.right, width, crop.size.width);
  }
  if (height < crop.size.height || width < crop.size.width) {
    throw ValueError("RandomCrop: the size is [{}, {}], larger than the {}image [{}, {}]",
                     crop.size.height, crop.size.width, crop.padding ? "padded " : "", height,
                     width)
        .hint("pad_if_needed pads it");
  }
  Draws draws(key);
  const int64_t top = draws.below(height - crop.size.height + 1);
  const int64_t left = draws.below(width - crop.size.width + 1);
  return {padding, {top, left, crop.size.height, crop.size.width}};
}

struct Erasure {
  bool is_applied;
  std::optional<ImageBox> box;
};

Erasure drawn_erasure(const RandomErasing& erasing, ImageSize image, const DrawKey& key) {
  Draws draws(key);
  if (!draws.chance(erasing.p)) return {false, {}};
  std::optional<ImageBox> box;
  const double area = static_cast<double>(image.height) * static_cast<double>(image.width);
  draw_sides(draws, area, erasing.scale, erasing.ratio, [&](int64_t height, int64_t width) {
    if (height >= image.height || width >= image.width) return false;
    const int64_t top = draws.below(image.height - height + 1);
    box = ImageBox{top, draws.below(image.width - width + 1), height, width};
    return true;
  });
  return {box.has_value(), box};
}

Tensor erasing_value(const RandomErasing& erasing, const ImageView& view, const ImageBox& box,
                     const DrawKey& key) {
  if (erasing.value.empty()) {
    Array noise = Array::empty(DType::f32, {view.channels, box.height, box.width});
    Draws draws(key.part(0));
    for (float& each : noise.writable_elements<float>()) each = static_cast<float>(draws.normal());
    return Tensor(std::move(noise));
  }
  const auto count = static_cast<int64_t>(erasing.value.size());
  if (count != 1 && count != view.channels) {
    throw ValueError(
        "RandomErasing: value has {} numbers, expected one or {}, one for each channel", count,
        view.channels);
  }
  return Tensor(Array::of(std::span<const double>(erasing.value), {count, 1, 1}));
}

struct Jitter {
  std::vector<int64_t> order;
  std::array<std::optional<double>, 4> factors;
};

Jitter drawn_jitter(const ColorJitter& jitter, const DrawKey& key) {
  Draws draws(key);
  Jitter drawn{draws.permutation(4), {}};
  size_t i = 0;
  for (const std::optional<Range>* each :
       {&jitter.brightness, &jitter.contrast, &jitter.saturation, &jitter.hue}) {
    if (*each) drawn.factors[i] = draws.uniform((**each)[0], (**each)[1]);
    ++i;
  }
  return drawn;
}

}  // namespace

void Normalize::check() const {
  for (const double each : std) {
    if (each == 0) throw ValueError("Normalize: std is 0 for a channel, by which it divides");
  }
  if (mean.empty() || std.empty()) throw ValueError("Normalize: mean or std has no numbers");
}

Tensor Resize::operator()(const Tensor& image) const {
  return resize(image, size ? *size : resized_size(size_of_image(image), side, max_size), options);
}

void Resize::check() const {
  if (size) return expect_pixels("Resize", *size);
  const int64_t one = side.value_or(max_size.value_or(0));
  expect_pixels("Resize", {one, one});
  resized_size({1, 1}, side, max_size);
}

void CenterCrop::check() const { expect_pixels("CenterCrop", size); }

Tensor RandomHorizontalFlip::operator()(const Tensor& image, const DrawKey& key) const {
  return is_drawn(p, key) ? horizontal_flip(image) : image;
}
Parameters RandomHorizontalFlip::parameters(const Tensor&, const DrawKey& key) const {
  return flag("applied", is_drawn(p, key));
}
void RandomHorizontalFlip::check() const { expect_probability("RandomHorizontalFlip", p); }

Tensor RandomVerticalFlip::operator()(const Tensor& image, const DrawKey& key) const {
  return is_drawn(p, key) ? vertical_flip(image) : image;
}
Parameters RandomVerticalFlip::parameters(const Tensor&, const DrawKey& key) const {
  return flag("applied", is_drawn(p, key));
}
void RandomVerticalFlip::check() const { expect_probability("RandomVerticalFlip", p); }

Tensor RandomCrop::operator()(const Tensor& image, const DrawKey& key) const {
  const PaddedCrop drawn = drawn_crop(*this, size_of_image(image), key);
  const Padding& around = drawn.padding;
  const bool is_padded =
      around.left != 0 || around.top != 0 || around.right != 0 || around.bottom != 0;
  return crop(is_padded ? pad(image, around, fill, mode) : image, drawn.box);
}
Parameters RandomCrop::parameters(const Tensor& image, const DrawKey& key) const {
  const PaddedCrop drawn = drawn_crop(*this, size_of_image(image), key);
  Parameters parameters = named(drawn.box);
  const Padding& around = drawn.padding;
  parameters.push_back({"padding",
                        {static_cast<double>(around.left), static_cast<double>(around.top),
                         static_cast<double>(around.right), static_cast<double>(around.bottom)}});
  return parameters;
}
void RandomCrop::check() const { expect_pixels("RandomCrop", size); }

ImageBox RandomResizedCrop::box(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  ImageBox box{};
  const double area = static_cast<double>(image.height) * static_cast<double>(image.width);
  const bool found = draw_sides(draws, area, scale, ratio, [&](int64_t width, int64_t height) {
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) return false;
    const int64_t top = draws.below(image.height - height + 1);
    box = {top, draws.below(image.width - width + 1), height, width};
    return true;
  });
  return found ? box : central_box(image, ratio);
}
Tensor RandomResizedCrop::operator()(const Tensor& image, const DrawKey& key) const {
  return resized_crop(image, box(size_of_image(image), key), size, options);
}
Parameters RandomResizedCrop::parameters(const Tensor& image, const DrawKey& key) const {
  return named(box(size_of_image(image), key));
}
Tensor RandomResizedCrop::decode(std::span<const std::byte> file, const DrawKey& key,
                                 ImageMode mode, bool is_reduced) const {
  const ImageInfo info = image_info(file);
  DecodeOptions decoding{.mode = mode, .crop = box({info.height, info.width}, key)};
  if (is_reduced) decoding.size = size;
  return resize(Tensor(decode_image(file, decoding)), size, options);
}
Tensor RandomResizedCrop::read(const std::string& path, const DrawKey& key, ImageMode mode,
                               bool is_reduced) const {
  const InputFile file(path);
  return with_path(path, [&] { return decode(file.bytes(), key, mode, is_reduced); });
}
void RandomResizedCrop::check() const {
  expect_pixels("RandomResizedCrop", size);
  expect_range("RandomResizedCrop", "scale", scale, 0);
  expect_range("RandomResizedCrop", "ratio", ratio, 1e-9);
}

Tensor RandomErasing::operator()(const Tensor& image, const DrawKey& key) const {
  const ImageView view = view_of("RandomErasing", image);
  const Erasure drawn = drawn_erasure(*this, {view.height, view.width}, key);
  if (!drawn.is_applied) return image;
  return erase(image, *drawn.box, erasing_value(*this, view, *drawn.box, key));
}
Parameters RandomErasing::parameters(const Tensor& image, const DrawKey& key) const {
  const Erasure drawn = drawn_erasure(*this, size_of_image(image), key);
  Parameters parameters = flag("applied", drawn.is_applied);
  if (drawn.box) std::ranges::copy(named(*drawn.box), std::back_inserter(parameters));
  return parameters;
}
void RandomErasing::check() const {
  expect_probability("RandomErasing", p);
  expect_range("RandomErasing", "scale", scale, 0, 1);
  expect_range("RandomErasing", "ratio", ratio, 1e-9);
}

Tensor RandomRotation::operator()(const Tensor& image, const DrawKey& key) const {
  return rotate(image, Draws(key).uniform(degrees[0], degrees[1]), options, expand);
}
Parameters RandomRotation::parameters(const Tensor&, const DrawKey& key) const {
  return {{"angle", {Draws(key).uniform(degrees[0], degrees[1])}}};
}
void RandomRotation::check() const { expect_range("RandomRotation", "degrees", degrees); }

AffineMap RandomAffine::map(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  AffineMap map{.angle = draws.uniform(degrees[0], degrees[1])};
  if (translate) {
    const double dx = (*translate)[0] * static_cast<double>(image.width);
    const double dy = (*translate)[1] * static_cast<double>(image.height);
    map.translate[0] = std::nearbyint(draws.uniform(-dx, dx));
    map.translate[1] = std::nearbyint(draws.uniform(-dy, dy));
  }
  if (scale) map.scale = draws.uniform((*scale)[0], (*scale)[1]);
  for (size_t axis = 0; shear && axis < 2; ++axis) {
    map.shear[axis] = draws.uniform((*shear)[axis][0], (*shear)[axis][1]);
  }
  return map;
}
Tensor RandomAffine::operator()(const Tensor& image, const DrawKey& key) const {
  return affine(image, map(size_of_image(image), key), options);
}
Parameters RandomAffine::parameters(const Tensor& image, const DrawKey& key) const {
  const AffineMap drawn = map(size_of_image(image), key);
  return {{"angle", {drawn.angle}},
          {"translate", {drawn.translate[0], drawn.translate[1]}},
          {"scale", {drawn.scale}},
          {"shear", {drawn.shear[0], drawn.shear[1]}}};
}
void RandomAffine::check() const {
  expect_range("RandomAffine", "degrees", degrees);
  for (const double each : translate.value_or(Range{0, 0})) {
    if (!(each >= 0 && each <= 1)) {
      throw ValueError("RandomAffine: translate has {}, expected 0 to 1, a share of the size",
                       each);
    }
  }
  if (scale) expect_range("RandomAffine", "scale", *scale, 1e-9);
  for (size_t axis = 0; shear && axis < 2; ++axis) {
    expect_range("RandomAffine", "shear", (*shear)[axis]);
  }
}

Tensor GaussianBlur::operator()(const Tensor& image, const DrawKey& key) const {
  const double drawn = Draws(key).uniform(sigma[0], sigma[1]);
  return gaussian_blur(image, kernel_size, {drawn, drawn});
}
Parameters GaussianBlur::parameters(const Tensor&, const DrawKey& key) const {
  return {{"sigma", {Draws(key).uniform(sigma[0], sigma[1])}}};
}
void GaussianBlur::check() const {
  expect_range("GaussianBlur", "sigma", sigma, 1e-9);
  for (const int64_t size : kernel_size) {
    if (size < 1 || size % 2 == 0) {
      throw ValueError("GaussianBlur: kernel_size is {}, expected an odd number above 0", size);
    }
  }
}

Tensor Grayscale::operator()(const Tensor& image) const {
  return rgb_to_grayscale(image, num_output_channels);
}

Tensor RandomGrayscale::operator()(const Tensor& image, const DrawKey& key) const {
  if (!is_drawn(p, key)) return image;
  return rgb_to_grayscale(image, colour_view_of("RandomGrayscale", image).channels);
}
Parameters RandomGrayscale::parameters(const Tensor&, const DrawKey& key) const {
  return flag("applied", is_drawn(p, key));
}
void RandomGrayscale::check() const { expect_probability("RandomGrayscale", p); }

Tensor ColorJitter::operator()(const Tensor& image, const DrawKey& key) const {
  static constexpr std::array kFunctions = {adjust_brightness, adjust_contrast, adjust_saturation,
                                            adjust_hue};
  const Jitter drawn = drawn_jitter(*this, key);
  Tensor result = image;
  for (const int64_t i : drawn.order) {
    const auto place = static_cast<size_t>(i);
    if (drawn.factors[place]) result = kFunctions[place](result, *drawn.factors[place]);
  }
  return result;
}
Parameters ColorJitter::parameters(const Tensor&, const DrawKey& key) const {
  static constexpr std::array kNames = {"brightness", "contrast", "saturation", "hue"};
  const Jitter drawn = drawn_jitter(*this, key);
  Parameters parameters{{"order", {drawn.order.begin(), drawn.order.end()}}};
  for (size_t i = 0; i < 4; ++i) {
    if (drawn.factors[i]) parameters.push_back({kNames[i], {*drawn.factors[i]}});
  }
  return parameters;
}
void ColorJitter::check() const {
  if (brightness) expect_range("ColorJitter", "brightness", *brightness, 0);
  if (contrast) expect_range("ColorJitter", "contrast", *contrast, 0);
  if (saturation) expect_range("ColorJitter", "saturation", *saturation, 0);
  if (hue) expect_range("ColorJitter", "hue", *hue, -0.5, 0.5);
}

}  // namespace plait::data::transforms
