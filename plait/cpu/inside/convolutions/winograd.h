// Convolutions with kernels of 3 × 3 by Winograd's minimal filtering, which multiplies 2.25 or 4
// times less (winograd_kernels.h).
#pragma once

#include "plait/core/settings.h"
#include "plait/cpu/inside/libraries/library_convolution.h"
#include "plait/tensor/memory/array.h"

namespace plait {

namespace setting {
extern Setting<bool> kWinograd;
}

// m of the fastest F(m × m, 3 × 3) for a convolution, by a model of what it costs; 0 if the
// convolution is not one of those that winograd_convolution computes, or faster without. With the
// setting `winograd` off always 0.
int winograd_results(ConvolutionKind kind, const ConvolutionShape& shape);

// True for f32 and bf16, two dimensions, kernels of 3 × 3 without strides, dilation or groups, and
// a padding of at most 2 before the first elements; no size is 0.
bool has_winograd(const ConvolutionShape& shape);

// Writes the one of the arrays that the kind says, with m = 2 or 4. The bits do not depend on the
// number of threads. False if the result would not be precise (winograd_trust.h), or is not finite:
// the convolution must then be computed in another way.
bool winograd_convolution(ConvolutionKind kind, const ConvolutionShape& shape, int m,
                          const Array& x, const Array& w, const Array& out);

}  // namespace plait
