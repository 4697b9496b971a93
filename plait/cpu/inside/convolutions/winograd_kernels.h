// Transforms of Winograd's minimal filtering F(m × m, 3 × 3), m = 2 or 4, for one instruction set
// level. A tile of p × p input elements, p = m + 2, gives m × m results:
//
//   y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A
//
// with g the kernel and d the input. The rows of A, B and G belong to the points 0, ±a, ±b and ∞ (m
// = 4), or 0, ±1 and ∞. A place of an image is kWinogradChannels numbers here, one of each channel.
#pragma once

#include <cstdint>

namespace plait {

inline constexpr int kWinogradChannels = 16;

// Matrices [points][…] that products combine: element (point, index) begins at data + point ·
// point_step + index · step.
struct PointMatrices {
  float* data;
  int64_t point_step, step;
};

// Some rows of places, of which those that a convolution adds to an image are 0: rows[i] is null
// for a row of zeros, and place j is at rows[i] + (j - low) · step, or 0 if j - low is not in [0,
// columns).
struct PaddedRows {
  const float* const* rows;
  int64_t low, columns, step;
};

// Sizes of numbers, which are not negative: a place is one number here (winograd_trust.h).
struct WinogradChecks {
  // Numbers that the other functions need in a room for so many tiles.
  int64_t (*room)(int64_t tiles) = nullptr;
  // From side() rows: for each of the results of `tiles` tiles the largest number that it depends
  // on, in m rows of tiles · m numbers of `windows`. False if one is not 0, and less than 1 / ratio
  // of the largest number of its tile.
  bool (*check_windows)(const PaddedRows& from, int64_t tiles, int64_t rows, int64_t columns,
                        float ratio, float* room, float* windows) = nullptr;
  // From side() rows of x, and m rows of gradients (null after the last one): adds to sums[0] the
  // products of the largest numbers of each tile, and to sums[1 + tap] the products that the
  // gradient by a tap adds up.
  void (*add_products)(const PaddedRows& x, const float* const* gradients, int64_t columns,
                       int64_t tiles, float* room, double* sums) = nullptr;
};

struct WinogradKernels {
  int results = 0;  // m

  int side() const { return results + 2; }
  int points() const { return side() * side(); }

  // Bᵀ d B of `tiles` tiles beside each other, from side() rows; `room` is for side() · (tiles · m
  // + 2) places.
  void (*transform_input)(const PaddedRows& from, int64_t tiles, float* room,
                          const PointMatrices& to) = nullptr;
  // Aᵀ M A: the first `rows` of m rows, of `columns` places, which are less than m · tiles at an
  // edge. False if a result is not finite.
  bool (*transform_results)(const PointMatrices& from, int64_t tiles, float* places, int64_t rows,
                            int64_t columns) = nullptr;
  // A δ Aᵀ of gradients δ by results: the transpose of transform_results.
  void (*transform_gradients)(const float* places, int64_t rows, int64_t columns, int64_t tiles,
                              const PointMatrices& to) = nullptr;
  // G g Gᵀ of a kernel g of nine places.
  void (*transform_kernel)(const float* places, const PointMatrices& to) = nullptr;
  // Gᵀ U G: the transpose of transform_kernel. False if a result is not finite.
  bool (*transform_kernel_gradient)(const PointMatrices& from, float* places) = nullptr;
  WinogradChecks checks = {};
};

// Between an array of f32 or bf16 whose places are contiguous and places of kWinogradChannels
// numbers. Missing channels are read as 0.
struct ChannelKernels {
  void (*gather)(const void* array, int64_t channel_step, int64_t channels, int64_t count,
                 float* places) = nullptr;
  void (*scatter)(const float* places, int64_t count, void* array, int64_t channel_step,
                  int64_t channels) = nullptr;
  // Element i of `count`, each `step` further, makes maxima[i] its absolute value if that is
  // larger; NaN is larger than infinity.
  void (*note_magnitudes)(const void* array, int64_t step, int64_t count, float* maxima) = nullptr;
};

struct WinogradLevel {
  WinogradKernels of_two, of_four;
  ChannelKernels of_f32, of_bf16;
};

extern const WinogradLevel kWinograd;      // for any processor of the build's architecture
extern const WinogradLevel kWinogradAvx2;  // this and the next one: x86-64 only
extern const WinogradLevel kWinogradAvx512;

// The kernels for this processor and the setting `cpu`.
const WinogradLevel& winograd_level();

}  // namespace plait
