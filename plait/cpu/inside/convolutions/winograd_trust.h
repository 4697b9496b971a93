// Says whether Winograd's algorithm is precise enough for the numbers at hand. A tile adds up
// elements that a result does not depend on, so that its error is in proportion to the largest of
// them: they may be at most a hundred times as large as those that the result depends on. The sizes
// of numbers are maxima over all channels.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/cpu/inside/convolutions/winograd_tiles.h"

namespace plait {

// The largest absolute value over the channels, for each place of some images.
class Magnitudes {
 public:
  explicit Magnitudes(const Images& images);

  bool are_finite() const;
  // Row `row` of an image; null if it is outside.
  const float* row(int64_t image, int64_t row) const {
    return row < 0 || row >= high_ ? nullptr : data_of(maxima_) + (image * high_ + row) * wide_;
  }
  int64_t wide() const { return wide_; }

 private:
  int64_t count_, high_, wide_;
  Buffer maxima_;
};

// True if the nine taps of `kernels` kernels are of similar size.
bool can_transform_weights(DType dtype, const std::byte* weights, int64_t kernels);

// True if results of a convolution of x are precise. Those that are 0, since all that they depend
// on is, are noted.
bool can_convolve(const WinogradTiles& tiles, const Magnitudes& x, ZeroResults& zeros);

// True if the gradient by the weights is.
bool can_differentiate(const WinogradTiles& tiles, const Magnitudes& x, const Magnitudes& gradient);

}  // namespace plait
