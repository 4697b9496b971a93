#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_JPEG
#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "plait/core/error.h"
#include "plait/io/inside/images/jpeg_errors.h"

namespace plait {
namespace {

// A scan may add little to many blocks, so a small file could take hours. As many as jpegtran
// takes.
constexpr int kMostScans = 100;
constexpr JDIMENSION kRowBatch = 16;

// Freed also when the constructor of its decoder throws.
struct JpegState : jpeg_decompress_struct {
  JpegState() : jpeg_decompress_struct{} {}
  ~JpegState() { jpeg_destroy_decompress(this); }
  JpegState(const JpegState&) = delete;
  JpegState& operator=(const JpegState&) = delete;
};

class JpegDecoder {
 public:
  JpegDecoder(std::span<const std::byte> file, bool accepts_damage) : file_(file) {
    errors_.accepts_damage = accepts_damage;
    state_.err = errors_.begin();
    progress_.progress_monitor = limit_scans;
    run([this] {
      jpeg_create_decompress(&state_);
      state_.progress = &progress_;
      jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(file_.data()), file_.size());
      jpeg_read_header(&state_, TRUE);
    });
  }
  // The work calls libjpeg, and has nothing that is to be destroyed: it may not return.
  template <class Work>
  void run(const Work& work) {
    if (!completes(errors_, work)) throw ParseError("byte {}: {}", position(), errors_.text);
  }
  jpeg_decompress_struct& state() { return state_; }

 private:
  static void limit_scans(j_common_ptr state) {
    if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number > kMostScans) {
      escape_jpeg(state, "the image has too many scans");
    }
  }
  size_t position() const {
    const auto* at = state_.src == nullptr
                         ? nullptr
                         : reinterpret_cast<const std::byte*>(state_.src->next_input_byte);
    const std::byte *begin = file_.data(), *end = begin + file_.size();
    const std::less<> before;
    if (at == nullptr || before(at, begin) || before(end, at)) return file_.size();
    return static_cast<size_t>(at - begin);
  }

  std::span<const std::byte> file_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_ = {};
  JpegState state_;
};

// Each block of a scan takes a bit or more, except in arithmetic coding.
void expect_blocks(const jpeg_decompress_struct& state, size_t file_bytes) {
  if (state.arith_code) return;
  const auto blocks_along = [](JDIMENSION size, int factor) {
    const int64_t block = int64_t{DCTSIZE} * factor;
    return (size + block - 1) / block;
  };
  const int64_t blocks = blocks_along(state.image_width, state.max_h_samp_factor) *
                         blocks_along(state.image_height, state.max_v_samp_factor);
  if (blocks / 8 <= static_cast<int64_t>(file_bytes)) return;
  throw ParseError("byte {}: the file ends, too early for {} x {} pixels", file_bytes,
                   state.image_width, state.image_height);
}

// Returns the channels that libjpeg decodes to.
int choose_colours(jpeg_decompress_struct& state, ImageMode mode) {
  if (state.num_components == 4) {
    state.out_color_space = JCS_CMYK;
    return 4;
  }
  if (state.num_components != 1 && state.num_components != 3) {
    throw ParseError("the image has {} components, expected 1, 3 or 4", state.num_components);
  }
  if (mode == ImageMode::unchanged) {
    mode = state.num_components == 1 ? ImageMode::grey : ImageMode::rgb;
  }
  state.out_color_space = mode == ImageMode::grey   ? JCS_GRAYSCALE
                          : mode == ImageMode::rgba ? JCS_EXT_RGBA
                                                    : JCS_RGB;
  return mode == ImageMode::grey ? 1 : mode == ImageMode::rgba ? 4 : 3;
}

Array rgba_of_rgb(const Array& pixels) {
  Array result = Array::filled(DType::u8, {pixels.sizes()[0], pixels.sizes()[1], 4},
                               Element::of_unsigned(255));
  Array colours = result.view(result.layout().sliced(2, {0, 3}));
  copy_elements(pixels, colours);
  return result;
}

Array from_cmyk(const Array& cmyk, ImageMode mode) {
  const Array rgb = rgb_of_inverted_cmyk(cmyk);
  if (mode == ImageMode::grey) return grey_of_rgb(rgb);
  return mode == ImageMode::rgba ? rgba_of_rgb(rgb) : rgb;
}

// ---- Scales. All in eighths.

int64_t rounded(int64_t x, int scale) { return (x * scale + DCTSIZE / 2) / DCTSIZE; }

// The smallest scale at which the crop has the size, or more. libjpeg has no vector code for the
// scales between these: they take as long as the next larger one.
int scale_for(const ImageBox& crop, const std::optional<ImageSize>& size) {
  if (!size) return DCTSIZE;
  for (const int scale : {1, 2, 4}) {
    const auto reaches = [&](int64_t begin, int64_t count, int64_t wanted) {
      return rounded(begin + count, scale) - rounded(begin, scale) >= wanted;
    };
    if (reaches(crop.top, crop.height, size->height) &&
        reaches(crop.left, crop.width, size->width)) {
      return scale;
    }
  }
  return DCTSIZE;
}

// A crop in pixels of a scale: its edges are rounded, and it has one pixel or more.
ImageBox scaled(const ImageBox& crop, int scale, const jpeg_decompress_struct& state) {
  const auto part = [&](int64_t begin, int64_t count, int64_t most) {
    const int64_t first = std::min(rounded(begin, scale), most - 1);
    const int64_t end = std::clamp(rounded(begin + count, scale), first + 1, most);
    return std::pair(first, end - first);
  };
  const auto [top, height] = part(crop.top, crop.height, state.output_height);
  const auto [left, width] = part(crop.left, crop.width, state.output_width);
  return {top, left, height, width};
}

// ---- Pixels.

// True if libjpeg smooths over the edges of blocks, since scans of a progressive image are missing:
// then a block depends on those around it.
bool smooths_blocks(const jpeg_decompress_struct& state) {
  if (!state.do_block_smoothing || !state.progressive_mode || state.coef_bits == nullptr) {
    return false;
  }
  constexpr int kSmoothed = 10;  // the first coefficients in zigzag order
  for (int component = 0; component < state.num_components; ++component) {
    const int* unknown_bits = state.coef_bits[component];
    if (std::any_of(unknown_bits + 1, unknown_bits + kSmoothed,
                    [](int bits) { return bits != 0; })) {
      return true;
    }
  }
  return false;
}

// Limits the columns that are decoded to the blocks of a crop, and returns the first column. The
// colours of a pixel depend on its neighbours'.
int64_t choose_columns(JpegDecoder& decoder, const ImageBox& crop) {
  constexpr int64_t kNeighbours = 2;
  jpeg_decompress_struct& state = decoder.state();
  const int64_t begin = std::max<int64_t>(0, crop.left - kNeighbours);
  const int64_t end = std::min<int64_t>(state.output_width, crop.left + crop.width + kNeighbours);
  if (end - begin == state.output_width || smooths_blocks(state)) return 0;
  auto first = static_cast<JDIMENSION>(begin);
  auto count = static_cast<JDIMENSION>(end - begin);
  decoder.run([&] { jpeg_crop_scanline(&state, &first, &count); });
  return first;
}

void read_rows(JpegDecoder& decoder, Array& pixels) {
  auto* row = reinterpret_cast<JSAMPLE*>(pixels.writable_data());
  const int64_t stride = pixels.layout().strides[0];
  const auto count = static_cast<JDIMENSION>(pixels.sizes()[0]);
  decoder.run([&] {
    JSAMPROW rows[kRowBatch];
    for (JDIMENSION done = 0; done < count;) {
      const JDIMENSION some = std::min(kRowBatch, count - done);
      for (JDIMENSION i = 0; i < some; ++i) rows[i] = row + (done + i) * stride;
      done += jpeg_read_scanlines(&decoder.state(), rows, some);
    }
  });
}

Array read_crop(JpegDecoder& decoder, const ImageBox& crop, int channels) {
  jpeg_decompress_struct& state = decoder.state();
  const int64_t first = choose_columns(decoder, crop);
  Array pixels = Array::empty(DType::u8, {crop.height, state.output_width, channels});
  if (crop.top > 0) {
    decoder.run([&] { jpeg_skip_scanlines(&state, static_cast<JDIMENSION>(crop.top)); });
  }
  read_rows(decoder, pixels);
  const bool is_at_end = state.output_scanline == state.output_height;
  if (is_at_end) decoder.run([&] { jpeg_finish_decompress(&state); });
  return cropped(pixels, {0, crop.left - first, crop.height, crop.width});
}

}  // namespace

ImageInfo jpeg_info(std::span<const std::byte> file) {
  JpegDecoder decoder(file, false);
  const jpeg_decompress_struct& state = decoder.state();
  return {.format = ImageFormat::jpeg,
          .height = state.image_height,
          .width = state.image_width,
          .channels = state.num_components == 1 ? 1 : 3};
}

Array jpeg_pixels(std::span<const std::byte> file, const DecodeOptions& options) {
  JpegDecoder decoder(file, options.accept_truncated);
  jpeg_decompress_struct& state = decoder.state();
  expect_pixels(state.image_height, state.image_width, options);
  if (!options.accept_truncated) expect_blocks(state, file.size());
  const int channels = choose_colours(state, options.mode);
  const ImageBox crop = crop_of(state.image_height, state.image_width, options);
  const int scale = scale_for(crop, options.size);
  state.scale_num = static_cast<unsigned>(scale);
  state.scale_denom = DCTSIZE;
  decoder.run([&] { jpeg_start_decompress(&state); });
  const Array pixels = read_crop(decoder, scaled(crop, scale, state), channels);
  return channels == 4 && state.num_components == 4 ? from_cmyk(pixels, options.mode) : pixels;
}

}  // namespace plait
#else

namespace plait {

ImageInfo jpeg_info(std::span<const std::byte>) {
  throw_no_library("JPEG", "libjpeg", "libjpeg-dev");
}
Array jpeg_pixels(std::span<const std::byte>, const DecodeOptions&) {
  throw_no_library("JPEG", "libjpeg", "libjpeg-dev");
}

}  // namespace plait
#endif
