// The functions of cuBLASLt that Plait calls, with the numbers of NVIDIA's documentation. The
// library is opened when it is first needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/core/settings.h"
#include "plait/cuda/inside/driver/driver.h"
#include "plait/cuda/inside/driver/library.h"

namespace plait {
namespace setting {
extern Setting<std::string> kCublaslt;
}

namespace cuda {

class CudaDevice;

using ProductStatus = int;  // cublasStatus_t
inline constexpr ProductStatus kProductSuccess = 0, kProductUnsupported = 15;

using ProductHandle = struct ProductHandleTag*;
using ProductDescriptor = struct ProductDescriptorTag*;
using MatrixDescriptor = struct MatrixDescriptorTag*;
using ProductPreference = struct ProductPreferenceTag*;

// cudaDataType.
enum class ElementType : int {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  c64 = 4,
  c128 = 5,
  bf16 = 14,
  f8e4m3 = 28
};
// cublasComputeType_t.
enum class ComputeType : int { f32 = 68, f64 = 70, tf32 = 77 };

// CUBLASLT_MATMUL_DESC_…
inline constexpr int kTransposeFirst = 3, kTransposeSecond = 4;
// CUBLASLT_MATRIX_LAYOUT_…
inline constexpr int kBatchCount = 5, kBatchStride = 6;
// CUBLASLT_MATMUL_PREF_…; an alignment for each of A, B, C and D.
inline constexpr int kMostWorkspaceBytes = 1, kReductionSchemes = 3;
inline constexpr std::array<int, 4> kLeastAlignments = {5, 6, 7, 8};
// CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: parts along k are kept in the type of the sums and added
// by a second kernel, in order. Algorithms that do not split k are always allowed.
inline constexpr uint32_t kOrderedParts = 2;

// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct ProductAlgorithm {
  uint64_t data[8];
};
struct FoundAlgorithm {
  ProductAlgorithm algorithm;
  size_t workspace_bytes;
  ProductStatus state;
  float waves;
  int reserved[4];
};

struct CublasLt {
  size_t (*get_version)();
  const char* (*get_status_name)(ProductStatus);
  ProductStatus (*create)(ProductHandle*);
  ProductStatus (*create_product)(ProductDescriptor*, int compute_type, int scale_type);
  ProductStatus (*destroy_product)(ProductDescriptor);
  ProductStatus (*set_product)(ProductDescriptor, int attribute, const void*, size_t bytes);
  ProductStatus (*create_matrix)(MatrixDescriptor*, int type, uint64_t rows, uint64_t columns,
                                 int64_t leading);
  ProductStatus (*destroy_matrix)(MatrixDescriptor);
  ProductStatus (*set_matrix)(MatrixDescriptor, int attribute, const void*, size_t bytes);
  ProductStatus (*create_preference)(ProductPreference*);
  ProductStatus (*destroy_preference)(ProductPreference);
  ProductStatus (*set_preference)(ProductPreference, int attribute, const void*, size_t bytes);
  ProductStatus (*find_algorithms)(ProductHandle, ProductDescriptor, MatrixDescriptor a,
                                   MatrixDescriptor b, MatrixDescriptor c, MatrixDescriptor d,
                                   ProductPreference, int most, FoundAlgorithm*, int* found);
  ProductStatus (*multiply)(ProductHandle, ProductDescriptor, const void* alpha, const void* a,
                            MatrixDescriptor, const void* b, MatrixDescriptor, const void* beta,
                            const void* c, MatrixDescriptor, void* d, MatrixDescriptor,
                            const ProductAlgorithm*, void* workspace, size_t workspace_bytes,
                            Stream);
};

// DeviceError that says what to install if there is none.
const CublasLt& cublaslt();
LibraryNames cublaslt_names();
// For tests: a library of a known path.
CublasLt open_cublaslt(const std::string& chosen);

// The handle of a device; the device is entered. Threads may share it.
ProductHandle product_handle(const CudaDevice& device);

// DeviceError with the name of the call and of the status, unless the call succeeded.
void check_product(ProductStatus status, const char* call);

}  // namespace cuda
}  // namespace plait
