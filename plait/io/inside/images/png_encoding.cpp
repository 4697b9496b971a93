#include "plait/core/error.h"
#include "plait/io/images/encode_image.h"
#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_PNG
#include <new>

#include "plait/io/inside/images/png_library.h"

namespace plait {
namespace {

constexpr int64_t kMostPngSize = INT32_MAX;

struct PngEncoder {
  PngErrors errors;
  std::vector<std::byte> bytes;
  png_structp state = nullptr;
  png_infop info = nullptr;

  PngEncoder() {
    state = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors, escape_png, ignore_warning);
    if (state != nullptr) info = png_create_info_struct(state);
  }
  ~PngEncoder() { png_destroy_write_struct(&state, &info); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  bool keep(png_bytep from, size_t count) noexcept {
    const auto* begin = reinterpret_cast<const std::byte*>(from);
    try {
      bytes.insert(bytes.end(), begin, begin + count);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  static void write(png_structp state, png_bytep from, size_t count) {
    auto& self = *static_cast<PngEncoder*>(png_get_io_ptr(state));
    if (!self.keep(from, count)) png_error(state, "not enough memory");
  }
  static void flush(png_structp) {}
};

void write_pixels(PngEncoder& encoder, const Array& pixels, int compression) {
  constexpr int kColourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  constexpr int kBitDepth = 8;
  const auto height = static_cast<png_uint_32>(pixels.sizes()[0]);
  const auto width = static_cast<png_uint_32>(pixels.sizes()[1]);
  const int64_t channels = pixels.sizes()[2];
  png_structp state = encoder.state;
  png_set_user_limits(state, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_write_fn(state, &encoder, PngEncoder::write, PngEncoder::flush);
  png_set_compression_level(state, compression);
  png_set_IHDR(state, encoder.info, width, height, kBitDepth, kColourTypes[channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(state, encoder.info);
  const auto* row = reinterpret_cast<png_const_bytep>(pixels.data());
  for (png_uint_32 y = 0; y < height; ++y, row += width * channels) png_write_row(state, row);
  png_write_end(state, nullptr);
}

}  // namespace

std::vector<std::byte> encode_png(const Array& image, const PngOptions& options) {
  const Array pixels = pixels_of_image("encode_png", image, 1, 4, kMostPngSize);
  if (options.compression < 0 || options.compression > 9) {
    throw ValueError("encode_png: the compression is {}, expected 0 to 9", options.compression);
  }
  PngEncoder encoder;
  if (encoder.info == nullptr) throw MemoryError("encode_png: not enough memory");
  const bool is_done =
      completes(encoder.errors, [&] { write_pixels(encoder, pixels, options.compression); });
  if (!is_done) throw MemoryError("encode_png: {}", encoder.errors.text);
  return std::move(encoder.bytes);
}

}  // namespace plait
#else

namespace plait {

std::vector<std::byte> encode_png(const Array&, const PngOptions&) {
  throw_no_library("PNG", "libpng", "libpng-dev");
}

}  // namespace plait
#endif
