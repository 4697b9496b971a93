// The tiles of images for Winograd's algorithm, and their transforms.
#pragma once

#include <vector>

#include "plait/cpu/inside/convolutions/channel_rows.h"

namespace plait {

// The tiles that cover the results of a convolution, in rows of tiles beside each other, those of
// all images in a sequence.
struct WinogradTiling {
  int64_t m, images, high, wide;  // m × m results of a tile; results of an image
  int64_t above, left;            // rows and columns of zeros before an image

  int64_t side() const { return m + 2; }
  int64_t in_a_row() const;
  int64_t rows_of_image() const;
  int64_t rows() const { return images * rows_of_image(); }
};

// Places of results that are 0 in all channels, since all that they depend on is. Sums of tiles are
// not exact.
class ZeroResults {
 public:
  explicit ZeroResults(const WinogradTiling& tiling)
      : high_(tiling.high),
        wide_(tiling.wide),
        columns_(static_cast<size_t>(tiling.images * tiling.high)) {}

  // Different rows may be noted at the same time. What is 0 in `windows` is.
  void note(int64_t image, int64_t row, const float* windows);
  const std::vector<int64_t>& columns(int64_t image, int64_t row) const {
    return columns_[static_cast<size_t>(image * high_ + row)];
  }

 private:
  int64_t high_, wide_;
  std::vector<std::vector<int64_t>> columns_;
};

// Transforms of one block of channels of rows of tiles, begin to end. The first tile is element 0
// of matrices [points][tiles].
class WinogradTiles {
 public:
  explicit WinogradTiles(const WinogradTiling& tiling)
      : tiling_(tiling),
        kernels_(tiling.m == 2 ? winograd_level().of_two : winograd_level().of_four) {}

  const WinogradTiling& tiling() const { return tiling_; }
  const WinogradKernels& kernels() const { return kernels_; }

  void transform_input(const Images& x, int64_t block, int64_t begin, int64_t end,
                       const PointMatrices& to) const;
  // Zeros for a block after the last one.
  void transform_gradient(const Images& gradient, int64_t block, int64_t begin, int64_t end,
                          const PointMatrices& to) const;
  // False if a result is not finite.
  bool transform_results(const PointMatrices& from, int64_t begin, int64_t end, const Images& y,
                         int64_t block, const ZeroResults& zeros) const;

 private:
  struct Run;
  template <class Body>
  void each_image(int64_t begin, int64_t end, Body body) const;

  const WinogradTiling tiling_;
  const WinogradKernels& kernels_;
};

}  // namespace plait
