// Convolutions by a library (oneDNN): as library_product.h.
#pragma once

#include <cstddef>
#include <memory>

#include "plait/cpu/inside/convolutions/convolution_shape.h"

namespace plait {

enum class ConvolutionKind { forward, input_gradient, weight_gradient };

// How the three arrays of a convolution lie; all strides are positive.
struct ConvolutionStrides {
  Sizes x, w, out;
};

class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;
  // One of the three, by the kind, is written.
  virtual void run(std::byte* x, std::byte* w, std::byte* out) = 0;
};

bool library_has_convolution(const ConvolutionShape& shape);
// Null when the library cannot, or not well.
std::shared_ptr<LibraryConvolution> library_convolution(ConvolutionKind kind,
                                                        const ConvolutionShape& shape,
                                                        const ConvolutionStrides& strides);

}  // namespace plait
