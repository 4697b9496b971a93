#include "plait/core/error.h"
#include "plait/io/images/encode_image.h"
#include "plait/io/inside/images/image_codecs.h"

#ifdef PLAIT_HAVE_JPEG
#include <algorithm>
#include <array>
#include <new>

#include "plait/io/inside/images/jpeg_errors.h"

namespace plait {
namespace {

constexpr int64_t kMostJpegSize = JPEG_MAX_DIMENSION;

// Collects what libjpeg writes, a block at a time.
struct JpegSink {
  jpeg_destination_mgr manager = {};  // the first member, as in JpegErrors
  std::vector<std::byte> bytes;
  std::array<JOCTET, size_t{1} << 16> block;

  static JpegSink& of(j_compress_ptr state) { return *reinterpret_cast<JpegSink*>(state->dest); }

  void begin_block() {
    manager.next_output_byte = block.data();
    manager.free_in_buffer = block.size();
  }
  bool keep(size_t count) noexcept {
    const auto* from = reinterpret_cast<const std::byte*>(block.data());
    try {
      bytes.insert(bytes.end(), from, from + count);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  static void init(j_compress_ptr state) { of(state).begin_block(); }
  static boolean empty(j_compress_ptr state) {
    keep_or_escape(state, of(state).block.size());
    of(state).begin_block();
    return TRUE;
  }
  static void term(j_compress_ptr state) {
    keep_or_escape(state, of(state).block.size() - of(state).manager.free_in_buffer);
  }
  static void keep_or_escape(j_compress_ptr state, size_t count) {
    if (of(state).keep(count)) return;
    escape_jpeg(reinterpret_cast<j_common_ptr>(state), "not enough memory");
  }
};

struct JpegEncoder {
  JpegErrors errors;
  JpegSink sink;
  jpeg_compress_struct state = {};

  JpegEncoder() {
    state.err = errors.begin();
    sink.manager.init_destination = JpegSink::init;
    sink.manager.empty_output_buffer = JpegSink::empty;
    sink.manager.term_destination = JpegSink::term;
  }
  ~JpegEncoder() { jpeg_destroy_compress(&state); }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
};

void set_up(JpegEncoder& encoder, const Array& pixels, const JpegOptions& options) {
  jpeg_compress_struct& state = encoder.state;
  jpeg_create_compress(&state);
  state.dest = &encoder.sink.manager;
  state.image_height = static_cast<JDIMENSION>(pixels.sizes()[0]);
  state.image_width = static_cast<JDIMENSION>(pixels.sizes()[1]);
  state.input_components = static_cast<int>(pixels.sizes()[2]);
  const bool is_grey = state.input_components == 1;
  state.in_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, options.quality, TRUE);
  if (!is_grey) {
    state.comp_info[0].h_samp_factor = options.sampling == ChromaSampling::s444 ? 1 : 2;
    state.comp_info[0].v_samp_factor = options.sampling == ChromaSampling::s420 ? 2 : 1;
  }
  if (options.progressive) jpeg_simple_progression(&state);
}

void write_rows(jpeg_compress_struct& state, const std::byte* pixels) {
  jpeg_start_compress(&state, TRUE);
  const size_t row_bytes = size_t{state.image_width} * static_cast<size_t>(state.input_components);
  while (state.next_scanline < state.image_height) {
    // libjpeg only reads, but its types do not say so.
    auto* row = const_cast<JSAMPLE*>(
        reinterpret_cast<const JSAMPLE*>(pixels + state.next_scanline * row_bytes));
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
}

}  // namespace

std::vector<std::byte> encode_jpeg(const Array& image, const JpegOptions& options) {
  const Array pixels = pixels_of_image("encode_jpeg", image, 1, 3, kMostJpegSize);
  if (pixels.sizes()[2] == 2) {
    throw ShapeError("encode_jpeg: the image has 2 channels, expected 1 or 3");
  }
  if (options.quality < 1 || options.quality > 100) {
    throw ValueError("encode_jpeg: the quality is {}, expected 1 to 100", options.quality);
  }
  JpegEncoder encoder;
  const std::byte* data = pixels.data();
  const bool is_done = completes(encoder.errors, [&] {
    set_up(encoder, pixels, options);
    write_rows(encoder.state, data);
  });
  if (!is_done) throw MemoryError("encode_jpeg: {}", encoder.errors.text);
  return std::move(encoder.sink.bytes);
}

}  // namespace plait
#else

namespace plait {

std::vector<std::byte> encode_jpeg(const Array&, const JpegOptions&) {
  throw_no_library("JPEG", "libjpeg", "libjpeg-dev");
}

}  // namespace plait
#endif
