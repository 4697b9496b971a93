#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_PNG
#include <bit>
#include <cstring>

#include "plait/core/error.h"
#include "plait/io/inside/deflate.h"
#include "plait/io/inside/images/png_library.h"

namespace plait {
namespace {

class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::byte> file) : file_(file) {
    state_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, escape_png, ignore_warning);
    if (state_ != nullptr) info_ = png_create_info_struct(state_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&state_, nullptr, nullptr);
      throw MemoryError("not enough memory for a PNG decoder");
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&state_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // The work calls libpng, and has nothing that is to be destroyed: it may not return.
  template <class Work>
  void run(const Work& work) {
    if (!completes(errors_, work)) throw ParseError("byte {}: {}", position_, errors_.text);
  }

  void read_header() {
    run([this] {
      png_set_read_fn(state_, this, read);
      png_set_user_limits(state_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // all sizes of the format
      png_set_option(state_, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
      // Texts and profiles change no pixels.
      png_set_keep_unknown_chunks(state_, PNG_HANDLE_CHUNK_NEVER,
                                  reinterpret_cast<png_const_bytep>("iCCP\0iTXt\0tEXt\0zTXt"), 4);
      png_read_info(state_, info_);
    });
  }

  png_structp state() const { return state_; }
  png_infop info() const { return info_; }
  int64_t height() const { return png_get_image_height(state_, info_); }
  int64_t width() const { return png_get_image_width(state_, info_); }
  int colour_type() const { return png_get_color_type(state_, info_); }
  bool has_alpha() const {
    const bool has_transparent_colours = png_get_valid(state_, info_, PNG_INFO_tRNS) != 0;
    return (colour_type() & PNG_COLOR_MASK_ALPHA) != 0 || has_transparent_colours;
  }
  bool has_colours() const { return (colour_type() & PNG_COLOR_MASK_COLOR) != 0; }

 private:
  static void read(png_structp state, png_bytep into, size_t count) {
    auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(state));
    if (count > self.file_.size() - self.position_) png_error(state, "the file ends too early");
    std::memcpy(into, self.file_.data() + self.position_, count);
    self.position_ += count;
  }

  std::span<const std::byte> file_;
  size_t position_ = 0;
  PngErrors errors_;
  png_structp state_ = nullptr;
  png_infop info_ = nullptr;
};

// The pixels before compression are at most so many times as large.
void expect_rows(const PngDecoder& decoder, size_t file_bytes) {
  const uint64_t row = png_get_rowbytes(decoder.state(), decoder.info());
  const auto height = static_cast<uint64_t>(decoder.height());
  if (height <= file_bytes * kMostInflation / row) return;
  throw ParseError("byte {}: the file ends, too early for {} x {} pixels", file_bytes,
                   decoder.width(), decoder.height());
}

struct PngChannels {
  bool has_colours, has_alpha;

  int64_t count() const { return (has_colours ? 3 : 1) + (has_alpha ? 1 : 0); }
};

// Grey is computed from colours afterwards.
PngChannels channels_for(const PngDecoder& decoder, ImageMode mode) {
  switch (mode) {
    case ImageMode::unchanged: return {decoder.has_colours(), decoder.has_alpha()};
    case ImageMode::grey: return {decoder.has_colours(), false};
    case ImageMode::rgb: return {true, false};
    default: return {true, true};
  }
}

bool keeps_16_bits(const PngDecoder& decoder, const DecodeOptions& options) {
  return options.keep_16_bits && png_get_bit_depth(decoder.state(), decoder.info()) == 16;
}

// To samples of the dtype, u8 or u16.
void convert_to(PngDecoder& decoder, const PngChannels& channels, DType dtype) {
  const bool has_alpha = decoder.has_alpha(), is_wide = dtype == DType::u16;
  const png_uint_32 opaque = is_wide ? 0xFFFF : 0xFF;
  decoder.run([&] {
    png_structp state = decoder.state();
    png_set_expand(state);  // palettes and small samples to bytes, transparent colours to alpha
    if (!is_wide) png_set_strip_16(state);
    if (is_wide && std::endian::native == std::endian::little) png_set_swap(state);
    if (channels.has_colours) png_set_gray_to_rgb(state);
    if (!channels.has_alpha) png_set_strip_alpha(state);
    if (channels.has_alpha && !has_alpha) {
      png_set_add_alpha(state, opaque, PNG_FILLER_AFTER);
    }
    png_set_interlace_handling(state);
    png_read_update_info(state, decoder.info());
  });
}

void read_rows(PngDecoder& decoder, Array& pixels, int passes) {
  auto* first = reinterpret_cast<png_bytep>(pixels.writable_data());
  const int64_t stride = pixels.layout().strides[0] * size_of(pixels.dtype()),
                height = pixels.sizes()[0];
  decoder.run([&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < height; ++y) {
        png_read_row(decoder.state(), first + y * stride, nullptr);
      }
    }
    png_read_end(decoder.state(), nullptr);
  });
}

}  // namespace

ImageInfo png_info(std::span<const std::byte> file) {
  PngDecoder decoder(file);
  decoder.read_header();
  return {.format = ImageFormat::png,
          .height = decoder.height(),
          .width = decoder.width(),
          .channels = channels_for(decoder, ImageMode::unchanged).count()};
}

Array png_pixels(std::span<const std::byte> file, const DecodeOptions& options) {
  PngDecoder decoder(file);
  decoder.read_header();
  expect_pixels(decoder.height(), decoder.width(), options);
  expect_rows(decoder, file.size());
  const ImageBox crop = crop_of(decoder.height(), decoder.width(), options);
  const PngChannels channels = channels_for(decoder, options.mode);
  constexpr int kPassesOfAdam7 = 7;
  const bool is_interlaced =
      png_get_interlace_type(decoder.state(), decoder.info()) != PNG_INTERLACE_NONE;
  const DType dtype = keeps_16_bits(decoder, options) ? DType::u16 : DType::u8;
  convert_to(decoder, channels, dtype);
  const size_t row_bytes = png_get_rowbytes(decoder.state(), decoder.info());
  if (row_bytes != static_cast<size_t>(decoder.width() * channels.count() * size_of(dtype))) {
    throw ParseError("the rows have {} bytes, expected {} pixels of {} samples", row_bytes,
                     decoder.width(), channels.count());
  }
  Array pixels = Array::empty(dtype, {decoder.height(), decoder.width(), channels.count()});
  read_rows(decoder, pixels, is_interlaced ? kPassesOfAdam7 : 1);
  const Array part = cropped(pixels, crop);
  return options.mode == ImageMode::grey && channels.has_colours ? grey_of_rgb(part) : part;
}

}  // namespace plait
#else

namespace plait {

ImageInfo png_info(std::span<const std::byte>) { throw_no_library("PNG", "libpng", "libpng-dev"); }
Array png_pixels(std::span<const std::byte>, const DecodeOptions&) {
  throw_no_library("PNG", "libpng", "libpng-dev");
}

}  // namespace plait
#endif
