// Kernels that are right run, and give what a loop gives.
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

class Kernels : public Gpu {};

constexpr const char* kAdd = R"(
extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)";

TEST_F(Kernels, AddVectors) {
  const int n = 1000;
  std::vector<float> a(n), b(n);
  std::iota(a.begin(), a.end(), 0.f);
  std::iota(b.begin(), b.end(), 100.f);
  const CUdeviceptr c = allocate(n * 4);
  expect_success(launch(kernel(kAdd), 4, 256, nullptr, upload(a), upload(b), c, n));
  const auto sum = download<float>(c, n);
  for (int i = 0; i < n; ++i) ASSERT_EQ(sum[i], 100.f + 2 * i);
  EXPECT_EQ(findings(), "");
}

// A block a row: sums by shuffles, and by shared memory among warps.
constexpr const char* kLayerNorm = R"(
__device__ __forceinline__ float block_sum(float v, float* sums) {
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = v;
  __syncthreads();
  v = (threadIdx.x & 31) < 8 ? sums[threadIdx.x & 31] : 0.f;
  for (int m = 4; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  v = __shfl_sync(0xffffffffu, v, 0);
  __syncthreads();
  return v;
}
extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ x, const float* __restrict__ scale,
                                                    const float* __restrict__ shift, float* __restrict__ y, int columns) {
  __shared__ float sums[8];
  const float* row = x + (long long)blockIdx.x * columns;
  float v[3], total = 0.f, squares = 0.f;
  #pragma unroll
  for (int k = 0; k < 3; ++k) total += v[k] = row[k * 256 + threadIdx.x];
  const float mean = block_sum(total, sums) / columns;
  for (int k = 0; k < 3; ++k) squares += (v[k] - mean) * (v[k] - mean);
  const float factor = rsqrtf(block_sum(squares, sums) / columns + 1e-5f);
  for (int k = 0; k < 3; ++k) {
    const int c = k * 256 + threadIdx.x;
    y[(long long)blockIdx.x * columns + c] = (v[k] - mean) * factor * scale[c] + shift[c];
  }
}
)";

std::vector<float> waves(int count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int k = 0; k < count; ++k)
    values[static_cast<size_t>(k)] = std::sin(static_cast<float>(k) * 0.37f) + 0.1f;
  return values;
}

TEST_F(Kernels, LayerNormGivesTheSameBitsInEachOrder) {
  const int rows = 512, columns = 768;
  const std::vector<float> x = waves(rows * columns), scale = waves(columns),
                           shift = waves(columns);
  const CUdeviceptr y = allocate(x.size() * 4), on_device = upload(x), scales = upload(scale),
                    shifts = upload(shift);
  std::vector<float> first;
  for (const auto& [order, check] :
       {std::pair{"0", "1"}, {"0", "0"}, {"1", "0"}, {"2", "0"}, {"3", "0"}}) {
    const WithSetting ordered("PLAIT_EMULATED_ORDER", order),
        checked("PLAIT_EMULATED_CHECK", check);
    const CUfunction function = kernel(kLayerNorm);
    const CUevent start = event(), end = event();
    float milliseconds = 0;
    expect_success(library().cuEventRecord(start, nullptr));
    expect_success(launch(function, rows, 256, nullptr, on_device, scales, shifts, y, columns));
    expect_success(library().cuEventRecord(end, nullptr));
    const auto result = download<float>(y, x.size());
    expect_success(library().cuEventElapsedTime(&milliseconds, start, end));
    std::printf("layer norm of 512 x 768, order %s, checks %s: %.0f ms\n", order, check,
                static_cast<double>(milliseconds));
    EXPECT_EQ(findings(), "");
    if (first.empty()) first = result;
    EXPECT_EQ(std::memcmp(first.data(), result.data(), result.size() * 4), 0);
  }
  double mean = 0, squares = 0;
  for (int c = 0; c < columns; ++c)
    mean += static_cast<double>(x[static_cast<size_t>(columns + c)]) / columns;
  for (int c = 0; c < columns; ++c)
    squares +=
        std::pow(static_cast<double>(x[static_cast<size_t>(columns + c)]) - mean, 2) / columns;
  for (int c = 0; c < columns; ++c) {
    const auto k = static_cast<size_t>(c);
    const double expected = (static_cast<double>(x[k + static_cast<size_t>(columns)]) - mean) /
                                std::sqrt(squares + 1e-5) * static_cast<double>(scale[k]) +
                            static_cast<double>(shift[k]);
    ASSERT_NEAR(first[k + static_cast<size_t>(columns)], expected, 1e-5);
  }
}

TEST_F(Kernels, ShufflesAndVotes) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(int* y, double* z) {
  const int t = threadIdx.x;
  int* row = y + t * 8;
  row[0] = __shfl_sync(0xffffffffu, t, 5);
  row[1] = __shfl_up_sync(0xffffffffu, t, 3);
  row[2] = __shfl_down_sync(0xffffffffu, t, 4, 8);
  row[3] = __shfl_xor_sync(0xffffffffu, t, 7);
  row[4] = __ballot_sync(0xffffffffu, t % 3 == 0);
  row[5] = __any_sync(0xffffffffu, t == 9) + 2 * __all_sync(0xffffffffu, t < 31);
  row[6] = __shfl_sync(0xffffffffu, t, 2, 16);
  row[7] = __syncthreads_count(t > 20);
  z[t] = __shfl_xor_sync(0xffffffffu, t * 0.5, 16);
}
)");
  const CUdeviceptr y = allocate(32 * 8 * 4), z = allocate(32 * 8);
  expect_success(launch(function, 1, 32, nullptr, y, z));
  const auto rows = download<int>(y, 256);
  const auto doubles = download<double>(z, 32);
  for (int t = 0; t < 32; ++t) {
    const int* row = rows.data() + t * 8;
    EXPECT_EQ(row[0], 5);
    EXPECT_EQ(row[1], t < 3 ? t : t - 3);
    EXPECT_EQ(row[2], t % 8 < 4 ? t + 4 : t);
    EXPECT_EQ(row[3], t ^ 7);
    EXPECT_EQ(static_cast<unsigned>(row[4]), 0x49249249u);
    EXPECT_EQ(row[5], 1);
    EXPECT_EQ(row[6], t / 16 * 16 + 2);
    EXPECT_EQ(row[7], 11);
    EXPECT_EQ(doubles[static_cast<size_t>(t)], (t ^ 16) * 0.5);
  }
}

TEST_F(Kernels, ShortNumbersRoundToNearestEven) {
  const CUfunction function = kernel(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k(const float* x, __half* h, __nv_bfloat16* b, float* back, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  h[i] = __float2half(x[i]);
  b[i] = __float2bfloat16(x[i]);
  back[i] = __half2float(h[i]) + __bfloat162float(b[i]);
}
)");
  const std::vector<float> x = {1.f,           65504.f, 65519.f,        65520.f,        6e-8f,
                                2.9802322e-8f, 3e-8f,   1.00048828125f, 1.00146484375f, -0.f,
                                6.1e-5f};
  const std::vector<uint16_t> half = {0x3c00, 0x7bff, 0x7bff, 0x7c00, 1,     0,
                                      1,      0x3c00, 0x3c02, 0x8000, 0x03ff};
  const auto n = static_cast<int>(x.size());
  const CUdeviceptr h = allocate(64), b = allocate(64), back = allocate(64);
  expect_success(launch(function, 1, 32, nullptr, upload(x), h, b, back, n));
  EXPECT_EQ(download<uint16_t>(h, x.size()), half);
  const auto shorter = download<uint16_t>(b, x.size());
  EXPECT_EQ(shorter[0], 0x3f80);
  EXPECT_EQ(shorter[7], 0x3f80);
}

TEST_F(Kernels, PrintsAndTemplates) {
  const CUfunction function = kernel(R"(
template <class T> __global__ void any(T* y) { *y = 0; }
template <int kFactor> __device__ int times(int x) { return kFactor * x; }
extern "C" __global__ void k() { printf("thread %d of %u\n", times<2>(threadIdx.x), blockDim.x); }
)");
  testing::internal::CaptureStdout();
  expect_success(launch(function, 1, 2, nullptr));
  expect_success(synchronize());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "thread 0 of 2\nthread 2 of 2\n");
}

TEST_F(Kernels, FunctionsOfCuda) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(double* y) {
  int i = 0;
  y[i++] = erfinv(erf(0.3));
  y[i++] = erfcinv(1e-30) - 8.1486162231699;
  y[i++] = normcdf(normcdfinv(0.2));
  y[i++] = sinpi(0.25) * sinpi(0.25);
  y[i++] = rsqrtf(16.f);
  y[i++] = __popc(0xff0fu) + __clz(1) + __ffs(8);
  y[i++] = __brev(1u);
  y[i++] = __umulhi(0x80000000u, 6u);
  y[i++] = (double)__umul64hi(1ull << 63, 10ull);
  y[i++] = __float2int_rn(2.5f) + __float2int_rz(-2.7f) + __float2int_rd(-2.1f);
  y[i++] = __byte_perm(0x33221100u, 0x77665544u, 0x7410u);
  y[i++] = max(3, 4u) + min(2.f, 1.f) + fmaxf(1.f, 0.f) + abs(-2);
}
)");
  const CUdeviceptr y = allocate(12 * 8);
  expect_success(launch(function, 1, 1, nullptr, y));
  const std::vector<double> expected = {
      0.3, -1.04e-13 * 0, 0.2, 0.5, 0.25, 12 + 31 + 4, 2147483648., 3, 5, 2 - 2 - 3, 0x77441100, 8};
  const auto values = download<double>(y, 12);
  for (size_t k = 0; k < 12; ++k)
    EXPECT_NEAR(values[k], expected[k], 1e-9 * std::fabs(expected[k]) + 1e-9) << k;
}

TEST_F(Kernels, DynamicSharedMemoryAboveTheLimitIsAskedFor) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(int* y, int n) {
  extern __shared__ int numbers[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) numbers[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *y = numbers[n - 1];
}
)");
  CUdeviceptr y = allocate(4);
  int n = 50000;
  void* parameters[] = {&y, &n};
  const auto start = [&](unsigned bytes) {
    return library().cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, bytes, nullptr, parameters,
                                    nullptr);
  };
  EXPECT_EQ(start(200000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         228 * 1024),
            CUDA_ERROR_INVALID_VALUE);
  expect_success(library().cuFuncSetAttribute(
      function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
  expect_success(start(200000));
  EXPECT_EQ(download<int>(y, 1)[0], 49999);
  expect_success(start(199996));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "past the shared memory");
}

TEST_F(Kernels, LimitsOfLaunches) {
  const CUfunction function = kernel(kAdd);
  CUdeviceptr address = 0;
  int n = 0;
  void* parameters[] = {&address, &address, &address, &n};
  const auto start = [&](unsigned grid_y, unsigned threads) {
    return library().cuLaunchKernel(function, 1, grid_y, 1, threads, 1, 1, 0, nullptr, parameters,
                                    nullptr);
  };
  expect_success(start(65535, 1));
  EXPECT_EQ(start(65536, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(start(0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(start(1, 257), CUDA_ERROR_INVALID_VALUE);  // more than its __launch_bounds__
  EXPECT_EQ(library().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  char packed[28] = {};
  size_t bytes = 28;
  void* extra[] = {reinterpret_cast<void*>(1), packed, reinterpret_cast<void*>(2), &bytes, nullptr};
  expect_success(library().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  bytes = 24;
  EXPECT_EQ(library().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
  int blocks = 0, threads = 0;
  expect_success(library().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  EXPECT_EQ(blocks, 8);
  expect_success(
      library().cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(threads, 256);
}

TEST_F(Kernels, GlobalsAndStructures) {
  const CompiledText compiled = compile(R"(
struct View { const float* data; long long stride; };
__constant__ float factors[2];
__device__ int calls = 5;
extern "C" __global__ void k(View x, float* y) { y[0] = x.data[x.stride] * factors[1]; atomicAdd(&calls, 1); }
)");
  ASSERT_EQ(compiled.result, NVRTC_SUCCESS) << compiled.log;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr factors = 0, calls = 0;
  size_t bytes = 0;
  expect_success(library().cuModuleLoadData(&module, compiled.image.data()));
  expect_success(library().cuModuleGetFunction(&function, module, "k"));
  EXPECT_EQ(library().cuModuleGetFunction(&function, module, "calls"), CUDA_ERROR_NOT_FOUND);
  expect_success(library().cuModuleGetGlobal_v2(&factors, &bytes, module, "factors"));
  EXPECT_EQ(bytes, 8u);
  expect_success(library().cuModuleGetGlobal_v2(&calls, &bytes, module, "calls"));
  const float values[] = {2, 3};
  expect_success(library().cuMemcpyHtoD_v2(factors, values, 8));
  struct {
    CUdeviceptr data;
    long long stride;
  } view = {upload(std::vector<float>{10, 20, 30}), 2};
  const CUdeviceptr y = allocate(4);
  expect_success(launch(function, 1, 1, nullptr, view, y));
  EXPECT_EQ(download<float>(y, 1)[0], 90.f);
  EXPECT_EQ(download<int>(calls, 1)[0], 6);
  expect_success(library().cuModuleUnload(module));
}

}  // namespace
}  // namespace emulator_test
