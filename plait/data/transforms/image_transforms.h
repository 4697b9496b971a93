// Transforms of images, with the names, fields and defaults of torchvision's v2. Those without
// randomness are functions of an image (image_functions.h) with their arguments; the others also
// take a key (transform.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/data/transforms/image_functions.h"
#include "plait/data/transforms/transform.h"
#include "plait/io/images/decode_image.h"

namespace plait::data::transforms {

using Range = std::array<double, 2>;

// ---- Numbers.

struct ToDtype {
  DType dtype = DType::f32;
  bool scale = false;
  Tensor operator()(const Tensor& image) const { return to_dtype(image, dtype, scale); }
};

struct Normalize {
  std::vector<double> mean, std;
  Tensor operator()(const Tensor& image) const { return normalize(image, mean, std); }
  void check() const;
};

// ---- Sizes.

// To a size, or such that the shorter side has one.
struct Resize {
  explicit Resize(ImageSize to, ResizeOptions how = {}) : size(to), options(how) {}
  explicit Resize(std::optional<int64_t> shorter, std::optional<int64_t> longest = {},
                  ResizeOptions how = {})
      : side(shorter), max_size(longest), options(how) {}

  std::optional<ImageSize> size;
  std::optional<int64_t> side, max_size;
  ResizeOptions options;

  Tensor operator()(const Tensor& image) const;
  void check() const;
};

struct CenterCrop {
  ImageSize size;
  Tensor operator()(const Tensor& image) const { return center_crop(image, size); }
  void check() const;
};

struct Pad {
  Padding padding;
  std::vector<double> fill = {};
  PaddingMode mode = PaddingMode::constant;
  Tensor operator()(const Tensor& image) const { return pad(image, padding, fill, mode); }
};

struct RandomHorizontalFlip {
  double p = 0.5;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

struct RandomVerticalFlip {
  double p = 0.5;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

struct RandomCrop {
  ImageSize size;
  std::optional<Padding> padding = {};
  bool pad_if_needed = false;
  std::vector<double> fill = {};
  PaddingMode mode = PaddingMode::constant;

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// A box with a share of the area and a ratio of width to height, drawn from these ranges, resized.
struct RandomResizedCrop {
  ImageSize size;
  Range scale = {0.08, 1};
  Range ratio = {3. / 4, 4. / 3};
  ResizeOptions options = {};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  ImageBox box(ImageSize image, const DrawKey& key) const;
  void check() const;

  // The same of the image in a file, of which only the box is decoded: with `is_reduced`, a JPEG at
  // a smaller scale, as DecodeOptions::size says; else the pixels are those of the whole image.
  Tensor read(const std::string& path, const DrawKey& key, ImageMode mode = ImageMode::rgb,
              bool is_reduced = true) const;
  Tensor decode(std::span<const std::byte> file, const DrawKey& key,
                ImageMode mode = ImageMode::rgb, bool is_reduced = true) const;
};

// `value` is a number for each channel, or one; without any, pixels become normal numbers.
struct RandomErasing {
  double p = 0.5;
  Range scale = {0.02, 0.33};
  Range ratio = {0.3, 3.3};
  std::vector<double> value = {0};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// ---- Geometry and filters.

struct RandomRotation {
  Range degrees;
  WarpOptions options = {.fill = {0}};
  bool expand = false;

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

struct RandomAffine {
  Range degrees;
  std::optional<Range> translate = {};  // the greatest shares of width and height
  std::optional<Range> scale = {};
  std::optional<std::array<Range, 2>> shear = {};  // along x, and along y
  WarpOptions options = {.fill = {0}};

  AffineMap map(ImageSize image, const DrawKey& key) const;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

struct GaussianBlur {
  std::array<int64_t, 2> kernel_size;  // along x, and along y
  Range sigma = {0.1, 2};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// ---- Colours.

struct Grayscale {
  int64_t num_output_channels = 1;
  Tensor operator()(const Tensor& image) const;
};

struct RandomGrayscale {
  double p = 0.1;
  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

// Factors from these ranges, in a random order.
struct ColorJitter {
  std::optional<Range> brightness = {}, contrast = {}, saturation = {}, hue = {};

  Tensor operator()(const Tensor& image, const DrawKey& key) const;
  Parameters parameters(const Tensor& image, const DrawKey& key) const;
  void check() const;
};

}  // namespace plait::data::transforms
