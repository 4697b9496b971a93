// The orientation of photographs, which cameras write into the EXIF data of a file.
#pragma once

#include <cstddef>
#include <span>

#include "plait/io/images/decode_image.h"

namespace plait {

// 1 to 8; 1, which is upright, if the file does not say or is damaged there.
int orientation_in(std::span<const std::byte> file, ImageFormat format);

// How stored pixels become upright: rows and columns are reversed first, then the axes exchanged.
struct Turn {
  bool reverses_rows = false, reverses_columns = false, exchanges_axes = false;

  static Turn of(int orientation);
  bool is_none() const { return !reverses_rows && !reverses_columns && !exchanges_axes; }

  // The crop of the stored image, of this size, that becomes this one of the turned image.
  ImageBox stored(const ImageBox& crop, int64_t height, int64_t width) const;
  ImageSize stored(const ImageSize& size) const;
  // From [height, width, channels], as a copy.
  Array turned(const Array& pixels) const;
};

}  // namespace plait
