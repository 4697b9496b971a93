// Convolutions on the CPU, and their two transposes.
#pragma once

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

// The sizes of the result. Throws ShapeError or ValueError for inconsistent operands.
Sizes convolution_sizes(const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry);

// out[n, o, s…] = Σ_c Σ_k w[o, c, k…] · x[n, c, s · stride + k · dilation − padding_low …], with x
// [n, c, spatial…], w [o, c / groups, spatial…] and out [n, o, spatial…] of one dtype and any
// layouts. Dtypes, accumulation and reproducibility are those of matmul(). `out` is writable and
// does not overlap the others.
void convolution(const Array& x, const Array& w, const ConvolutionGeometry& geometry, Array& out);

// The transposes: gradients with respect to x and to w. Sizes are as above.
void convolution_input_gradient(const Array& out_gradient, const Array& w,
                                const ConvolutionGeometry& geometry, Array& x_gradient);
void convolution_weight_gradient(const Array& x, const Array& out_gradient,
                                 const ConvolutionGeometry& geometry, Array& w_gradient);

}  // namespace plait
