#include "plait/io/inside/images/exif.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "plait/io/inside/byte_fields.h"

namespace plait {
namespace {

// Unsigned numbers in either byte order, at any position. Outside of the bytes they are 0.
class EndianBytes {
 public:
  EndianBytes(std::span<const std::byte> bytes, bool is_big) : bytes_(bytes), is_big_(is_big) {}

  size_t number(size_t position, size_t count) const {
    if (position > bytes_.size() || count > bytes_.size() - position) return 0;
    size_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = position + (is_big_ ? i : count - 1 - i);
      value = value << 8 | std::to_integer<size_t>(bytes_[at]);
    }
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool is_big_;
};

bool has_at(std::span<const std::byte> bytes, size_t position, std::string_view text) {
  return position <= bytes.size() && characters_of(bytes.subspan(position)).starts_with(text);
}

// `tiff` is a TIFF file: its first directory has the orientation.
int orientation_of_tiff(std::span<const std::byte> tiff) {
  using namespace std::string_view_literals;
  const bool is_big = has_at(tiff, 0, "MM\0*"sv);
  if (!is_big && !has_at(tiff, 0, "II*\0"sv)) return 1;
  constexpr size_t kOrientation = 0x112, kShort = 3, kEntryBytes = 12;
  const EndianBytes fields(tiff, is_big);
  const size_t directory = fields.number(4, 4), count = fields.number(directory, 2);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (fields.number(entry, 2) != kOrientation || fields.number(entry + 2, 2) != kShort) continue;
    const size_t value = fields.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

std::span<const std::byte> part_of(std::span<const std::byte> bytes, size_t begin, size_t count) {
  if (begin >= bytes.size()) return {};
  return bytes.subspan(begin, std::min(count, bytes.size() - begin));
}

constexpr std::string_view kExifMark{"Exif\0\0", 6};

// Segments, each a marker of two bytes and a length, up to the pixels.
std::span<const std::byte> exif_of_jpeg(std::span<const std::byte> file) {
  constexpr size_t kApplication1 = 0xFFE1, kStartOfScan = 0xFFDA, kFirst = 0xFFC0;
  const EndianBytes fields(file, true);
  size_t position = 2;
  for (;;) {
    size_t marker = fields.number(position, 2);
    for (; marker == 0xFFFF; marker = fields.number(++position, 2)) {
    }  // they may be filled up
    if (marker < kFirst || marker == kStartOfScan) return {};
    const size_t length = fields.number(position + 2, 2);
    if (length < 2) return {};
    if (marker == kApplication1 && has_at(file, position + 4, kExifMark)) {
      return part_of(file, position + 4 + kExifMark.size(), length - 2 - kExifMark.size());
    }
    position += 2 + length;
  }
}

std::span<const std::byte> exif_of_png(std::span<const std::byte> file) {
  const EndianBytes fields(file, true);
  constexpr size_t kSignature = 8, kAround = 12;  // length, type and checksum
  for (size_t position = kSignature; position < file.size();) {
    const size_t length = fields.number(position, 4);
    if (has_at(file, position + 4, "eXIf")) return part_of(file, position + 8, length);
    position += kAround + length;
  }
  return {};
}

std::span<const std::byte> exif_of_webp(std::span<const std::byte> file) {
  const EndianBytes fields(file, false);
  constexpr size_t kHeader = 12;
  for (size_t position = kHeader; position < file.size();) {
    const size_t length = fields.number(position + 4, 4);
    if (has_at(file, position, "EXIF")) {
      const auto exif = part_of(file, position + 8, length);
      return has_at(exif, 0, kExifMark) ? exif.subspan(kExifMark.size()) : exif;
    }
    position += 8 + length + length % 2;
  }
  return {};
}

}  // namespace

int orientation_in(std::span<const std::byte> file, ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg: return orientation_of_tiff(exif_of_jpeg(file));
    case ImageFormat::png: return orientation_of_tiff(exif_of_png(file));
    default: return orientation_of_tiff(exif_of_webp(file));
  }
}

Turn Turn::of(int orientation) {
  constexpr std::array<Turn, 9> kTurns{{{},
                                        {},
                                        {false, true, false},
                                        {true, true, false},
                                        {true, false, false},
                                        {false, false, true},
                                        {true, false, true},
                                        {true, true, true},
                                        {false, true, true}}};
  return kTurns[static_cast<size_t>(orientation)];
}

ImageBox Turn::stored(const ImageBox& crop, int64_t height, int64_t width) const {
  ImageBox result = crop;
  if (exchanges_axes) result = {crop.left, crop.top, crop.width, crop.height};
  if (reverses_rows) result.top = height - result.top - result.height;
  if (reverses_columns) result.left = width - result.left - result.width;
  return result;
}

ImageSize Turn::stored(const ImageSize& size) const {
  return exchanges_axes ? ImageSize{size.width, size.height} : size;
}

Array Turn::turned(const Array& pixels) const {
  Layout layout = pixels.layout();
  if (reverses_rows) layout = layout.reversed(0);
  if (reverses_columns) layout = layout.reversed(1);
  const int64_t exchanged[] = {1, 0, 2};
  if (exchanges_axes) layout = layout.permuted(exchanged);
  return pixels.view(layout).copy();
}

}  // namespace plait
