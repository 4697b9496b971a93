// Functions of images: tensors [..., channels, height, width] of u8 (0 to 255) or floats (0 to 1),
// with any strides. Pixels are those of torchvision's transforms v2, bytes within one step (of
// policies see augment.h). Crops and flips are views. Each function runs on the calling thread
// alone; the workers of a loader are what runs in parallel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plait/data/transforms/interpolation.h"
#include "plait/io/images/image_box.h"
#include "plait/tensor/tensor.h"

namespace plait::data::transforms {

ImageSize size_of_image(const Tensor& image);

// ---- Numbers.

// The same numbers in another dtype. With `scale`, the range of the dtype is kept: 0 to 1 for
// floats, 0 to the greatest number for integers.
Tensor to_dtype(const Tensor& image, DType dtype, bool scale = false);
// (x - mean) / deviation for each channel, or one number for all. Of floats.
Tensor normalize(const Tensor& image, std::span<const double> mean,
                 std::span<const double> deviation);
// normalize(to_dtype(image, f32, true), …) in one pass over the bytes.
Tensor scaled_and_normalized(const Tensor& image, std::span<const double> mean,
                             std::span<const double> deviation);
// An image from an array [height, width, channels] or [height, width]: a view.
Tensor to_image(const Tensor& pixels);

// ---- Sizes.

struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;  // for bilinear and bicubic: the filter widens as the image shrinks
};
Tensor resize(const Tensor& image, ImageSize size, const ResizeOptions& options = {});
// The size whose shorter side is `side`, unless the longer one would exceed `max_size`.
ImageSize resized_size(ImageSize from, std::optional<int64_t> side,
                       std::optional<int64_t> max_size = {});

// Outside of the image it is 0.
Tensor crop(const Tensor& image, const ImageBox& box);
Tensor center_crop(const Tensor& image, ImageSize size);
// resize(crop(image, box), size).
Tensor resized_crop(const Tensor& image, const ImageBox& box, ImageSize size,
                    const ResizeOptions& options = {});

enum class PaddingMode : uint8_t { constant, edge, reflect, symmetric };
PaddingMode padding_mode_from(std::string_view name);  // ValueError for an unknown name
struct Padding {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};
// `fill` has a number for each channel, or one, or none for 0.
Tensor pad(const Tensor& image, const Padding& padding, std::span<const double> fill = {},
           PaddingMode mode = PaddingMode::constant);

Tensor horizontal_flip(const Tensor& image);
Tensor vertical_flip(const Tensor& image);
// The box becomes `value`, which is broadcast to [channels, height, width] of the box.
Tensor erase(const Tensor& image, const ImageBox& box, const Tensor& value);

// ---- Geometry.

struct WarpOptions {
  Interpolation interpolation = Interpolation::nearest;  // or bilinear
  std::vector<double> fill = {};                         // a number, or one for each channel
  std::optional<std::array<double, 2>> center = {};      // x and y; the middle by default
};
struct AffineMap {
  double angle = 0;  // in degrees, clockwise
  std::array<double, 2> translate = {0, 0};
  double scale = 1;
  std::array<double, 2> shear = {0, 0};  // in degrees
};
Tensor affine(const Tensor& image, const AffineMap& map, const WarpOptions& options = {});
// In degrees, counterclockwise; `expand` makes the image large enough for all of it.
Tensor rotate(const Tensor& image, double angle, const WarpOptions& options = {},
              bool expand = false);

// ---- Filters.

// The sizes of the kernel along x and y are odd; its deviations too are those along x and y.
Tensor gaussian_blur(const Tensor& image, std::array<int64_t, 2> kernel_size,
                     std::array<double, 2> sigma);
Tensor adjust_sharpness(const Tensor& image, double factor);

}  // namespace plait::data::transforms
