#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

template <class Real>
std::vector<Real> gaussian(int64_t size, double sigma) {
  const double limit = static_cast<double>(size - 1) / (2 * std::numbers::sqrt2);
  std::vector<double> weights(static_cast<size_t>(size));
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const double x =
        size == 1 ? 0 : -limit + 2 * limit * static_cast<double>(i) / static_cast<double>(size - 1);
    sum += weights[static_cast<size_t>(i)] = std::exp(-(x / sigma) * (x / sigma));
  }
  std::vector<Real> scaled;
  for (const double weight : weights) scaled.push_back(static_cast<Real>(weight / sum));
  return scaled;
}

// A pixel outside is the one that is mirrored at the edge.
int64_t mirrored(int64_t i, int64_t size) {
  i = std::abs(i);
  return i < size ? i : 2 * (size - 1) - i;
}

// Sums of neighbours along one axis of a plane: `stride` between them, `size` of them.
template <class From, class Real>
void blur_rows(const From* from, int64_t height, int64_t width, const std::vector<Real>& kernel,
               Real* to) {
  const auto taps = static_cast<int64_t>(kernel.size()), half = taps / 2;
  std::vector<Real> row(static_cast<size_t>(width + taps));
  for (int64_t y = 0; y < height; ++y, from += width, to += width) {
    for (int64_t x = -half; x < width + half; ++x) {
      row[static_cast<size_t>(x + half)] = static_cast<Real>(from[mirrored(x, width)]);
    }
    std::fill_n(to, width, Real{0});
    for (int64_t k = 0; k < taps; ++k) {
      const Real weight = kernel[static_cast<size_t>(k)];
      for (int64_t x = 0; x < width; ++x) to[x] += weight * row[static_cast<size_t>(x + k)];
    }
  }
}

template <class Real, class Write>
void blur_columns(const Real* from, int64_t height, int64_t width, const std::vector<Real>& kernel,
                  Write write) {
  const auto taps = static_cast<int64_t>(kernel.size()), half = taps / 2;
  std::vector<Real> sums(static_cast<size_t>(width));
  for (int64_t y = 0; y < height; ++y) {
    std::ranges::fill(sums, Real{0});
    for (int64_t k = 0; k < taps; ++k) {
      const Real* row = from + mirrored(y + k - half, height) * width;
      const Real weight = kernel[static_cast<size_t>(k)];
      for (int64_t x = 0; x < width; ++x) sums[static_cast<size_t>(x)] += weight * row[x];
    }
    for (int64_t x = 0; x < width; ++x) write(sums[static_cast<size_t>(x)]);
  }
}

void expect_kernel(const ImageView& view, std::array<int64_t, 2> size,
                   std::array<double, 2> sigma) {
  const std::array<int64_t, 2> sides = {view.width, view.height};
  for (size_t axis = 0; axis < 2; ++axis) {
    if (size[axis] < 1 || size[axis] % 2 == 0) {
      throw ValueError("gaussian_blur: kernel_size is [{}, {}], expected odd numbers above 0",
                       size[0], size[1]);
    }
    if (!(sigma[axis] > 0)) {
      throw ValueError("gaussian_blur: sigma is [{}, {}], expected numbers above 0", sigma[0],
                       sigma[1]);
    }
    if (!view.is_empty() && size[axis] / 2 >= sides[axis]) {
      throw ValueError("gaussian_blur: kernel_size is [{}, {}], too large for the image {}",
                       size[0], size[1], text_of_sizes(view.array.sizes()))
          .hint("half of it must be less than the side of the image, which is mirrored");
    }
  }
}

// The mean of a pixel, five times, and its neighbours; then on the line from there to the pixel.
template <class T>
void sharpen(const T* from, int64_t height, int64_t width, double factor, T* to) {
  using Real = Wide<T>;
  const auto a = static_cast<Real>(1. / 13), b = static_cast<Real>(5. / 13);
  const auto share = static_cast<Real>(1 - factor);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const T* pixel = from + y * width + x;
      auto number = static_cast<Real>(*pixel);
      if (y > 0 && x > 0 && y + 1 < height && x + 1 < width) {
        Real blurred = number * b;
        for (const int64_t at : {-width - 1, -width, -width + 1, int64_t{-1}, int64_t{1}, width - 1,
                                 width, width + 1}) {
          blurred += static_cast<Real>(pixel[at]) * a;
        }
        if constexpr (std::is_same_v<T, uint8_t>) blurred = std::nearbyint(blurred);
        number += (blurred - number) * share;
      }
      *to++ = static_cast<T>(std::clamp(number, Real{0}, static_cast<Real>(kWhite<T>)));
    }
  }
}

}  // namespace

Tensor gaussian_blur(const Tensor& image, std::array<int64_t, 2> kernel_size,
                     std::array<double, 2> sigma) {
  const ImageView view = view_of("gaussian_blur", image);
  expect_kernel(view, kernel_size, sigma);
  return for_pixels(view, [&]<class T>(const ImageView& given, std::type_identity<T>) {
    using Real = Wide<T>;
    const ImageView from = dense(given);
    Array result = image_array(from, from.array.dtype(), from.channels, from.height, from.width);
    const auto rows = gaussian<Real>(kernel_size[0], sigma[0]);
    const auto columns = gaussian<Real>(kernel_size[1], sigma[1]);
    const int64_t pixels = from.height * from.width;
    std::vector<Real> between(static_cast<size_t>(pixels));
    const auto* plane = reinterpret_cast<const T*>(from.array.data());
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t i = 0; i < from.count() * from.channels && pixels > 0; ++i, plane += pixels) {
      blur_rows(plane, from.height, from.width, rows, between.data());
      blur_columns(between.data(), from.height, from.width, columns, [&to](Real number) {
        if constexpr (std::is_same_v<T, uint8_t>) number = std::nearbyint(number);
        *to++ = static_cast<T>(number);
      });
    }
    return result;
  });
}

Tensor adjust_sharpness(const Tensor& image, double factor) {
  const ImageView view = colour_view_of("adjust_sharpness", image);
  if (!(factor >= 0)) {
    throw ValueError("adjust_sharpness: the factor is {}, expected 0 or more", factor);
  }
  if (view.is_empty() || view.height <= 2 || view.width <= 2) return image;
  return for_pixels(view, [&]<class T>(const ImageView& given, std::type_identity<T>) {
    const ImageView from = dense(given);
    Array result = image_array(from, from.array.dtype(), from.channels, from.height, from.width);
    const int64_t pixels = from.height * from.width;
    const auto* plane = reinterpret_cast<const T*>(from.array.data());
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t i = 0; i < from.count() * from.channels; ++i) {
      sharpen(plane + i * pixels, from.height, from.width, factor, to + i * pixels);
    }
    return result;
  });
}

}  // namespace plait::data::transforms
