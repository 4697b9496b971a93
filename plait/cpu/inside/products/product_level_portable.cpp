// For architectures with a single set of kernels.
#include "plait/cpu/inside/convolutions/winograd_kernels.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/product_kernels.h"
#include "plait/cpu/inside/repeated_products/paired_kernels.h"

namespace plait {

const ProductKernels& product_kernels() { return kProductKernels; }
const WinogradLevel& winograd_level() { return kWinograd; }
const PairedKernels* paired_kernels() { return nullptr; }
const Bf16Kernels* bf16_kernels() { return nullptr; }

}  // namespace plait
