// Products of complex matrices by the emulated cuBLASLt, compared with a plain loop.
#include <complex>
#include <vector>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

using Complex = std::complex<float>;

class ComplexProducts : public Gpu {
 protected:
  static constexpr int64_t kRows = 3, kColumns = 4, kSteps = 5;

  // D = alpha op(A) B + beta D, by columns.
  std::vector<Complex> multiply(int operation, Complex alpha, Complex beta,
                                const std::vector<Complex>& a, const std::vector<Complex>& b,
                                const std::vector<Complex>& d) {
    const bool is_transposed = operation != CUBLAS_OP_N;
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulDesc_t product = nullptr;
    EXPECT_EQ(library().cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(library().cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_C_32F),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(library().cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                       &operation, sizeof operation),
              CUBLAS_STATUS_SUCCESS);
    cublasLtMatrixLayout_t layouts[3];
    const int64_t rows[] = {is_transposed ? kSteps : kRows, kSteps, kRows};
    const int64_t columns[] = {is_transposed ? kRows : kSteps, kColumns, kColumns};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(library().cublasLtMatrixLayoutCreate(&layouts[i], CUDA_C_32F,
                                                     static_cast<uint64_t>(rows[i]),
                                                     static_cast<uint64_t>(columns[i]), rows[i]),
                CUBLAS_STATUS_SUCCESS);
    }
    const CUdeviceptr at_a = upload(a), at_b = upload(b), at_d = upload(d);
    EXPECT_EQ(library().cublasLtMatmul(handle, product, &alpha, reinterpret_cast<const void*>(at_a),
                                       layouts[0], reinterpret_cast<const void*>(at_b), layouts[1],
                                       &beta, reinterpret_cast<const void*>(at_d), layouts[2],
                                       reinterpret_cast<void*>(at_d), layouts[2], nullptr, nullptr,
                                       size_t{0}, stream()),
              CUBLAS_STATUS_SUCCESS);
    expect_success(synchronize());
    for (const cublasLtMatrixLayout_t layout : layouts)
      library().cublasLtMatrixLayoutDestroy(layout);
    library().cublasLtMatmulDescDestroy(product);
    library().cublasLtDestroy(handle);
    return download<Complex>(at_d, d.size());
  }
};

std::vector<Complex> entries(int64_t count) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < count; ++i) {
    values.emplace_back(static_cast<float>(i * 7 % 5 - 2), static_cast<float>(i * 3 % 4 - 1));
  }
  return values;
}

TEST_F(ComplexProducts, EqualAPlainLoop) {
  const std::vector<Complex> a = entries(kRows * kSteps), b = entries(kSteps * kColumns),
                             d = entries(kRows * kColumns);
  const Complex alpha(2, 1), beta(0, -1);
  for (const int operation : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const std::vector<Complex> found = multiply(operation, alpha, beta, a, b, d);
    for (int64_t column = 0; column < kColumns; ++column) {
      for (int64_t row = 0; row < kRows; ++row) {
        Complex sum = 0;
        for (int64_t k = 0; k < kSteps; ++k) {
          const int64_t at = operation == CUBLAS_OP_N ? k * kRows + row : row * kSteps + k;
          const Complex x = a[static_cast<size_t>(at)];
          sum += (operation == CUBLAS_OP_C ? std::conj(x) : x) *
                 b[static_cast<size_t>(column * kSteps + k)];
        }
        const auto at = static_cast<size_t>(column * kRows + row);
        EXPECT_EQ(found[at], alpha * sum + beta * d[at]) << operation;
      }
    }
  }
  EXPECT_EQ(findings(), "");
}

}  // namespace
}  // namespace emulator_test
