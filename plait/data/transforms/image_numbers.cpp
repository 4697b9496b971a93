#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/data/constant_array.h"
#include "plait/data/inside/transforms/image_kernels.h"
#include "plait/data/inside/transforms/image_view.h"
#include "plait/data/transforms/image_functions.h"

namespace plait::data::transforms {
namespace {

// (x · scale - mean) · factor for each channel.
struct ChannelMap {
  float scale;
  std::vector<double> means, factors;

  float mean(int64_t channel) const { return of(means, channel); }
  float factor(int64_t channel) const { return of(factors, channel); }

 private:
  static float of(const std::vector<double>& numbers, int64_t channel) {
    return static_cast<float>(numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(channel)]);
  }
};

constexpr auto kByteScale = static_cast<float>(1. / 255);

Tensor mapped_bytes(const ImageView& view, const ChannelMap& map) {
  const ImageKernels kernels = image_kernels();
  Array result = image_array(view, DType::f32, view.channels, view.height, view.width);
  auto* to = reinterpret_cast<float*>(result.writable_data());
  const auto* end = reinterpret_cast<const uint8_t*>(view.end());
  const bool is_one_row = view.row_stride == view.width * view.column_stride;
  const int64_t rows = is_one_row ? 1 : view.height;
  const int64_t length = is_one_row ? view.width * view.height : view.width;
  for (int64_t image = 0; image < view.count() && !view.is_empty(); ++image) {
    for (int64_t channel = 0; channel < view.channels; ++channel) {
      for (int64_t y = 0; y < rows; ++y, to += length) {
        kernels.normalized(view.at<uint8_t>(image, channel, y), view.column_stride, length, end,
                           map.scale, map.mean(channel), map.factor(channel), to);
      }
    }
  }
  return Tensor(std::move(result));
}

ChannelMap channel_map(const ImageView& view, std::span<const double> mean,
                       std::span<const double> deviation) {
  for (const auto& [name, numbers] : {std::pair("mean", mean), std::pair("std", deviation)}) {
    if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != view.channels) {
      throw ShapeError("normalize: {} has {} numbers, but the image {} has {} channels", name,
                       numbers.size(), text_of_sizes(view.array.sizes()), view.channels);
    }
  }
  ChannelMap map{kByteScale, {mean.begin(), mean.end()}, {}};
  for (const double each : deviation) {
    if (each == 0) throw ValueError("normalize: std is 0 for a channel, by which it divides");
    map.factors.push_back(1 / each);
  }
  return map;
}

bool has_integers(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16 || dtype == DType::u16 ||
         dtype == DType::i32 || dtype == DType::i64;
}

bool has_floats(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

int value_bits(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  return dtype == DType::u8 || dtype == DType::u16 ? bits : bits - 1;
}

double greatest(DType dtype) { return std::ldexp(1., value_bits(dtype)) - 1; }

template <class From, class To, class F>
Array each_number(const Array& from, F function) {
  const Array dense_from = from.contiguous();
  Array to = Array::empty(kDTypeOf<To>, from.sizes());
  const auto numbers = dense_from.elements<From>();
  std::ranges::transform(numbers, to.writable_elements<To>().begin(), function);
  return to;
}

// Shifts, so that the greatest number becomes about the greatest number.
Array scaled_integers(const Array& from, DType dtype) {
  const int shift = value_bits(dtype) - value_bits(from.dtype());
  return each_number<int64_t, int64_t>(
             from.converted(DType::i64),
             [shift](int64_t x) { return shift > 0 ? x * (int64_t{1} << shift) : x >> -shift; })
      .converted(dtype);
}

// 1 becomes the greatest integer, and each integer has the same share of the numbers below.
Array integers_of_floats(const Array& from, DType dtype) {
  const bool is_wide = from.dtype() == DType::f64;
  if ((dtype == DType::i32 && !is_wide) || dtype == DType::i64) {
    throw TypeError("to_dtype: {} has too few digits for the range of {}", name_of(from.dtype()),
                    name_of(dtype))
        .hint("scale to u8 or i16");
  }
  const double most = greatest(dtype);
  if (is_wide) {
    return each_number<double, double>(
               from,
               [most](double x) { return std::clamp(std::trunc(x * (most + 1 - 1e-3)), 0., most); })
        .converted(dtype);
  }
  const auto factor = static_cast<float>(most + 1 - 1e-3);
  return each_number<float, float>(from.converted(DType::f32),
                                   [factor, top = static_cast<float>(most)](float x) {
                                     return std::clamp(std::trunc(x * factor), 0.f, top);
                                   })
      .converted(dtype);
}

Array floats_of_integers(const Array& from, DType dtype) {
  const double scale = 1 / greatest(from.dtype());
  if (dtype == DType::f64) {
    return each_number<double, double>(from.converted(DType::f64),
                                       [scale](double x) { return x * scale; });
  }
  const auto narrow = static_cast<float>(scale);
  return each_number<float, float>(from.converted(DType::f32),
                                   [narrow](float x) { return x * narrow; })
      .converted(dtype);
}

}  // namespace

Tensor to_dtype(const Tensor& image, DType dtype, bool scale) {
  const Array& array = constant_array("to_dtype", image);
  const bool from_integer = has_integers(array.dtype()), to_integer = has_integers(dtype);
  if ((!from_integer && !has_floats(array.dtype())) || (!to_integer && !has_floats(dtype))) {
    throw TypeError("to_dtype: {}{} as {}, expected integers or floats", name_of(array.dtype()),
                    text_of_sizes(array.sizes()), name_of(dtype));
  }
  if (array.dtype() == dtype) return image;
  if (array.dtype() == DType::u8 && dtype == DType::f32 && array.rank() >= 3) {
    const float factor = scale ? kByteScale : 1.f;
    return mapped_bytes(view_of("to_dtype", image), {factor, {0}, {1}});
  }
  if (!scale || (!from_integer && !to_integer)) return Tensor(array.converted(dtype));
  if (from_integer && to_integer) return Tensor(scaled_integers(array, dtype));
  return Tensor(to_integer ? integers_of_floats(array, dtype) : floats_of_integers(array, dtype));
}

Tensor normalize(const Tensor& image, std::span<const double> mean,
                 std::span<const double> deviation) {
  const ImageView view = view_of("normalize", image);
  if (!has_floats(view.array.dtype())) {
    throw TypeError("normalize: the image is {}{}, expected floats", name_of(view.array.dtype()),
                    text_of_sizes(view.array.sizes()))
        .hint("convert it before: ToDtype, of f32 and with scale");
  }
  const ChannelMap map = channel_map(view, mean, deviation);
  return for_pixels(view, [&]<class T>(const ImageView& from, std::type_identity<T>) {
    Array result = image_array(from, from.array.dtype(), from.channels, from.height, from.width);
    auto* to = reinterpret_cast<T*>(result.writable_data());
    for (int64_t number = 0; number < from.count(); ++number) {
      for (int64_t channel = 0; channel < from.channels; ++channel) {
        const size_t place = static_cast<size_t>(channel);
        const auto center = static_cast<T>(map.means[map.means.size() == 1 ? 0 : place]);
        const auto factor = static_cast<T>(map.factors[map.factors.size() == 1 ? 0 : place]);
        for (int64_t y = 0; y < from.height; ++y, to += from.width) {
          const T* row = from.at<T>(number, channel, y);
          for (int64_t x = 0; x < from.width; ++x) {
            to[x] = static_cast<T>((row[x * from.column_stride] - center) * factor);
          }
        }
      }
    }
    return result;
  });
}

Tensor scaled_and_normalized(const Tensor& image, std::span<const double> mean,
                             std::span<const double> deviation) {
  if (image.array().dtype() != DType::u8) {
    return normalize(to_dtype(image, DType::f32, true), mean, deviation);
  }
  const ImageView view = view_of("normalize", image);
  return mapped_bytes(view, channel_map(view, mean, deviation));
}

Tensor to_image(const Tensor& pixels) {
  const Array& array = constant_array("to_image", pixels);
  if (array.rank() == 2) return Tensor(array.view(array.layout().expanded(0)));
  if (array.rank() == 3) {
    return Tensor(array.view(array.layout().permuted(std::vector<int64_t>{2, 0, 1})));
  }
  throw ShapeError("to_image: the array is {}, expected [height, width, channels]",
                   text_of_sizes(array.sizes()));
}

}  // namespace plait::data::transforms
