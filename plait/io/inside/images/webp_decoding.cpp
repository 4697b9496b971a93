#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_WEBP
#include <webp/decode.h>

#include "plait/core/error.h"

namespace plait {
namespace {

const char* text_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "the image has a feature that libwebp does not support";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return "the file ends too early";
    default: return "the image is damaged";
  }
}

void expect_success(VP8StatusCode status) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw MemoryError("webp: {}", text_of(status));
  if (status != VP8_STATUS_OK) throw ParseError("{}", text_of(status));
}

const uint8_t* data_of(std::span<const std::byte> file) {
  return reinterpret_cast<const uint8_t*>(file.data());
}

// The header of the container has the number of bytes after it.
void expect_length(std::span<const std::byte> file) {
  constexpr size_t kHeader = 8;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length |= std::to_integer<size_t>(file[4 + i]) << (8 * i);
  }
  if (length <= file.size() - kHeader) return;
  throw ParseError("byte {}: the file ends too early, expected {} bytes", file.size(),
                   length + kHeader);
}

WebPBitstreamFeatures features_of(std::span<const std::byte> file) {
  WebPBitstreamFeatures features{};
  expect_success(WebPGetFeatures(data_of(file), file.size(), &features));
  return features;
}

// With the buffers of libwebp, if any.
struct WebpConfig {
  WebPDecoderConfig config = {};

  WebpConfig() {
    if (WebPInitDecoderConfig(&config) == 0) throw IoError("libwebp has another version");
  }
  ~WebpConfig() { WebPFreeDecBuffer(&config.output); }
  WebpConfig(const WebpConfig&) = delete;
  WebpConfig& operator=(const WebpConfig&) = delete;
};

Array decoded(std::span<const std::byte> file, int64_t height, int64_t width, bool has_alpha) {
  Array pixels = Array::empty(DType::u8, {height, width, has_alpha ? 4 : 3});
  WebpConfig decoder;
  WebPDecBuffer& output = decoder.config.output;
  output.colorspace = has_alpha ? MODE_RGBA : MODE_RGB;
  output.is_external_memory = 1;
  output.u.RGBA.rgba = reinterpret_cast<uint8_t*>(pixels.writable_data());
  output.u.RGBA.stride = static_cast<int>(pixels.layout().strides[0]);
  output.u.RGBA.size = static_cast<size_t>(pixels.element_count());
  expect_success(WebPDecode(data_of(file), file.size(), &decoder.config));
  return pixels;
}

}  // namespace

ImageInfo webp_info(std::span<const std::byte> file) {
  const WebPBitstreamFeatures features = features_of(file);
  return {.format = ImageFormat::webp,
          .height = features.height,
          .width = features.width,
          .channels = features.has_alpha != 0 ? 4 : 3};
}

Array webp_pixels(std::span<const std::byte> file, const DecodeOptions& options) {
  expect_length(file);
  const WebPBitstreamFeatures features = features_of(file);
  expect_pixels(features.height, features.width, options);
  if (features.has_animation != 0) {
    throw ParseError("the image is an animation, which is not supported");
  }
  const ImageBox crop = crop_of(features.height, features.width, options);
  const bool has_alpha = options.mode == ImageMode::rgba ||
                         (options.mode == ImageMode::unchanged && features.has_alpha != 0);
  const Array part = cropped(decoded(file, features.height, features.width, has_alpha), crop);
  return options.mode == ImageMode::grey ? grey_of_rgb(part) : part;
}

}  // namespace plait
#else

namespace plait {

ImageInfo webp_info(std::span<const std::byte>) {
  throw_no_library("WebP", "libwebp", "libwebp-dev");
}
Array webp_pixels(std::span<const std::byte>, const DecodeOptions&) {
  throw_no_library("WebP", "libwebp", "libwebp-dev");
}

}  // namespace plait
#endif
