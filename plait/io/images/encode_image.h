// Writes arrays of bytes as JPEG, PNG and WebP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// The resolution of the colours: full, half the columns, or half the columns and rows.
enum class ChromaSampling : uint8_t { s444, s422, s420 };

struct JpegOptions {
  int quality = 75;  // 1 to 100
  ChromaSampling sampling = ChromaSampling::s420;
  bool progressive = false;
};

struct PngOptions {
  int compression = 6;  // 0 to 9, of zlib
};

struct WebpOptions {
  bool lossless = false;
  double quality = 80;  // 0 to 100; of a lossless image: the effort
  int effort = 4;       // 0 to 6
};

// From u8[channels, height, width] or u8[height, width]: 1 channel is grey, 2 grey and alpha, 3
// RGB, 4 RGB and alpha. JPEG has 1 or 3, WebP 3 or 4. ShapeError, TypeError or ValueError for what
// the format does not have.
std::vector<std::byte> encode_jpeg(const Array& image, const JpegOptions& options = {});
std::vector<std::byte> encode_png(const Array& image, const PngOptions& options = {});
std::vector<std::byte> encode_webp(const Array& image, const WebpOptions& options = {});

struct WriteImageOptions {
  JpegOptions jpeg = {};
  PngOptions png = {};
  WebpOptions webp = {};
};
// The name ends with .jpg, .jpeg, .png or .webp. The file is replaced atomically.
void write_image(const std::string& path, const Array& image,
                 const WriteImageOptions& options = {});

}  // namespace plait
