// All sizes of a convolution, checked, and padded to three spatial dimensions, for kernels of all
// devices.
#pragma once

#include <array>
#include <cstdint>

#include "plait/ops/neural/convolution.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// One entry per spatial dimension (one to three); an empty list means 1, or no padding.
struct ConvolutionGeometry {
  Sizes strides = {};
  Sizes padding_low = {}, padding_high = {};  // zeros around the input; negative values crop it
  Sizes dilation = {};                        // between neighbouring elements of the kernel
  Sizes input_dilation = {};                  // inserts zeros between input elements
  int64_t groups = 1;
};

// That of a call of a primitive, whose attributes are numbers.
ConvolutionGeometry geometry_of(const ConvolutionAttributes& attributes);

// The sizes of the result. Throws ShapeError or ValueError for inconsistent operands.
Sizes convolution_sizes(const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry);

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
