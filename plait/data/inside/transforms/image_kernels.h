// Loops over the bytes of images, compiled for each level of the CPU. Rows of images are given as
// pixels one after another, of three bytes or four: the channels, and a byte that is not used.
#pragma once

#include <cmath>
#include <cstdint>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::data {

// Kernels read this many bytes from the beginning of a pixel on, and write that many; so a row of
// pixels is followed by this many bytes, less those of one pixel.
inline constexpr int64_t kPixelReach = 16;
// Results of row_of_rows are whole vectors, and so are their operands.
inline constexpr int64_t kRowMultiple = 64;

// The weighted pixels of which each pixel of the result is the sum, as numbers of fixed point:
// `groups` times four from the pixel first[i] on, whose weights are adjacent pairs of numbers. The
// sum is divided by 2^precision.
struct FixedTaps {
  const int32_t* first;
  const int16_t* weights;
  int64_t groups;
  int precision;
};

template <class Real>
struct AxisPlaces {
  Real m[3];
  Real row, half;
};

struct ImageKernels {
  // One row of `count` pixels for each of `rows` rows. `pixel` is 3 or 4.
  void (*along_rows)(const uint8_t* const* rows, int64_t row_count, int pixel,
                     const FixedTaps& taps, int64_t count, uint8_t* const* results);
  // The weighted sum of an even number of rows. `count` is a multiple of kRowMultiple.
  void (*row_of_rows)(const uint8_t* const* rows, int64_t row_count, const int16_t* weights,
                      int precision, int64_t count, uint8_t* result);
  // (x · scale - mean) · factor for bytes that are `step` bytes apart, from `row` on. No byte at
  // `end` or after it is read, and none before the lowest one of the row.
  void (*normalized)(const uint8_t* row, int64_t step, int64_t count, const uint8_t* end,
                     float scale, float mean, float factor, float* result);
  // Coordinates of one axis for the pixels of a row: see row_places.
  void (*places)(const float* columns, int64_t count, const AxisPlaces<float>& axis, float* result);
};

// A coordinate in the image, in pixels, for each pixel of a row of a warped one:
//   ((x · m[0] + (row · m[1])) + m[2] + 1) · half - 0.5
// where the product of the row is added without rounding it, as PyTorch does: with the nearest
// pixel, the last bit decides.
template <class Real>
void row_places(const float* columns, int64_t count, const AxisPlaces<Real>& axis, Real* result) {
  for (int64_t i = 0; i < count; ++i) {
    const Real sum = std::fma(axis.row, axis.m[1], columns[i] * axis.m[0]) + axis.m[2];
    result[i] = (sum + 1) * axis.half - static_cast<Real>(0.5);
  }
}

extern const cpu::EachLevel<ImageKernels> kImageKernels;

// Those of the level in use.
ImageKernels image_kernels();

}  // namespace plait::data
