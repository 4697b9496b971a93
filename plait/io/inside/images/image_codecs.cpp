#include "plait/io/inside/images/image_codecs.h"

#include "plait/core/error.h"

namespace plait {

void expect_pixels(int64_t height, int64_t width, const DecodeOptions& options) {
  if (height < 1 || width < 1) throw ParseError("the image has {} x {} pixels", width, height);
  if (height <= options.most_pixels / width) return;
  throw ParseError("the image has {} x {} pixels, more than the limit of {}", width, height,
                   options.most_pixels)
      .hint("raise most_pixels if the file is trusted");
}

ImageBox crop_of(int64_t height, int64_t width, const DecodeOptions& options) {
  const ImageBox crop = options.crop.value_or(ImageBox{0, 0, height, width});
  const auto fits = [](int64_t begin, int64_t count, int64_t size) {
    return begin >= 0 && count >= 1 && begin < size && count <= size - begin;
  };
  if (!fits(crop.top, crop.height, height) || !fits(crop.left, crop.width, width)) {
    throw ValueError(
        "the crop of {} x {} pixels at row {}, column {} is not inside the image, "
        "which has {} rows and {} columns",
        crop.height, crop.width, crop.top, crop.left, height, width);
  }
  if (options.size && (options.size->height < 1 || options.size->width < 1)) {
    throw ValueError("the size is {} x {}, expected 1 x 1 or more", options.size->height,
                     options.size->width);
  }
  return crop;
}

Array cropped(const Array& pixels, const ImageBox& crop) {
  return pixels.view(pixels.layout()
                         .sliced(0, {crop.top, crop.top + crop.height})
                         .sliced(1, {crop.left, crop.left + crop.width}));
}

namespace {

// 16 bits times the weights, which sum to 65536, fit in 32 bits.
template <class Sample>
Array grey_of(const Array& from) {
  Array grey = Array::empty(from.dtype(), {from.sizes()[0], from.sizes()[1], 1});
  const Sample* rgb = from.elements<Sample>().data();
  for (Sample& each : grey.writable_elements<Sample>()) {
    constexpr uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 1 << 15;
    each = static_cast<Sample>((rgb[0] * kRed + rgb[1] * kGreen + rgb[2] * kBlue + kHalf) >> 16);
    rgb += 3;
  }
  return grey;
}

}  // namespace

Array grey_of_rgb(const Array& pixels) {
  const Array from = pixels.on_host().contiguous();
  return from.dtype() == DType::u16 ? grey_of<uint16_t>(from) : grey_of<uint8_t>(from);
}

Array rgb_of_inverted_cmyk(const Array& pixels) {
  const Array from = pixels.on_host().contiguous();
  Array result = Array::empty(DType::u8, {from.sizes()[0], from.sizes()[1], 3});
  const auto* cmyk = reinterpret_cast<const uint8_t*>(from.data());
  auto* rgb = reinterpret_cast<uint8_t*>(result.writable_data());
  for (int64_t left = from.element_count() / 4; left > 0; --left, cmyk += 4, rgb += 3) {
    for (int i = 0; i < 3; ++i) {  // the ink takes its share, rounded, of the light
      const int product = (255 - cmyk[i]) * cmyk[3] + 128;
      rgb[i] = static_cast<uint8_t>(cmyk[3] - ((product + (product >> 8)) >> 8));
    }
  }
  return result;
}

Array pixels_of_image(std::string_view format, const Array& image, int64_t least_channels,
                      int64_t most_channels, int64_t most_size) {
  if (!image) throw ValueError("{}: there is no image", format);
  if (image.dtype() != DType::u8) {
    throw TypeError("{}: the image is {}{}, expected u8", format, name_of(image.dtype()),
                    text_of_sizes(image.sizes()))
        .hint("for floats from 0 to 1: multiply by 255, round, and convert to u8");
  }
  const bool is_grey = image.rank() == 2;
  const Layout layout = is_grey ? image.layout().expanded(0) : image.layout();
  if (layout.rank() != 3 || layout.sizes[0] < least_channels || layout.sizes[0] > most_channels) {
    throw ShapeError("{}: the image is u8{}, expected [{} to {} channels, height, width]", format,
                     text_of_sizes(image.sizes()), least_channels, most_channels);
  }
  for (const int64_t size : {layout.sizes[1], layout.sizes[2]}) {
    if (size >= 1 && size <= most_size) continue;
    throw ShapeError("{}: the image is u8{}, expected 1 to {} rows and columns", format,
                     text_of_sizes(image.sizes()), most_size);
  }
  const int64_t axes[] = {1, 2, 0};
  return image.view(layout.permuted(axes)).contiguous();
}

void throw_no_library(std::string_view format, std::string_view library, std::string_view package) {
  throw IoError("this build of Plait has no {}, which {} needs", library, format)
      .hint(fmt::format("build Plait with {}: {} on Debian", library, package));
}

}  // namespace plait
