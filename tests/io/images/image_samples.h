// Images for tests: smooth in some regions, noisy in others, so that no two formats agree by
// chance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/images/encode_image.h"
#include "plait/tensor/memory/array.h"

namespace plait {

inline Array sample_image(int64_t channels, int64_t height, int64_t width, uint32_t seed = 1) {
  Array image = Array::empty(DType::u8, {channels, height, width});
  uint8_t* pixel = image.writable_elements<uint8_t>().data();
  uint32_t noise = seed * 2654435761U + 12345;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        noise = noise * 1664525 + 1013904223;
        const bool is_noisy = x / 24 % 2 != 0;
        *pixel++ = static_cast<uint8_t>(3 * x + 2 * y + 70 * c + (is_noisy ? noise >> 27 : 0));
      }
    }
  }
  return image;
}

// A smooth one, as photographs are.
inline Array smooth_image(int64_t height, int64_t width) {
  Array image = Array::empty(DType::u8, {3, height, width});
  uint8_t* pixel = image.writable_elements<uint8_t>().data();
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t hill = (x - 90) * (x - 90) + (y - 60 - 20 * c) * (y - 60 - 20 * c);
        *pixel++ = static_cast<uint8_t>(40 + 30 * c + 30000 / (400 + hill) + (x + y) / 8);
      }
    }
  }
  return image;
}

// True if this build has the libraries of all formats.
inline bool can_encode() {
  try {
    const Array image = sample_image(3, 1, 1);
    return !encode_jpeg(image).empty() && !encode_png(image).empty() && !encode_webp(image).empty();
  } catch (const IoError&) {
    return false;
  }
}

// The greatest difference of two arrays of bytes; 256 if their sizes differ.
inline int greatest_difference(const Array& one, const Array& other) {
  if (one.sizes() != other.sizes()) return 256;
  const Array x = one.contiguous(), y = other.contiguous();
  int greatest = 0;
  for (size_t i = 0; i < x.elements<uint8_t>().size(); ++i) {
    greatest = std::max(greatest, std::abs(x.elements<uint8_t>()[i] - y.elements<uint8_t>()[i]));
  }
  return greatest;
}

inline Array part_of_image(const Array& image, int64_t top, int64_t left, int64_t height,
                           int64_t width) {
  return image.view(image.layout().sliced(1, {top, top + height}).sliced(2, {left, left + width}));
}

}  // namespace plait
