// Kernels that are wrong: each fault is named.
#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

class Checks : public Gpu {};

std::string transposition(bool has_barrier) {
  return std::string(R"(
extern "C" __global__ void __launch_bounds__(1024) k(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  const int column = threadIdx.x, row = threadIdx.y;
  tile[row][column] = x[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column];
)") + (has_barrier ? "__syncthreads();" : "") +
         R"(
  y[(blockIdx.x * 32 + row) * n + blockIdx.y * 32 + column] = tile[column][row];
}
)";
}

CUresult transpose(CUfunction function, CUdeviceptr x, CUdeviceptr y, int n) {
  void* parameters[] = {&x, &y, &n};
  const unsigned tiles = static_cast<unsigned>(n) / 32;
  return library().cuLaunchKernel(function, tiles, tiles, 1, 32, 32, 1, 0, nullptr, parameters,
                                  nullptr);
}

std::vector<float> counted(int count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int k = 0; k < count; ++k) values[static_cast<size_t>(k)] = static_cast<float>(k);
  return values;
}

TEST_F(Checks, ATranspositionByTilesIsRight) {
  const int n = 64;
  const CUdeviceptr y = allocate(n * n * 4);
  expect_success(transpose(kernel(transposition(true)), upload(counted(n * n)), y, n));
  const auto transposed = download<float>(y, n * n);
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column)
      ASSERT_EQ(transposed[row * n + column], column * n + row);
  }
  EXPECT_EQ(findings(), "");
}

TEST_F(Checks, ARemovedBarrierIsARace) {
  const int n = 64;
  const CUdeviceptr x = upload(counted(n * n)), y = allocate(n * n * 4);
  for (const char* order : {"0", "1", "2", "3"}) {
    const WithSetting setting("PLAIT_EMULATED_ORDER", order);
    const CUfunction function = kernel(transposition(false));
    expect_success(transpose(function, x, y, n));
    EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_NE(findings().find("kernel k: "), std::string::npos);
    EXPECT_NE(findings().find("of shared memory"), std::string::npos);
    EXPECT_TRUE(findings().find("race: ") != std::string::npos ||
                findings().find("unwritten") != std::string::npos)
        << findings();
    EXPECT_NE(findings().find("(kernel.cu:"), std::string::npos) << findings();
  }
}

TEST_F(Checks, AnErrorOfAKernelStays) {
  const CUdeviceptr y = allocate(4);
  const CUfunction function = kernel("extern \"C\" __global__ void k(float* y) { y[1] = 0; }");
  expect_success(launch(function, 1, 1, nullptr, y));
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr other = 0;
  EXPECT_EQ(library().cuMemAlloc_v2(&other, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch(function, 1, 1, nullptr, y), CUDA_ERROR_ILLEGAL_ADDRESS);
  use_device(1);  // another context is not concerned
  expect_success(synchronize());
  use_device(0);
}

TEST_F(Checks, OutOfBoundsByOne) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = x[i];
}
)");
  expect_success(launch(function, 2, 64, nullptr, upload(counted(101)), allocate(400), 100));
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(findings().find("outside: thread 36 of block (1, 0, 0) writes 4 bytes at 0 bytes past "
                            "the end of an allocation of 400 "
                            "bytes of device 0"),
            std::string::npos)
      << findings();
  EXPECT_NE(findings().find("(kernel.cu:4)"), std::string::npos) << findings();
}

TEST_F(Checks, FreedMemoryAndMemoryOfAnotherDeviceAreOutside) {
  const CUfunction function = kernel("extern \"C\" __global__ void k(float* y) { y[0] = 1; }");
  CUdeviceptr freed = 0;
  expect_success(library().cuMemAlloc_v2(&freed, 64));
  expect_success(library().cuMemFree_v2(freed));
  expect_success(launch(function, 1, 1, nullptr, freed));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "outside: ");
  use_device(1);
  const CUdeviceptr other = allocate(64);
  use_device(0);
  expect_success(launch(function, 1, 1, nullptr, other));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "another device");
}

TEST_F(Checks, AnAddressFromMemoryIsNamed) {
  const CUfunction function = kernel("extern \"C\" __global__ void k(float** y) { *y[0] = 1; }");
  const CUdeviceptr y = allocate(4), table = upload(std::vector<CUdeviceptr>{y});
  expect_success(launch(function, 1, 1, nullptr, table));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS,
                 "not a parameter of the launch, which is not emulated");
}

TEST_F(Checks, AnAtomicAndAPlainAccessRace) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(int* y) {
  if (threadIdx.x < 2) atomicAdd(y, 1);
  if (threadIdx.x == 40) y[1] = y[0];
}
)");
  for (const char* order : {"0", "1"}) {
    const WithSetting setting("PLAIT_EMULATED_ORDER", order);
    expect_success(launch(function, 1, 64, nullptr, upload(std::vector<int>{0, 0})));
    expect_finding(CUDA_ERROR_LAUNCH_FAILED, "race: ");
  }
}

TEST_F(Checks, SharedMemoryHasBounds) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(float* y, int n) {
  __shared__ float s[8];
  extern __shared__ float more[];
  s[n] = 1;
  __syncthreads();
  y[0] = s[n];
}
)");
  expect_success(launch(function, 1, 1, nullptr, allocate(4), 7));
  expect_success(synchronize());
  expect_success(launch(function, 1, 1, nullptr, allocate(4), 8));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "past the shared memory");
}

TEST_F(Checks, AMisalignedVector) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(const float* x, float* y) {
  const float4 v = *(const float4*)(x + 1);
  y[0] = v.x + v.w;
}
)");
  expect_success(launch(function, 1, 1, nullptr, upload(counted(8)), allocate(4)));
  expect_finding(CUDA_ERROR_MISALIGNED_ADDRESS, "4 past a multiple of 16 (kernel.cu:3)");
}

TEST_F(Checks, AMisalignedNumber) {
  const CUfunction function = kernel(
      "extern \"C\" __global__ void k(const char* x, double* y) { y[0] = *(const double*)(x + 4); "
      "}");
  expect_success(launch(function, 1, 1, nullptr, upload(counted(8)), allocate(8)));
  expect_finding(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned");
}

TEST_F(Checks, UnwrittenMemory) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(const float* x, float* y) { y[0] = x[3]; }
extern "C" __global__ void shared(float* y) {
  __shared__ float s[4];
  s[0] = 1;
  y[0] = s[0] + s[1];
}
)");
  const CUdeviceptr x = allocate(16), y = allocate(4);
  expect_success(library().cuMemsetD32Async(x, 0, 3, nullptr));
  expect_success(launch(function, 1, 1, nullptr, x, y));
  expect_finding(
      CUDA_ERROR_LAUNCH_FAILED,
      "unwritten: thread 0 of block (0, 0, 0) reads 4 bytes at offset 12 of an allocation of 16");
}

TEST_F(Checks, SharedMemoryIsUnwrittenInEachBlock) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(float* y) {
  __shared__ float s;
  if (blockIdx.x == 0) s = 1;
  y[blockIdx.x] = s;
}
)");
  expect_success(launch(function, 2, 1, nullptr, allocate(8)));
  expect_finding(
      CUDA_ERROR_LAUNCH_FAILED,
      "unwritten: thread 0 of block (1, 0, 0) reads 4 bytes at offset 0 of shared memory");
}

TEST_F(Checks, RacesBetweenBlocks) {
  const CUfunction both = kernel("extern \"C\" __global__ void k(int* y) { y[0] = blockIdx.x; }");
  expect_success(launch(both, 2, 1, nullptr, allocate(4)));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED,
                 "race between blocks: thread 0 of block (1, 0, 0) writes");
  const CUfunction reads = kernel(R"(
extern "C" __global__ void k(int* y) {
  if (blockIdx.x == 0) y[1] = y[0]; else if (blockIdx.x == 2) y[0] = 1;
}
)");
  const CUdeviceptr y = upload(std::vector<int>{0, 0});
  for (const char* order : {"0", "1"}) {
    const WithSetting setting("PLAIT_EMULATED_ORDER", order);
    expect_success(launch(reads, 3, 1, nullptr, y));
    expect_finding(CUDA_ERROR_LAUNCH_FAILED, "race between blocks");
  }
}

TEST_F(Checks, NeighbouringBytesAreNoRace) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(unsigned char* y, unsigned short* z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i;
  z[i] = y[i];
  z[i] += 1;
}
)");
  const CUdeviceptr y = allocate(96), z = allocate(192);
  expect_success(launch(function, 3, 32, nullptr, y, z));
  const auto numbers = download<unsigned short>(z, 96);
  for (int k = 0; k < 96; ++k) EXPECT_EQ(numbers[static_cast<size_t>(k)], k + 1);
}

TEST_F(Checks, AtomicsAreNoRace) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(int* count, float* sum, unsigned* most) {
  atomicAdd(count, 1);
  atomicAdd(sum, 0.5f);
  atomicMax(most, blockIdx.x * blockDim.x + threadIdx.x);
}
)");
  const CUdeviceptr count = upload(std::vector<int>{0}), sum = upload(std::vector<float>{0}),
                    most = upload(std::vector<unsigned>{0});
  expect_success(launch(function, 5, 40, nullptr, count, sum, most));
  EXPECT_EQ(download<int>(count, 1)[0], 200);
  EXPECT_EQ(download<float>(sum, 1)[0], 100.f);
  EXPECT_EQ(download<unsigned>(most, 1)[0], 199u);
}

TEST_F(Checks, AWarpBarrierOrdersItsWarpOnly) {
  const auto text = [](const char* barrier, const char* other) {
    return std::string(
               "extern \"C\" __global__ void k(int* y) { __shared__ int s[64]; s[threadIdx.x] = "
               "threadIdx.x; ") +
           barrier + "; y[threadIdx.x] = s[threadIdx.x ^ " + other + "]; }";
  };
  const CUdeviceptr y = allocate(256);
  expect_success(launch(kernel(text("__syncwarp()", "5")), 1, 64, nullptr, y));
  EXPECT_EQ(download<int>(y, 64)[40], 45);
  expect_success(launch(kernel(text("__syncwarp()", "32")), 1, 64, nullptr, y));
  EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_FAILED);
  library().plait_emulator_reset();
  // A shuffle moves values but does not order memory.
  expect_success(
      launch(kernel(text("__shfl_xor_sync(0xffffffffu, 1, 1)", "5")), 1, 64, nullptr, y));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "race: ");
}

TEST_F(Checks, ABarrierThatSomeMiss) {
  const CUfunction function =
      kernel("extern \"C\" __global__ void k(int n) { if (threadIdx.x < n) __syncthreads(); }");
  expect_success(launch(function, 1, 64, nullptr, 64));
  expect_success(synchronize());
  expect_success(launch(function, 1, 64, nullptr, 63));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "barrier not reached by all threads: 63 of 64");
}

TEST_F(Checks, AShuffleWithoutItsWholeMask) {
  const CUfunction function = kernel(R"(
extern "C" __global__ void k(int* y) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffffu, v, 1);
  __syncthreads();
  y[threadIdx.x] = v;
}
)");
  expect_success(launch(function, 1, 32, nullptr, allocate(128)));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED,
                 "with mask 0xffffffff, which not all threads of the mask reach");
  const CUfunction outside =
      kernel("extern \"C\" __global__ void k() { __shfl_xor_sync(0xffffu, 1, 1); }");
  expect_success(launch(outside, 1, 32, nullptr));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED,
                 "thread 16 of block (0, 0, 0) is not in the mask 0x0000ffff");
  const CUfunction ended = kernel(
      "extern \"C\" __global__ void k() { if (threadIdx.x < 24) __shfl_xor_sync(0xffffffffu, 1, "
      "16); }");
  expect_success(launch(ended, 1, 32, nullptr));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "takes no part in the exchange");
}

TEST_F(Checks, AShuffleOfAWrongWidth) {
  const CUfunction function =
      kernel("extern \"C\" __global__ void k(int w) { __shfl_xor_sync(0xffffffffu, 1, 1, w); }");
  expect_success(launch(function, 1, 32, nullptr, 12));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "with a width of 12");
}

TEST_F(Checks, TrapsAndAssertions) {
  const CUfunction trap =
      kernel("extern \"C\" __global__ void k() { if (threadIdx.x == 3) __trap(); }");
  expect_success(launch(trap, 1, 32, nullptr));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "trap: thread 3");
  const CUfunction wrong = kernel("extern \"C\" __global__ void k(int n) {\n\n  assert(n > 1); }");
  expect_success(launch(wrong, 1, 1, nullptr, 1));
  expect_finding(CUDA_ERROR_ASSERT,
                 "assert(n > 1) fails in thread 0 of block (0, 0, 0) (kernel.cu:3)");
}

TEST_F(Checks, CanBeTurnedOff) {
  const WithSetting setting("PLAIT_EMULATED_CHECK", "0");
  const int n = 64;
  expect_success(
      transpose(kernel(transposition(false)), upload(counted(n * n)), allocate(n * n * 4), n));
  expect_success(synchronize());
  EXPECT_EQ(findings(), "");
}

class ChecksDeathTest : public Checks {};

TEST_F(ChecksDeathTest, HostCodeMayNotTouchDeviceMemory) {
  const CUdeviceptr x = upload(counted(4));
  EXPECT_DEATH(std::fprintf(stderr, "%f", static_cast<double>(*reinterpret_cast<float*>(x))), "");
}

}  // namespace
}  // namespace emulator_test
