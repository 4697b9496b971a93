#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

// x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5: from the pixel of the result to that of the image,
// both counted from the middle.
using Matrix = std::array<double, 6>;

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// The inverse of: rotate, scale and shear around the center, then translate.
//   R(a) S(s) H = s [cos(a - y) / cos y, -cos(a - y) tan x / cos y - sin a]
//                   [sin(a - y) / cos y, -sin(a - y) tan x / cos y + cos a]
// whose determinant is s².
Matrix inverse_of(const AffineMap& map, std::array<double, 2> center) {
  const double rotation = radians(map.angle), x = radians(map.shear[0]), y = radians(map.shear[1]);
  const double a = std::cos(rotation - y) / std::cos(y);
  const double b = -(a * std::tan(x) + std::sin(rotation));
  const double c = std::sin(rotation - y) / std::cos(y);
  const double d = std::cos(rotation) - c * std::tan(x);
  Matrix matrix = {d / map.scale, -b / map.scale, 0, -c / map.scale, a / map.scale, 0};
  const double dx = center[0] + map.translate[0], dy = center[1] + map.translate[1];
  matrix[2] += center[0] - matrix[0] * dx - matrix[1] * dy;
  matrix[5] += center[1] - matrix[3] * dx - matrix[4] * dy;
  return matrix;
}

std::array<double, 2> center_of(const ImageView& view, const WarpOptions& options) {
  if (!options.center) return {0, 0};
  return {(*options.center)[0] - static_cast<double>(view.width) * 0.5,
          (*options.center)[1] - static_cast<double>(view.height) * 0.5};
}

void expect_warp(std::string_view function, const ImageView& view, const WarpOptions& options) {
  if (options.interpolation != Interpolation::nearest &&
      options.interpolation != Interpolation::bilinear) {
    throw ValueError("{}: the interpolation is {}, expected nearest or bilinear", function,
                     name_of(options.interpolation));
  }
  if (options.fill.size() > 1 && static_cast<int64_t>(options.fill.size()) != view.channels) {
    throw ValueError("{}: fill has {} numbers, expected one or {}, one for each channel", function,
                     options.fill.size(), view.channels);
  }
}

// Numbers from -(count - 1) / 2 to (count - 1) / 2, computed from both ends as torch.linspace is.
std::vector<float> centered(int64_t count) {
  const auto first = static_cast<float>((1. - static_cast<double>(count)) * 0.5);
  const float last = -first;
  const float step = count > 1 ? (last - first) / static_cast<float>(count - 1) : 0;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    numbers[static_cast<size_t>(i)] = i < count / 2
                                          ? first + step * static_cast<float>(i)
                                          : last - step * static_cast<float>(count - 1 - i);
  }
  return numbers;
}

// Where the pixels of the result are in the image, in pixels. The steps and their order are those
// of PyTorch's grids, since with the nearest pixel the last bit decides.
template <class Real>
class Places {
 public:
  Places(const Matrix& matrix, ImageSize from, ImageSize to)
      : xs_(centered(to.width)),
        ys_(centered(to.height)),
        half_{static_cast<Real>(from.width) / 2, static_cast<Real>(from.height) / 2} {
    for (size_t i = 0; i < 6; ++i) {
      matrix_[i] = static_cast<Real>(matrix[i]) / static_cast<Real>(half_[i / 3]);
    }
  }
  std::array<Real, 2> at(int64_t y, int64_t x) const { return {along(0, y, x), along(1, y, x)}; }

 private:
  Real along(size_t axis, int64_t y, int64_t x) const {
    const Real* m = matrix_.data() + 3 * axis;
    const Real column = xs_[static_cast<size_t>(x)], row = ys_[static_cast<size_t>(y)];
    const Real sum = std::fma(row, m[1], column * m[0]) + m[2];
    return (sum + 1) * half_[axis] - static_cast<Real>(0.5);
  }

  std::vector<float> xs_, ys_;
  std::array<Real, 2> half_;
  std::array<Real, 6> matrix_;
};

// The number of a channel at a place; `inside` is the share of it that is in the image.
template <class T>
struct Sampled {
  Wide<T> number, inside;
};

template <class T>
class Plane {
 public:
  Plane(const ImageView& view, int64_t image, int64_t channel)
      : view_(view), pixels_(view.at<T>(image, channel, 0)) {}

  Sampled<T> nearest(std::array<Wide<T>, 2> place) const {
    const Wide<T> x = std::nearbyint(place[0]), y = std::nearbyint(place[1]);
    return at(x, y, 1);
  }
  Sampled<T> bilinear(std::array<Wide<T>, 2> place) const {
    const Wide<T> x = std::floor(place[0]), y = std::floor(place[1]);
    const Wide<T> right = place[0] - x, left = 1 - right, below = place[1] - y, above = 1 - below;
    Sampled<T> sum{0, 0};
    for (const Sampled<T>& each : {at(x, y, above * left), at(x + 1, y, above * right),
                                   at(x, y + 1, below * left), at(x + 1, y + 1, below * right)}) {
      sum.number += each.number;
      sum.inside += each.inside;
    }
    return sum;
  }

 private:
  Sampled<T> at(Wide<T> x, Wide<T> y, Wide<T> weight) const {
    if (!(x > -1 && x < static_cast<Wide<T>>(view_.width) && y > -1 &&
          y < static_cast<Wide<T>>(view_.height))) {
      return {0, 0};
    }
    const T pixel = pixels_[static_cast<int64_t>(y) * view_.row_stride +
                            static_cast<int64_t>(x) * view_.column_stride];
    return {static_cast<Wide<T>>(pixel) * weight, weight};
  }

  const ImageView& view_;
  const T* pixels_;
};

template <class T>
T as_pixel(Wide<T> number) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(std::nearbyint(number), 0.f, 255.f));
  } else {
    return number;
  }
}

Tensor warped(const ImageView& view, const Matrix& matrix, ImageSize size,
              const WarpOptions& options) {
  const bool is_nearest = options.interpolation == Interpolation::nearest;
  const bool is_filled = !options.fill.empty();
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    const Places<Wide<T>> places(matrix, {from.height, from.width}, size);
    Array result = image_array(from, from.array.dtype(), from.channels, size.height, size.width);
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t image = 0; image < from.count(); ++image) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const Plane<T> plane(from, image, channel);
        const size_t place = options.fill.size() > 1 ? static_cast<size_t>(channel) : 0;
        const auto fill = static_cast<Wide<T>>(is_filled ? options.fill[place] : 0);
        for (int64_t y = 0; y < size.height; ++y) {
          for (int64_t x = 0; x < size.width; ++x) {
            const auto at = places.at(y, x);
            const Sampled<T> found = is_nearest ? plane.nearest(at) : plane.bilinear(at);
            Wide<T> number = found.number;
            if (is_filled && is_nearest) {
              number = found.inside < static_cast<Wide<T>>(0.5) ? fill : number;
            } else if (is_filled) {
              number = (number - fill) * found.inside + fill;
            }
            *to++ = as_pixel<T>(number);
          }
        }
      }
    }
    return result;
  });
}

// The size that all of the rotated image needs; rounding errors must not make it larger.
ImageSize expanded_size(const Matrix& matrix, ImageSize size) {
  const auto half_width = static_cast<float>(size.width) * 0.5f;
  const auto half_height = static_cast<float>(size.height) * 0.5f;
  const auto extent = [&](size_t row, float half) {
    const auto mx = static_cast<float>(matrix[3 * row]),
               my = static_cast<float>(matrix[3 * row + 1]);
    const auto offset = static_cast<float>(matrix[3 * row + 2]);
    float least = INFINITY, most = -INFINITY;
    for (const float x : {-half_width, half_width}) {
      for (const float y : {-half_height, half_height}) {
        const float number = x * mx + y * my + offset;
        least = std::min(least, number);
        most = std::max(most, number);
      }
    }
    const auto shortened = [](float number) { return std::trunc(number * 1e4f) * 1e-4f; };
    return static_cast<int64_t>(std::ceil(shortened(most + half)) -
                                std::floor(shortened(least + half)));
  };
  return {extent(1, half_height), extent(0, half_width)};
}

// By multiples of 90 degrees, counterclockwise: a view.
Tensor turned(const Array& array, int quarters) {
  Layout layout = array.layout();
  if (quarters == 2) return Tensor(array.view(layout.reversed(-1).reversed(-2)));
  std::vector<int64_t> axes(array.rank());
  for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int64_t>(axis);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  layout = quarters == 1 ? layout.reversed(-1).permuted(axes) : layout.permuted(axes).reversed(-1);
  return Tensor(array.view(layout));
}

}  // namespace

Tensor affine(const Tensor& image, const AffineMap& map, const WarpOptions& options) {
  const ImageView view = view_of("affine", image);
  expect_warp("affine", view, options);
  if (!(map.scale > 0)) {
    throw ValueError("affine: the scale is {}, expected more than 0", map.scale);
  }
  const ImageSize size{view.height, view.width};
  if (view.is_empty()) return image;
  return warped(view, inverse_of(map, center_of(view, options)), size, options);
}

Tensor rotate(const Tensor& image, double angle, const WarpOptions& options, bool expand) {
  const ImageView view = view_of("rotate", image);
  expect_warp("rotate", view, options);
  if (!std::isfinite(angle)) throw ValueError("rotate: the angle is {}", angle);
  angle = std::fmod(angle, 360);
  if (angle < 0) angle += 360;
  if (view.is_empty() || (angle == 0 && !options.center)) return image;
  if (!options.center && std::fmod(angle, 90) == 0 &&
      (angle == 180 || expand || view.width == view.height)) {
    return turned(view.array, static_cast<int>(angle / 90));
  }
  const Matrix matrix = inverse_of({.angle = -angle}, center_of(view, options));
  const ImageSize size{view.height, view.width};
  return warped(view, matrix, expand ? expanded_size(matrix, size) : size, options);
}

}  // namespace plait::data::transforms
