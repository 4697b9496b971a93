// Products of the emulated cuBLASLt, compared with a plain loop, and what its manual forbids.
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

// Numbers of small formats, which the test only makes from values that they hold exactly.
struct Type {
  int code;
  size_t bytes;
  double (*load)(const char*);
  void (*store)(char*, double);
};

template <class T>
T as(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
double load_plain(const char* bytes) {
  return static_cast<double>(as<T>(bytes));
}

template <class T>
void store_plain(char* bytes, double value) {
  const T own = static_cast<T>(value);
  std::memcpy(bytes, &own, sizeof own);
}

// A format with so many bits of exponent and mantissa; for values that it holds.
template <class Bits, int kExponent, int kMantissa>
double load_short(const char* bytes) {
  const unsigned bits = as<Bits>(bytes), bias = (1u << (kExponent - 1)) - 1;
  const unsigned exponent = bits >> kMantissa & ((1u << kExponent) - 1),
                 fraction = bits & ((1u << kMantissa) - 1);
  if (!exponent && !fraction) return 0;
  const double magnitude =
      std::ldexp((exponent ? 1 : 0) + std::ldexp(fraction, -kMantissa),
                 static_cast<int>(std::max(exponent, 1u)) - static_cast<int>(bias));
  return bits >> (kExponent + kMantissa) & 1 ? -magnitude : magnitude;
}

template <class Bits, int kExponent, int kMantissa>
void store_short(char* bytes, double value) {
  Bits bits = 0;
  if (value != 0) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const int biased = exponent - 1 + (1 << (kExponent - 1)) - 1;
    bits = static_cast<Bits>(
        biased << kMantissa |
        (static_cast<int>(std::ldexp(fraction, kMantissa + 1)) - (1 << kMantissa)));
    if (value < 0) bits = static_cast<Bits>(bits | 1 << (kExponent + kMantissa));
  }
  std::memcpy(bytes, &bits, sizeof bits);
}

const Type kF64 = {CUDA_R_64F, 8, load_plain<double>, store_plain<double>};
const Type kF32 = {CUDA_R_32F, 4, load_plain<float>, store_plain<float>};
const Type kF16 = {CUDA_R_16F, 2, load_short<uint16_t, 5, 10>, store_short<uint16_t, 5, 10>};
const Type kBF16 = {CUDA_R_16BF, 2, load_short<uint16_t, 8, 7>, store_short<uint16_t, 8, 7>};
const Type kE4M3 = {CUDA_R_8F_E4M3, 1, load_short<uint8_t, 4, 3>, store_short<uint8_t, 4, 3>};
const Type kE5M2 = {CUDA_R_8F_E5M2, 1, load_short<uint8_t, 5, 2>, store_short<uint8_t, 5, 2>};

// Small integers, which have exact products in all types.
double entry(int64_t seed) { return static_cast<double>((seed * 7919 + seed / 13) % 5 - 2); }

struct Case {
  const Type *a, *b, *c, *d;
  int compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F;
  bool transpose_a = false, transpose_b = false;
  int64_t m = 32, n = 24, k = 48, padding = 16;
  int batches = 1;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  double alpha = 2, beta = 1;
  bool with_algorithm = true;
  int a_offset = 0;  // in bytes
};

class Products : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    ASSERT_EQ(library().cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(library().cublasLtDestroy(handle_), CUBLAS_STATUS_SUCCESS);
    Gpu::TearDown();
  }

  // A matrix by columns, padded, with its entries: those of batch z from 1000 z + seed on.
  CUdeviceptr matrix(const Type& type, int64_t rows, int64_t columns, int64_t leading, int batches,
                     int64_t seed) {
    // One line more, for a test with lines that are too short.
    std::vector<char> bytes(static_cast<size_t>(leading * columns * batches + rows) * type.bytes,
                            0);
    for (int64_t z = 0; z < batches; ++z) {
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
          type.store(
              bytes.data() + static_cast<size_t>((z * columns + j) * leading + i) * type.bytes,
              entry(1000 * z + seed + j * rows + i));
        }
      }
    }
    return upload(bytes);
  }

  cublasLtMatrixLayout_t layout(const Type& type, int64_t rows, int64_t columns, int64_t leading,
                                int batches) {
    cublasLtMatrixLayout_t made = nullptr;
    EXPECT_EQ(library().cublasLtMatrixLayoutCreate(&made, type.code, static_cast<uint64_t>(rows),
                                                   static_cast<uint64_t>(columns), leading),
              CUBLAS_STATUS_SUCCESS);
    const int64_t stride = leading * columns;
    EXPECT_EQ(library().cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                         &batches, 4),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(library().cublasLtMatrixLayoutSetAttribute(
                  made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, 8),
              CUBLAS_STATUS_SUCCESS);
    return made;
  }

  template <class T>
  void set(cublasLtMatmulDesc_t desc, int attribute, T value) {
    EXPECT_EQ(library().cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }

  cublasStatus_t run(const Case& c) {
    const int64_t a_rows = c.transpose_a ? c.k : c.m, b_rows = c.transpose_b ? c.n : c.k;
    const int64_t a_columns = c.transpose_a ? c.m : c.k, b_columns = c.transpose_b ? c.k : c.n;
    a_ = matrix(*c.a, a_rows, a_columns, a_rows + c.padding, c.batches, 1);
    b_ = matrix(*c.b, b_rows, b_columns, b_rows + c.padding, c.batches, 2);
    c_ = matrix(*c.c, c.m, c.n, c.m + c.padding, c.batches, 3);
    d_ = allocate(static_cast<size_t>((c.m + c.padding) * c.n * c.batches) * c.d->bytes);
    bias_ = matrix(c.d->bytes > 1 ? *c.d : *c.c, std::max(c.m, c.n), 1, std::max(c.m, c.n), 1, 4);
    auxiliary_ = allocate(static_cast<size_t>((c.m + c.padding) * c.n) * c.d->bytes);
    if (change_) change_();
    cublasLtMatmulDesc_t desc = nullptr;
    EXPECT_EQ(library().cublasLtMatmulDescCreate(&desc, c.compute, c.scale), CUBLAS_STATUS_SUCCESS);
    set(desc, CUBLASLT_MATMUL_DESC_TRANSA, c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(desc, CUBLASLT_MATMUL_DESC_TRANSB, c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary_);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, c.m + c.padding);
    const cublasLtMatrixLayout_t layouts[] = {
        layout(*c.a, a_rows, a_columns, a_rows + c.padding, c.batches),
        layout(*c.b, b_rows, b_columns, b_rows + c.padding, c.batches),
        layout(*c.c, c.m, c.n, c.m + c.padding, c.batches),
        layout(*c.d, c.m, c.n, c.m + c.padding, c.batches)};
    const cublasStatus_t status = multiply(c, desc, layouts);
    for (const cublasLtMatrixLayout_t made : layouts) library().cublasLtMatrixLayoutDestroy(made);
    library().cublasLtMatmulDescDestroy(desc);
    return status;
  }

  cublasStatus_t multiply(const Case& c, cublasLtMatmulDesc_t desc,
                          const cublasLtMatrixLayout_t (&layouts)[4]) {
    cublasLtMatmulPreference_t preference = nullptr;
    library().cublasLtMatmulPreferenceCreate(&preference);
    const uint64_t workspace_bytes = 4 << 20;
    library().cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, 8);
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    const cublasStatus_t status =
        library().cublasLtMatmulAlgoGetHeuristic(handle_, desc, layouts[0], layouts[1], layouts[2],
                                                 layouts[3], preference, 1, &found, &count);
    library().cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    const CUdeviceptr workspace = allocate(found.workspaceSize + 16);
    const auto alpha = static_cast<float>(c.alpha), beta = static_cast<float>(c.beta);
    const bool is_double = c.scale == CUDA_R_64F;
    const auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    return library().cublasLtMatmul(
        handle_, desc, is_double ? static_cast<const void*>(&c.alpha) : &alpha,
        pointer(a_ + static_cast<CUdeviceptr>(c.a_offset)), layouts[0], pointer(b_), layouts[1],
        is_double ? static_cast<const void*>(&c.beta) : &beta, pointer(c_), layouts[2], pointer(d_),
        layouts[3], c.with_algorithm ? &found.algo : nullptr, pointer(workspace),
        found.workspaceSize, nullptr);
  }

  double product(const Case& c, int64_t z, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const double a = entry(1000 * z + 1 + (c.transpose_a ? i * c.k + k : k * c.m + i));
      const double b = entry(1000 * z + 2 + (c.transpose_b ? k * c.n + j : j * c.k + k));
      sum += a * b;
    }
    return c.alpha * sum + c.beta * entry(1000 * z + 3 + j * c.m + i);
  }

  void expect_result(const Case& c,
                     const std::function<double(double, int64_t)>& epilogue = nullptr,
                     double tolerance = 0) {
    ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS) << c.a->code << " " << c.d->code;
    const auto bytes =
        download<char>(d_, static_cast<size_t>((c.m + c.padding) * c.n * c.batches) * c.d->bytes);
    for (int64_t z = 0; z < c.batches; ++z) {
      for (int64_t j = 0; j < c.n; ++j) {
        for (int64_t i = 0; i < c.m; ++i) {
          const double expected = epilogue ? epilogue(product(c, z, i, j), i) : product(c, z, i, j);
          const double actual =
              c.d->load(bytes.data() +
                        static_cast<size_t>((z * c.n + j) * (c.m + c.padding) + i) * c.d->bytes);
          ASSERT_NEAR(actual, expected, tolerance) << i << " " << j << " " << z;
        }
      }
    }
    EXPECT_EQ(findings(), "");
  }

  double bias(int64_t i) { return entry(4 + i); }

  cublasLtHandle_t handle_ = nullptr;
  CUdeviceptr a_ = 0, b_ = 0, c_ = 0, d_ = 0, bias_ = 0, auxiliary_ = 0;
  std::function<void()> change_;  // changes the matrices before they are multiplied
};

TEST_F(Products, OfEachType) {
  expect_result({&kF64, &kF64, &kF64, &kF64, CUBLAS_COMPUTE_64F, CUDA_R_64F});
  expect_result({&kF32, &kF32, &kF32, &kF32});
  expect_result({&kF32, &kF32, &kF32, &kF32, CUBLAS_COMPUTE_32F_FAST_TF32});
  expect_result({&kF16, &kF16, &kF16, &kF16});
  expect_result({&kF16, &kF16, &kF32, &kF32});
  expect_result({&kBF16, &kBF16, &kF32, &kF32});
  expect_result({&kE4M3, &kE4M3, &kF32, &kF32, CUBLAS_COMPUTE_32F, CUDA_R_32F, true});
  expect_result(
      {&kE4M3, &kE5M2, &kBF16, &kBF16, CUBLAS_COMPUTE_32F, CUDA_R_32F, true, false, 32, 24, 16, 16},
      nullptr, 0.5);
}

TEST_F(Products, TransposedAndBatched) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      expect_result(
          {&kF32, &kF32, &kF32, &kF32, CUBLAS_COMPUTE_32F, CUDA_R_32F, a, b, 17, 9, 21, 3, 3});
    }
  }
  Case direct = {&kF32, &kF32, &kF32, &kF32};
  direct.with_algorithm = false;
  direct.beta = 0;
  expect_result(direct);
}

TEST_F(Products, Tf32RoundsItsFactors) {
  Case c = {&kF32, &kF32, &kF32, &kF32, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, false, false,
            1,     1,     1,     0};
  c.beta = 0;
  c.alpha = 1;
  const float numbers[] = {1.0006f, 1.f};
  change_ = [&] {
    expect_success(library().cuMemcpyHtoD_v2(a_, &numbers[0], 4));
    expect_success(library().cuMemcpyHtoD_v2(b_, &numbers[1], 4));
  };
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(download<float>(d_, 1)[0], 1 + 1 / 1024.f);
  c.compute = CUBLAS_COMPUTE_32F;
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(download<float>(d_, 1)[0], 1.0006f);
}

TEST_F(Products, RunInTheOrderOfTheirStream) {
  const Case c = {&kF32, &kF32, &kF32, &kF32};
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);
  expect_success(library().cuMemsetD32Async(a_, 0, 4, nullptr));  // after the product
  const double first = product(c, 0, 0, 0);
  EXPECT_EQ(download<float>(d_, 1)[0], static_cast<float>(first));
}

TEST_F(Products, Epilogues) {
  Case c = {&kF32, &kF32, &kF32, &kF32};
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  c.epilogue = CUBLASLT_EPILOGUE_BIAS;
  expect_result(c, [&](double x, int64_t i) { return x + bias(i); });
  c.epilogue = CUBLASLT_EPILOGUE_RELU;
  expect_result(c, [&](double x, int64_t) { return std::max(x, 0.); });
  c.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  expect_result(c, [&](double x, int64_t i) { return std::max(x + bias(i), 0.); });
  c.epilogue = CUBLASLT_EPILOGUE_GELU;
  expect_result(c, [&](double x, int64_t) { return gelu(x); }, 1e-5);
  c.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  expect_result(c, [&](double x, int64_t i) { return gelu(x + bias(i)); }, 1e-5);
  EXPECT_EQ(download<float>(auxiliary_, 1)[0], product(c, 0, 0, 0) + bias(0));
}

TEST_F(Products, GradientsOfBiases) {
  Case c = {&kF32, &kF32, &kF32, &kF32};
  c.epilogue = CUBLASLT_EPILOGUE_BGRADB;
  expect_result(c);
  double sum = 0;
  for (int64_t k = 0; k < c.k; ++k) sum += entry(2 + 3 * c.k + k);
  EXPECT_EQ(download<float>(bias_, 4)[3], sum);
  c.epilogue = CUBLASLT_EPILOGUE_BGRADA;
  expect_result(c);
  sum = 0;
  for (int64_t k = 0; k < c.k; ++k) sum += entry(1 + k * c.m + 5);
  EXPECT_EQ(download<float>(bias_, 6)[5], sum);
}

TEST_F(Products, TheBackwardPassOfGelu) {
  Case c = {&kF32, &kF32, &kF32, &kF32};
  c.epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD;
  const double slope = 1.0829640838457826;  // the slope at 1 of the approximation by tanh
  change_ = [&] {
    const size_t count = static_cast<size_t>((c.m + c.padding) * c.n);
    expect_success(library().cuMemsetD32Async(auxiliary_, 0x3f800000u, count, nullptr));
  };
  expect_result(c, [&](double x, int64_t) { return x * slope; }, 1e-3);
  double sum = 0;
  for (int64_t j = 0; j < c.n; ++j) sum += product(c, 0, 2, j) * slope;
  EXPECT_NEAR(download<float>(bias_, 3)[2], sum, 1e-2);
  change_ = nullptr;  // the argument of GELU was never stored
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "cublasLtMatmul: unwritten");
}

TEST_F(Products, WhatTheManualForbids) {
  EXPECT_EQ(run({&kF16, &kBF16, &kF16, &kF16}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({&kF64, &kF64, &kF64, &kF64}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({&kE4M3, &kE4M3, &kF32, &kF32}), CUBLAS_STATUS_NOT_SUPPORTED);  // not transposed
  EXPECT_EQ(run({&kE5M2, &kE5M2, &kF32, &kF32, CUBLAS_COMPUTE_32F, CUDA_R_32F, true}),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(
      run({&kE4M3, &kE4M3, &kF32, &kF32, CUBLAS_COMPUTE_32F, CUDA_R_32F, true, false, 32, 24, 40}),
      CUBLAS_STATUS_NOT_SUPPORTED);
  Case c = {&kF32, &kF32, &kF32, &kF32};
  c.padding = -1;
  EXPECT_EQ(run(c), CUBLAS_STATUS_INVALID_VALUE);
  c = {&kF32, &kF32, &kF32, &kF32};
  c.a_offset = 16;  // the algorithm relies on 256 bytes
  EXPECT_EQ(run(c), CUBLAS_STATUS_INVALID_VALUE);
  c.with_algorithm = false;
  c.a_offset = 2;
  EXPECT_EQ(run(c), CUBLAS_STATUS_INVALID_VALUE);
  c = {&kF32, &kF32, &kF32, &kF32};
  c.epilogue = 4096;
  EXPECT_EQ(run(c), CUBLAS_STATUS_NOT_SUPPORTED);
  c.epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
  c.padding = 3;  // columns of the auxiliary matrix: not a multiple of 8
  EXPECT_EQ(run(c), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(Products, MemoryIsChecked) {
  Case c = {&kF32, &kF32, &kF32, &kF32};
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);  // queued
  c.with_algorithm = false;
  c.a_offset = 4 * 64;
  ASSERT_EQ(run(c), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(findings().find("cublasLtMatmul: outside"), std::string::npos);
}

}  // namespace
}  // namespace emulator_test
