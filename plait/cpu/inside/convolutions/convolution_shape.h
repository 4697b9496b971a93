// All sizes of a convolution, checked, and padded to three spatial dimensions.
#pragma once

#include <array>
#include <cstdint>

#include "plait/cpu/inside/convolutions/cpu_convolution.h"

namespace plait {

struct ConvolutionShape {
  struct Dimension {
    int64_t in = 1, kernel = 1, out = 1;
    int64_t stride = 1, low = 0, high = 0, dilation = 1, input_dilation = 1;
  };

  DType dtype = DType::f32;
  int rank = 0;  // number of spatial dimensions, which are the last ones of `spatial`
  int64_t images = 0, inputs = 0, outputs = 0, groups = 1;
  std::array<Dimension, 3> spatial;

  int64_t group_inputs() const { return inputs / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  int64_t taps() const;        // elements of a kernel
  int64_t in_places() const;   // spatial elements of an input channel
  int64_t out_places() const;  // spatial elements of an output channel
  int64_t patch() const { return group_inputs() * taps(); }  // length of one dot product
  int64_t work() const { return images * outputs * out_places() * patch(); }
  // True for a 1 × 1 kernel without stride, padding or dilation: the patches are the input itself.
  bool is_pointwise() const;
};

// Throws ShapeError, TypeError or ValueError for inconsistent operands.
ConvolutionShape convolution_shape(const Array& x, const Array& w, const Array& out,
                                   const ConvolutionGeometry& geometry);

}  // namespace plait
