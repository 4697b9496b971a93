// Convolutions on the CPU, and their two transposes.
#pragma once

#include "plait/ops/inside/neural/convolution_shape.h"
#include "plait/tensor/memory/array.h"

namespace plait {

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
