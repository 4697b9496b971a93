#include "plait/data/transforms/color_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "plait/core/error.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

template <class T>
T limited(Wide<T> number) {
  return static_cast<T>(std::clamp(number, Wide<T>{0}, static_cast<Wide<T>>(kWhite<T>)));
}

// `image_function(from, to, pixels)` for each image, whose channels have that many pixels.
template <class ForEach>
Tensor each_image(const ImageView& view, int64_t channels, ForEach image_function) {
  return for_pixels(view, [&]<class T>(const ImageView& given, std::type_identity<T>) {
    const ImageView from = dense(given);
    Array result = image_array(from, from.array.dtype(), channels, from.height, from.width);
    const int64_t pixels = from.height * from.width;
    const auto* image = reinterpret_cast<const T*>(from.array.data());
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t i = 0; i < from.count() && pixels > 0; ++i) {
      image_function(image + i * from.channels * pixels, to + i * channels * pixels, pixels);
    }
    return result;
  });
}

template <class Function>
Tensor each_channel(const ImageView& view, Function function) {
  return each_image(view, view.channels, [&]<class T>(const T* from, T* to, int64_t pixels) {
    for (int64_t c = 0; c < view.channels; ++c)
      function(from + c * pixels, to + c * pixels, pixels);
  });
}

template <class Function>
Tensor each_pixel(const ImageView& view, Function function) {
  return each_channel(view, [&]<class T>(const T* from, T* to, int64_t pixels) {
    for (int64_t i = 0; i < pixels; ++i) to[i] = function(from[i]);
  });
}

template <class T>
Wide<T> grey(const T* pixel, int64_t pixels) {
  using Real = Wide<T>;
  const Real red = static_cast<Real>(pixel[0]) * static_cast<Real>(0.2989);
  const Real yellow = red + static_cast<Real>(pixel[pixels]) * static_cast<Real>(0.587);
  return yellow + static_cast<Real>(pixel[2 * pixels]) * static_cast<Real>(0.114);
}
// The same without its fraction, for bytes.
template <class T>
Wide<T> grey_step(const T* pixel, int64_t pixels) {
  return std::is_same_v<T, uint8_t> ? std::floor(grey(pixel, pixels)) : grey(pixel, pixels);
}

void expect_factor(std::string_view function, double factor, double least = 0,
                   double most = INFINITY) {
  if (factor >= least && factor <= most) return;
  if (most == INFINITY) {
    throw ValueError("{}: the factor is {}, expected {} or more", function, factor, least);
  }
  throw ValueError("{}: the factor is {}, expected {} to {}", function, factor, least, most);
}

template <class T>
T blended(T pixel, Wide<T> other, double factor) {
  const auto own = static_cast<Wide<T>>(factor), rest = static_cast<Wide<T>>(1 - factor);
  return limited<T>(static_cast<Wide<T>>(pixel) * own + other * rest);
}

// ---- Hue. Colours as numbers from 0 to 1.

template <class Real>
struct Hsv {
  Real hue, saturation, value;
};

template <class Real>
Hsv<Real> hsv_of(Real r, Real g, Real b) {
  const Real most = std::max({r, g, b}), least = std::min({r, g, b}), range = most - least;
  if (range == 0) return {0, 0, most};
  const Real red = (most - r) / range, green = (most - g) / range, blue = (most - b) / range;
  const Real sixth = most == r ? blue - green : most == g ? 2 + red - blue : 4 + green - red;
  return {std::fmod(sixth * static_cast<Real>(1. / 6) + 1, Real{1}), range / most, most};
}

template <class Real>
std::array<Real, 3> rgb_of(const Hsv<Real>& color) {
  const Real sixths = color.hue * 6, sector = std::floor(sixths), f = sixths - sector;
  const auto part = [&](Real x) { return std::clamp(x * color.value, Real{0}, Real{1}); };
  const Real p = part(1 - color.saturation), q = part(1 - color.saturation * f);
  const Real t = part(color.saturation * f + (1 - color.saturation)), v = color.value;
  switch (static_cast<int>(sector) % 6) {
    case 0: return {v, t, p};
    case 1: return {q, v, p};
    case 2: return {p, v, t};
    case 3: return {p, q, v};
    case 4: return {t, p, v};
    default: return {v, p, q};
  }
}

template <class T>
T from_unit(Wide<T> number) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(std::clamp(number * (256 - 1e-3f), 0.f, 255.f));
  } else {
    return number;
  }
}

template <class T>
void turn_hue(const T* from, T* to, int64_t pixels, double factor) {
  using Real = Wide<T>;
  const auto unit = static_cast<Real>(1 / kWhite<T>), turn = static_cast<Real>(factor);
  for (int64_t i = 0; i < pixels; ++i) {
    auto color =
        hsv_of(static_cast<Real>(from[i]) * unit, static_cast<Real>(from[i + pixels]) * unit,
               static_cast<Real>(from[i + 2 * pixels]) * unit);
    const Real hue = color.hue + turn;
    color.hue = hue - std::floor(hue);
    const std::array<Real, 3> rgb = rgb_of(color);
    for (int64_t c = 0; c < 3; ++c) to[i + c * pixels] = from_unit<T>(rgb[static_cast<size_t>(c)]);
  }
}

// ---- Histograms.

using ByteTable = std::array<uint8_t, 256>;

// Pillow's: steps of about as many pixels, without those of the greatest number.
ByteTable equalizing(const std::array<int64_t, 256>& histogram, int64_t pixels) {
  size_t last = 255;
  while (last > 0 && histogram[last] == 0) --last;
  const int64_t step = (pixels - histogram[last]) / 255;
  ByteTable table;
  int64_t sum = step / 2;
  for (size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(step == 0 ? static_cast<int64_t>(i)
                                              : std::min<int64_t>(sum / step, 255));
    sum += histogram[i];
  }
  return table;
}

void equalize_bytes(const uint8_t* from, uint8_t* to, int64_t pixels) {
  std::array<int64_t, 256> histogram{};
  for (int64_t i = 0; i < pixels; ++i) ++histogram[from[i]];
  const ByteTable table = equalizing(histogram, pixels);
  for (int64_t i = 0; i < pixels; ++i) to[i] = table[from[i]];
}

}  // namespace

Tensor rgb_to_grayscale(const Tensor& image, int64_t channels) {
  const ImageView view = colour_view_of("rgb_to_grayscale", image);
  if (channels != 1 && channels != 3) {
    throw ValueError("rgb_to_grayscale: num_output_channels is {}, expected 1 or 3", channels);
  }
  if (view.channels == channels && channels == 1) return image;
  return each_image(view, channels, [&]<class T>(const T* from, T* to, int64_t pixels) {
    if (view.channels == 1) {
      std::copy_n(from, pixels, to);
    } else {
      for (int64_t i = 0; i < pixels; ++i) to[i] = static_cast<T>(grey(from + i, pixels));
    }
    for (int64_t c = 1; c < channels; ++c) std::copy_n(to, pixels, to + c * pixels);
  });
}

Tensor adjust_brightness(const Tensor& image, double factor) {
  const ImageView view = colour_view_of("adjust_brightness", image);
  expect_factor("adjust_brightness", factor);
  return each_pixel(view, [factor]<class T>(T x) {
    return limited<T>(static_cast<Wide<T>>(x) * static_cast<Wide<T>>(factor));
  });
}

Tensor adjust_contrast(const Tensor& image, double factor) {
  const ImageView view = colour_view_of("adjust_contrast", image);
  expect_factor("adjust_contrast", factor);
  return each_image(view, view.channels, [&]<class T>(const T* from, T* to, int64_t pixels) {
    double sum = 0;
    for (int64_t i = 0; i < pixels; ++i) {
      sum += static_cast<double>(view.channels == 1 ? static_cast<Wide<T>>(from[i])
                                                    : grey_step(from + i, pixels));
    }
    const auto mean = static_cast<Wide<T>>(sum / static_cast<double>(pixels));
    for (int64_t i = 0; i < view.channels * pixels; ++i) to[i] = blended(from[i], mean, factor);
  });
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  const ImageView view = colour_view_of("adjust_saturation", image);
  expect_factor("adjust_saturation", factor);
  if (view.channels == 1) return image;
  return each_image(view, 3, [&]<class T>(const T* from, T* to, int64_t pixels) {
    for (int64_t i = 0; i < pixels; ++i) {
      const auto other = grey_step(from + i, pixels);
      for (int64_t c = 0; c < 3; ++c) {
        to[i + c * pixels] = blended(from[i + c * pixels], other, factor);
      }
    }
  });
}

Tensor adjust_hue(const Tensor& image, double factor) {
  const ImageView view = colour_view_of("adjust_hue", image);
  expect_factor("adjust_hue", factor, -0.5, 0.5);
  if (view.channels == 1) return image;
  return each_image(view, 3, [&]<class T>(const T* from, T* to, int64_t pixels) {
    turn_hue(from, to, pixels, factor);
  });
}

Tensor invert(const Tensor& image) {
  return each_pixel(view_of("invert", image),
                    []<class T>(T x) { return static_cast<T>(static_cast<T>(kWhite<T>) - x); });
}

Tensor posterize(const Tensor& image, int64_t bits) {
  const ImageView view = view_of("posterize", image);
  if (bits < 0 || bits > 8) throw ValueError("posterize: bits is {}, expected 0 to 8", bits);
  return each_pixel(view, [bits]<class T>(T x) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      return static_cast<uint8_t>(x & (((1 << bits) - 1) << (8 - bits)));
    } else {
      const auto levels = static_cast<T>(1 << bits);
      return std::clamp(std::floor(x * levels), T{0}, levels - 1) * (1 / levels);
    }
  });
}

Tensor solarize(const Tensor& image, double threshold) {
  const ImageView view = view_of("solarize", image);
  const double most = view.array.dtype() == DType::u8 ? 255 : 1;
  if (!(threshold <= most)) {
    throw ValueError("solarize: the threshold is {}, expected {} at most for images of {}",
                     threshold, most, name_of(view.array.dtype()));
  }
  return each_pixel(view, [threshold]<class T>(T x) {
    const bool is_inverted = static_cast<Wide<T>>(x) >= static_cast<Wide<T>>(threshold);
    return is_inverted ? static_cast<T>(static_cast<T>(kWhite<T>) - x) : x;
  });
}

Tensor autocontrast(const Tensor& image) {
  return each_channel(
      colour_view_of("autocontrast", image), []<class T>(const T* from, T* to, int64_t pixels) {
        using Real = Wide<T>;
        const auto [low, high] = std::minmax_element(from, from + pixels);
        const auto least = static_cast<Real>(*low), most = static_cast<Real>(*high);
        const bool is_flat = least == most;
        const Real bound = static_cast<Real>(kWhite<T>);
        const Real start = is_flat ? 0 : least;
        const Real inverse = is_flat ? 1 : (most - least) * static_cast<Real>(1 / kWhite<T>);
        for (int64_t i = 0; i < pixels; ++i) {
          to[i] = static_cast<T>(
              std::clamp((static_cast<Real>(from[i]) - start) / inverse, Real{0}, bound));
        }
      });
}

Tensor equalize(const Tensor& image) {
  const ImageView view = view_of("equalize", image);
  if (view.array.dtype() != DType::u8) {
    const Tensor bytes = equalize(to_dtype(image, DType::u8, true));
    return to_dtype(bytes, view.array.dtype(), true);
  }
  return each_channel(view, []<class T>(const T* from, T* to, int64_t pixels) {
    if constexpr (std::is_same_v<T, uint8_t>) equalize_bytes(from, to, pixels);
  });
}

}  // namespace plait::data::transforms
