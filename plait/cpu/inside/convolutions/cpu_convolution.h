// Convolutions on the CPU, and their two transposes.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// Along each of one to three spatial dimensions; an empty list is all 1, or no padding.
struct ConvolutionGeometry {
  Sizes strides = {};
  Sizes padding_low = {}, padding_high = {};  // zeros around the input; negative cuts off
  Sizes dilation = {};                        // between neighbouring elements of the kernel
  Sizes input_dilation = {};                  // of the input: zeros are put in between
  int64_t groups = 1;
};

// The sizes of the result. ShapeError or ValueError for what does not fit together.
Sizes convolution_sizes(const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry);

// out[n, o, s…] = Σ_c Σ_k w[o, c, k…] · x[n, c, s · stride + k · dilation − padding_low …], with x
// [n, c, spatial…], w [o, c / groups, spatial…] and out [n, o, spatial…] of one dtype and any
// layouts; dtypes, sums and reproducibility are those of matmul(). `out` is writable and does not
// overlap the others.
void convolution(const Array& x, const Array& w, const ConvolutionGeometry& geometry, Array& out);

// The transposes: what a change of the result is worth in x, and in w. Sizes are as above.
void convolution_input_gradient(const Array& out_gradient, const Array& w,
                                const ConvolutionGeometry& geometry, Array& x_gradient);
void convolution_weight_gradient(const Array& x, const Array& out_gradient,
                                 const ConvolutionGeometry& geometry, Array& w_gradient);

}  // namespace plait
