#include "plait/core/error.h"
#include "plait/io/images/encode_image.h"
#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_WEBP
#include <webp/encode.h>

namespace plait {
namespace {

// A picture, and the memory that it is written to.
struct WebpEncoder {
  WebPConfig config = {};
  WebPPicture picture = {};
  WebPMemoryWriter writer = {};

  WebpEncoder() {
    if (WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0) {
      throw IoError("libwebp has another version");
    }
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
  }
  ~WebpEncoder() {
    WebPPictureFree(&picture);
    WebPMemoryWriterClear(&writer);
  }
  WebpEncoder(const WebpEncoder&) = delete;
  WebpEncoder& operator=(const WebpEncoder&) = delete;
};

bool import(WebPPicture& picture, const Array& pixels) {
  picture.height = static_cast<int>(pixels.sizes()[0]);
  picture.width = static_cast<int>(pixels.sizes()[1]);
  const auto* data = reinterpret_cast<const uint8_t*>(pixels.data());
  const int stride = static_cast<int>(pixels.sizes()[1] * pixels.sizes()[2]);
  return pixels.sizes()[2] == 3 ? WebPPictureImportRGB(&picture, data, stride) != 0
                                : WebPPictureImportRGBA(&picture, data, stride) != 0;
}

}  // namespace

std::vector<std::byte> encode_webp(const Array& image, const WebpOptions& options) {
  const Array pixels = pixels_of_image("encode_webp", image, 3, 4, WEBP_MAX_DIMENSION);
  if (!(options.quality >= 0 && options.quality <= 100)) {
    throw ValueError("encode_webp: the quality is {}, expected 0 to 100", options.quality);
  }
  if (options.effort < 0 || options.effort > 6) {
    throw ValueError("encode_webp: the effort is {}, expected 0 to 6", options.effort);
  }
  WebpEncoder encoder;
  encoder.config.lossless = options.lossless ? 1 : 0;
  encoder.config.exact = encoder.config.lossless;  // also the colours of transparent pixels
  encoder.config.quality = static_cast<float>(options.quality);
  encoder.config.method = options.effort;
  encoder.picture.use_argb = encoder.config.lossless;
  if (!import(encoder.picture, pixels) || WebPEncode(&encoder.config, &encoder.picture) == 0) {
    if (encoder.picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY) {
      throw MemoryError("encode_webp: not enough memory");
    }
    throw ValueError("encode_webp: libwebp gave error {}",
                     static_cast<int>(encoder.picture.error_code));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(encoder.writer.mem);
  return {bytes, bytes + encoder.writer.size};
}

}  // namespace plait
#else

namespace plait {

std::vector<std::byte> encode_webp(const Array&, const WebpOptions&) {
  throw_no_library("WebP", "libwebp", "libwebp-dev");
}

}  // namespace plait
#endif
