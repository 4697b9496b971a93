// Loops over the bytes of images, compiled for each level of the CPU. Rows of images are given as
// pixels one after another, of three bytes or four: the channels, and a byte that is not used.
#pragma once

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
};

extern const cpu::EachLevel<ImageKernels> kImageKernels;

// Those of the level in use.
ImageKernels image_kernels();

}  // namespace plait::data
