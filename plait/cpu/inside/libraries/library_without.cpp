// Used instead of onednn_*.cpp if oneDNN is missing: Plait's own loops compute everything.
#include "plait/cpu/inside/libraries/library_convolution.h"
#include "plait/cpu/inside/libraries/library_product.h"

namespace plait {

bool library_has_product(DType) { return false; }
std::shared_ptr<LibraryProduct> library_product(const ProductShape&) { return nullptr; }
std::shared_ptr<PackedLibraryProduct> packed_library_product(const PackedShape&) { return nullptr; }

bool library_has_convolution(const ConvolutionShape&) { return false; }
std::shared_ptr<LibraryConvolution> library_convolution(ConvolutionKind, const ConvolutionShape&,
                                                        const ConvolutionStrides&) {
  return nullptr;
}

}  // namespace plait
