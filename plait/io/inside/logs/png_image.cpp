#include "plait/io/inside/logs/png_image.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/deflate.h"

namespace plait {
namespace {

constexpr int64_t kMostSize = INT32_MAX;  // along an axis, by the format
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr uint8_t kBitDepth = 8;
constexpr uint8_t kColourTypes[] = {0, 4, 2, 6};  // by the number of channels
constexpr char kDifferenceToLeft = 1;             // the filter of each row

void append_big_endian(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

void append_chunk(std::string& file, std::string_view type, std::string_view content) {
  append_big_endian(file, static_cast<uint32_t>(content.size()));
  const std::string checked = std::string(type).append(content);
  file += checked;
  append_big_endian(file, crc32_of(bytes_of(std::string_view(checked))));
}

uint32_t adler32_of(std::string_view bytes) {
  constexpr uint32_t kModulus = 65521;
  constexpr size_t kMostUnreduced = 5552;  // sums of so many bytes do not overflow
  uint32_t low = 1, high = 0;
  while (!bytes.empty()) {
    for (const char byte : bytes.substr(0, kMostUnreduced)) {
      low += static_cast<unsigned char>(byte);
      high += low;
    }
    low %= kModulus;
    high %= kModulus;
    bytes.remove_prefix(std::min(kMostUnreduced, bytes.size()));
  }
  return high << 16 | low;
}

#ifndef PLAIT_HAVE_ZLIB
// Deflate's blocks that are not compressed: a flag for the last one, the length and its complement.
void append_stored(std::string& out, std::string_view bytes) {
  constexpr size_t kMostStored = 0xFFFF;
  do {
    const std::string_view block = bytes.substr(0, kMostStored);
    bytes.remove_prefix(block.size());
    const auto length = static_cast<uint16_t>(block.size());
    out += static_cast<char>(bytes.empty() ? 1 : 0);
    for (const unsigned field : {unsigned{length}, ~unsigned{length}}) {
      out += static_cast<char>(field);
      out += static_cast<char>(field >> 8);
    }
    out += block;
  } while (!bytes.empty());
}
#endif

// A zlib stream (RFC 1950).
std::string zlib_stream(std::string_view bytes) {
  std::string stream = "\x78\x01";
#ifdef PLAIT_HAVE_ZLIB
  const std::span<const std::byte> part = bytes_of(bytes);
  deflate_into([&](std::span<const std::byte> more) { stream += characters_of(more); }, {&part, 1});
#else
  append_stored(stream, bytes);
#endif
  append_big_endian(stream, adler32_of(bytes));
  return stream;
}

Array as_bytes(const Array& array) {
  if (array.dtype() == DType::u8) return array.on_host().contiguous();
  if (!is_floating(array.dtype())) {
    throw TypeError("image: expected u8, or floats from 0 to 1, not {}", name_of(array.dtype()));
  }
  const Array given = array.converted(DType::f32).contiguous();
  const auto from = given.elements<float>();
  Array result = Array::empty(DType::u8, array.sizes());
  std::ranges::transform(from, result.writable_elements<uint8_t>().begin(), [](float x) {
    return x > 0 ? static_cast<uint8_t>(std::lround(std::min(x, 1.0F) * 255)) : uint8_t{0};
  });
  return result;
}

// Each row: its filter, then the differences of its bytes to the pixel at the left.
std::string filtered_rows(const Array& pixels, const PngImage& image) {
  const auto* row = reinterpret_cast<const uint8_t*>(pixels.data());
  const int64_t row_bytes = image.width * image.channels;
  std::string rows;
  rows.reserve(static_cast<size_t>(image.height * (row_bytes + 1)));
  for (int64_t y = 0; y < image.height; ++y, row += row_bytes) {
    rows += kDifferenceToLeft;
    for (int64_t i = 0; i < row_bytes; ++i) {
      const uint8_t left = i < image.channels ? uint8_t{0} : row[i - image.channels];
      rows += static_cast<char>(row[i] - left);
    }
  }
  return rows;
}

}  // namespace

PngImage png_image(const Array& array) {
  const Sizes& sizes = array.sizes();
  const bool is_grey = sizes.size() == 2;
  if (!is_grey && (sizes.size() != 3 || sizes[2] < 1 || sizes[2] > 4)) {
    throw ShapeError("image: expected [height, width] or [height, width, 1 to 4 channels], not {}",
                     text_of_sizes(sizes));
  }
  if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > kMostSize || sizes[1] > kMostSize) {
    throw ShapeError("image: {} is not the size of an image", text_of_sizes(sizes));
  }
  PngImage image{.height = sizes[0], .width = sizes[1], .channels = is_grey ? 1 : sizes[2]};
  const std::string rows = zlib_stream(filtered_rows(as_bytes(array), image));
  std::string header;
  append_big_endian(header, static_cast<uint32_t>(image.width));
  append_big_endian(header, static_cast<uint32_t>(image.height));
  header += static_cast<char>(kBitDepth);
  header += static_cast<char>(kColourTypes[image.channels - 1]);
  header.append(3, '\0');  // compression, filter and interlace methods
  image.bytes = kSignature;
  append_chunk(image.bytes, "IHDR", header);
  for (std::string_view left = rows; !left.empty();) {
    const std::string_view part = left.substr(0, size_t{1} << 30);
    append_chunk(image.bytes, "IDAT", part);
    left.remove_prefix(part.size());
  }
  append_chunk(image.bytes, "IEND", {});
  return image;
}

}  // namespace plait
