#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_kernels.h"
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

// Where the pixels of a row of the result are in the image, in pixels.
template <class Real>
class Places {
 public:
  Places(const Matrix& matrix, ImageSize from, ImageSize to)
      : columns_(centered(to.width)), rows_(centered(to.height)) {
    const std::array<int64_t, 2> sides = {from.width, from.height};
    for (size_t axis = 0; axis < 2; ++axis) {
      const Real half = static_cast<Real>(sides[axis]) / 2;
      const double* m = matrix.data() + 3 * axis;
      axes_[axis] = {{static_cast<Real>(m[0]) / half, static_cast<Real>(m[1]) / half,
                      static_cast<Real>(m[2]) / half},
                     0,
                     half};
      at_[axis].resize(columns_.size());
    }
  }
  void go_to(int64_t row) {
    for (size_t axis = 0; axis < 2; ++axis) {
      axes_[axis].row = rows_[static_cast<size_t>(row)];
      const auto count = static_cast<int64_t>(columns_.size());
      if constexpr (std::is_same_v<Real, float>) {
        kernels_.places(columns_.data(), count, axes_[axis], at_[axis].data());
      } else {
        row_places(columns_.data(), count, axes_[axis], at_[axis].data());
      }
    }
  }
  Real x(size_t column) const { return at_[0][column]; }
  Real y(size_t column) const { return at_[1][column]; }

 private:
  std::vector<float> columns_, rows_;
  std::array<AxisPlaces<Real>, 2> axes_;
  std::array<std::vector<Real>, 2> at_;
  ImageKernels kernels_ = image_kernels();
};

// The integer nearest to a number of a usual size, halves to even, and NaN and others far outside.
template <class Real>
int64_t nearest_integer(Real x) {
  constexpr Real kLimit = 1 << 22;
  if (!(x > -kLimit && x < kLimit)) return -1;
  constexpr Real kRounding = std::is_same_v<Real, float> ? 12582912 : 6755399441055744;
  return static_cast<int64_t>((x + kRounding) - kRounding);
}
template <class Real>
int64_t integer_below(Real x) {
  constexpr Real kLimit = 1 << 22;
  if (!(x > -kLimit && x < kLimit)) return -2;
  const auto cut = static_cast<int64_t>(x);
  return static_cast<Real>(cut) > x ? cut - 1 : cut;
}

constexpr int64_t kOutside = INT64_MIN;

// The address of a pixel in its plane, or kOutside.
int64_t address_of(const ImageView& view, int64_t x, int64_t y) {
  const bool is_inside = x >= 0 && x < view.width && y >= 0 && y < view.height;
  return is_inside ? y * view.row_stride + x * view.column_stride : kOutside;
}

// The pixels from which one of the result is computed, with their weights; `inside` is the sum of
// those in the image.
template <class Real>
struct Neighbours {
  std::array<int64_t, 4> addresses;
  std::array<Real, 4> weights;
  Real inside = 0;
  bool is_whole = true;
};

template <class Real>
Neighbours<Real> neighbours_at(const ImageView& view, Real px, Real py) {
  const int64_t x = integer_below(px), y = integer_below(py);
  const Real right = px - static_cast<Real>(x), left = 1 - right;
  const Real below = py - static_cast<Real>(y), above = 1 - below;
  Neighbours<Real> found{{address_of(view, x, y), address_of(view, x + 1, y),
                          address_of(view, x, y + 1), address_of(view, x + 1, y + 1)},
                         {above * left, above * right, below * left, below * right}};
  for (size_t i = 0; i < 4; ++i) {
    if (found.addresses[i] == kOutside) {
      found.is_whole = false;
    } else {
      found.inside += found.weights[i];
    }
  }
  return found;
}

template <class T>
Wide<T> sum_at(const T* plane, const Neighbours<Wide<T>>& found) {
  Wide<T> sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (!found.is_whole && found.addresses[i] == kOutside) continue;
    sum += static_cast<Wide<T>>(plane[found.addresses[i]]) * found.weights[i];
  }
  return sum;
}

template <class T>
T as_pixel(Wide<T> number) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(nearest_integer(std::clamp(number, 0.f, 255.f)));
  } else {
    return number;
  }
}

// The rows of a warped image, from those of another.
template <class T>
class Warp {
 public:
  Warp(const ImageView& from, const WarpOptions& options, int64_t width)
      : from_(from),
        options_(options),
        addresses_(static_cast<size_t>(width)),
        neighbours_(static_cast<size_t>(width)) {}

  void go_to(const Places<Wide<T>>& places) {
    for (size_t x = 0; x < addresses_.size(); ++x) {
      if (is_nearest()) {
        addresses_[x] =
            address_of(from_, nearest_integer(places.x(x)), nearest_integer(places.y(x)));
      } else {
        neighbours_[x] = neighbours_at(from_, places.x(x), places.y(x));
      }
    }
  }

  void write(int64_t image, int64_t channel, T* to) const {
    const T* plane = from_.at<T>(image, channel, 0);
    const size_t place = options_.fill.size() > 1 ? static_cast<size_t>(channel) : 0;
    const auto fill = static_cast<Wide<T>>(options_.fill.empty() ? 0 : options_.fill[place]);
    if (is_nearest()) {
      const T outside = as_pixel<T>(fill);
      for (const int64_t address : addresses_) {
        *to++ = address == kOutside ? outside : plane[address];
      }
    } else if (options_.fill.empty()) {
      for (const auto& each : neighbours_) *to++ = as_pixel<T>(sum_at(plane, each));
    } else {  // as torchvision does: a pixel that is half inside is weighted twice
      for (const auto& each : neighbours_) {
        *to++ = as_pixel<T>((sum_at(plane, each) - fill) * each.inside + fill);
      }
    }
  }

 private:
  bool is_nearest() const { return options_.interpolation == Interpolation::nearest; }

  const ImageView& from_;
  const WarpOptions& options_;
  std::vector<int64_t> addresses_;
  std::vector<Neighbours<Wide<T>>> neighbours_;
};

Tensor warped(const ImageView& view, const Matrix& matrix, ImageSize size,
              const WarpOptions& options) {
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    Places<Wide<T>> places(matrix, {from.height, from.width}, size);
    Array result = image_array(from, from.array.dtype(), from.channels, size.height, size.width);
    const int64_t plane = size.height * size.width;
    Warp<T> warp(from, options, size.width);
    for (int64_t y = 0; y < size.height; ++y) {
      places.go_to(y);
      warp.go_to(places);
      auto* to = reinterpret_cast<T*>(result.writable_data()) + y * size.width;
      for (int64_t image = 0; image < from.count(); ++image) {
        for (int64_t channel = 0; channel < from.channels; ++channel, to += plane) {
          warp.write(image, channel, to);
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
  layout = quarters == 1 ? layout.reversed(-1).transposed() : layout.transposed().reversed(-1);
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
  const bool has_pixels = view.height > 0 && view.width > 0;  // a batch of no images may be turned
  if (!has_pixels || (angle == 0 && !options.center)) return image;
  if (!options.center && std::fmod(angle, 90) == 0 &&
      (angle == 180 || expand || view.width == view.height)) {
    return turned(view.array, static_cast<int>(angle / 90));
  }
  const Matrix matrix = inverse_of({.angle = -angle}, center_of(view, options));
  const ImageSize size{view.height, view.width};
  return warped(view, matrix, expand ? expanded_size(matrix, size) : size, options);
}

}  // namespace plait::data::transforms
