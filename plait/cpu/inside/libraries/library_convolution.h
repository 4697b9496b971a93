// Convolutions by a library (oneDNN), like library_product.h.
#pragma once

#include <cstddef>
#include <memory>

#include "plait/ops/inside/neural/convolution_shape.h"

namespace plait {

enum class ConvolutionKind { forward, input_gradient, weight_gradient };

// Strides of the three arrays; all are positive.
struct ConvolutionStrides {
  Sizes x, w, out;
};

class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;
  // Which of the three is written depends on the kind.
  virtual void run(std::byte* x, std::byte* w, std::byte* out) = 0;
};

bool library_has_convolution(const ConvolutionShape& shape);
// Null if the library has no implementation, or only a slow one.
std::shared_ptr<LibraryConvolution> library_convolution(ConvolutionKind kind,
                                                        const ConvolutionShape& shape,
                                                        const ConvolutionStrides& strides);

}  // namespace plait
