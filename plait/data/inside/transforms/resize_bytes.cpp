// Resizing bytes with weights of fixed point, along rows and then along columns, rounded to bytes
// in between: this is how Pillow and PyTorch do it, so the bytes are theirs.
#include <algorithm>
#include <array>
#include <cstring>

#include "plait/data/inside/transforms/image_kernels.h"
#include "plait/data/inside/transforms/resize_images.h"
#include "plait/data/inside/transforms/resize_weights.h"

namespace plait::data {
namespace {

constexpr int64_t kRowsTogether = 4;

int64_t rounded_up(int64_t bytes) {
  return (bytes + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
}

// Up to four channels of an image, as pixels of `pixel` bytes.
struct PixelRows {
  const ImageView& view;
  int64_t image, first_channel, channels;
  int pixel;
  bool is_direct;  // pixels in memory are such pixels

  PixelRows(const ImageView& of, int64_t number, int64_t channel)
      : view(of), image(number), first_channel(channel) {
    is_direct = view.is_interleaved() && (view.channels == 3 || view.channels == 4);
    channels = is_direct ? view.channels : std::min<int64_t>(4, view.channels - channel);
    pixel = is_direct && view.channels == 3 ? 3 : 4;
  }

  // Row y, of which `reach` bytes may be read: in memory, or else copied to `scratch`.
  const uint8_t* at(int64_t y, int64_t reach, uint8_t* scratch) const {
    const auto* row = view.at<uint8_t>(image, first_channel, y);
    if (is_direct) {
      const auto* end = reinterpret_cast<const uint8_t*>(view.end());
      if (end - row >= reach) return row;
      std::memcpy(scratch, row, static_cast<size_t>(view.width * pixel));
      return scratch;
    }
    for (int64_t channel = 0; channel < channels; ++channel, row += view.channel_stride) {
      for (int64_t x = 0; x < view.width; ++x) {
        scratch[4 * x + channel] = row[x * view.column_stride];
      }
    }
    return scratch;
  }

  // Writes a row of the result.
  void put(const uint8_t* pixels, int64_t y, const ImageView& result) const {
    auto* row = const_cast<uint8_t*>(result.at<uint8_t>(image, first_channel, y));
    if (result.is_interleaved() && result.channels == pixel) {
      std::memcpy(row, pixels, static_cast<size_t>(result.width * pixel));
      return;
    }
    for (int64_t channel = 0; channel < channels; ++channel, row += result.channel_stride) {
      for (int64_t x = 0; x < result.width; ++x) {
        row[x * result.column_stride] = pixels[x * pixel + channel];
      }
    }
  }
};

// The weights of one axis, if its size changes.
struct BytePass {
  bool is_needed;
  FixedWeights weights;

  BytePass(int64_t from, int64_t to, const ResizeTo& how, int64_t multiple)
      : is_needed(from != to) {
    if (!is_needed) return;
    weights =
        fixed_weights(axis_weights<double>(from, to, how.interpolation, how.antialias), multiple);
  }
};

class ByteResize {
 public:
  ByteResize(const ImageView& from, const ResizeTo& to)
      : from_(from),
        to_(to),
        rows_(from.width, to.width, to, 4),
        columns_(from.height, to.height, to, 2) {}

  void run(const PixelRows& pixels, const ImageView& result) {
    pitch_ = rounded_up(std::max(to_.width, int64_t{4}) * 4 + kPixelReach);
    narrow(pixels);
    std::vector<uint8_t> row(static_cast<size_t>(pitch_));
    std::vector<const uint8_t*> taps(static_cast<size_t>(columns_.weights.each));
    for (int64_t y = 0; y < to_.height; ++y) {
      if (!columns_.is_needed) {
        pixels.put(narrowed(y), y, result);
        continue;
      }
      const int64_t first = columns_.weights.first[static_cast<size_t>(y)];
      for (size_t k = 0; k < taps.size(); ++k) {  // those past the end have weight 0
        taps[k] = narrowed(std::min(first + static_cast<int64_t>(k), from_.height - 1));
      }
      kernels_.row_of_rows(taps.data(), columns_.weights.each,
                           columns_.weights.weights.data() + y * columns_.weights.each,
                           columns_.weights.precision, rounded_up(to_.width * pixels.pixel),
                           row.data());
      pixels.put(row.data(), y, result);
    }
  }

 private:
  uint8_t* narrowed(int64_t y) { return narrowed_.data() + y * pitch_; }

  // All rows, with the width of the result.
  void narrow(const PixelRows& pixels) {
    narrowed_.resize(static_cast<size_t>(from_.height * pitch_));
    if (!rows_.is_needed) {
      for (int64_t y = 0; y < from_.height; ++y) {
        uint8_t* to = narrowed(y);
        const uint8_t* row = pixels.at(y, from_.width * pixels.pixel, to);
        if (row != to) std::memcpy(to, row, static_cast<size_t>(from_.width * pixels.pixel));
      }
      return;
    }
    const FixedWeights& weights = rows_.weights;
    const FixedTaps taps{weights.first.data(), weights.weights.data(), weights.each / 4,
                         weights.precision};
    const int64_t last = *std::ranges::max_element(weights.first);
    const int64_t reach = (last + weights.each - 4) * pixels.pixel + kPixelReach;
    const int64_t scratch_pitch = std::max(reach, from_.width * pixels.pixel);
    std::vector<uint8_t> scratch(static_cast<size_t>(scratch_pitch * kRowsTogether));
    for (int64_t y = 0; y < from_.height; y += kRowsTogether) {
      std::array<const uint8_t*, kRowsTogether> rows;
      std::array<uint8_t*, kRowsTogether> results;
      const int64_t count = std::min(kRowsTogether, from_.height - y);
      for (int64_t i = 0; i < count; ++i) {
        rows[static_cast<size_t>(i)] = pixels.at(y + i, reach, scratch.data() + i * scratch_pitch);
        results[static_cast<size_t>(i)] = narrowed(y + i);
      }
      kernels_.along_rows(rows.data(), count, pixels.pixel, taps, to_.width, results.data());
    }
  }

  const ImageView& from_;
  const ResizeTo& to_;
  BytePass rows_, columns_;
  ImageKernels kernels_ = image_kernels();
  int64_t pitch_ = 0;
  std::vector<uint8_t> narrowed_;
};

}  // namespace

void resize_bytes(const ImageView& from, const ResizeTo& to, Array& result) {
  const ImageView target = view_of("resize", Tensor(result));
  ByteResize resize(from, to);
  for (int64_t image = 0; image < from.count(); ++image) {
    for (int64_t channel = 0; channel < from.channels;) {
      const PixelRows pixels(from, image, channel);
      resize.run(pixels, target);
      channel += pixels.channels;
    }
  }
}

}  // namespace plait::data
