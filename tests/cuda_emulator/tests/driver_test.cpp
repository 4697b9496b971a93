// Devices, contexts, memory, and functions by name.
#include <cstdio>
#include <cstring>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

class Driver : public Gpu {};

TEST_F(Driver, DescribesItsDevices) {
  int count = 0, version = 0, value = 0;
  char name[32];
  CUuuid first, second;
  expect_success(library().cuDeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  expect_success(library().cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12040);
  expect_success(library().cuDeviceGetName(name, sizeof name, 1));
  EXPECT_STREQ(name, "Emulated H100");
  for (const auto& [attribute, expected] :
       {std::pair{75, 9}, {76, 0}, {10, 32}, {1, 1024}, {97, 227 * 1024}, {16, 132}}) {
    expect_success(library().cuDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, expected);
  }
  EXPECT_EQ(library().cuDeviceGetAttribute(&value, 1, 2), CUDA_ERROR_INVALID_DEVICE);
  expect_success(library().cuDeviceGetUuid_v2(&first, 0));
  expect_success(library().cuDeviceGetUuid_v2(&second, 1));
  EXPECT_NE(std::memcmp(&first, &second, 16), 0);
}

TEST_F(Driver, FindsFunctionsByName) {
  void* function = nullptr;
  int status = -1;
  expect_success(library().cuGetProcAddress_v2("cuMemAlloc", &function, 12040, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(library().cuMemAlloc_v2.function));
  EXPECT_EQ(status, 0);
  expect_success(library().cuGetProcAddress_v2("cuLaunchKernel", &function, 12040, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(library().cuLaunchKernel.function));
  EXPECT_EQ(library().cuGetProcAddress_v2("cuNoSuchThing", &function, 12040, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, 1);
  const char* text = nullptr;
  expect_success(library().cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(Driver, NeedsAContext) {
  size_t free = 0, total = 0;
  expect_success(library().cuCtxSetCurrent(nullptr));
  EXPECT_EQ(library().cuMemGetInfo_v2(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(library().cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(library().cuCtxSetCurrent(reinterpret_cast<CUcontext>(&total)),
            CUDA_ERROR_INVALID_CONTEXT);
  use_device(0);
}

TEST_F(Driver, MemoryIsCountedAndRunsOut) {
  size_t before = 0, after = 0, total = 0;
  expect_success(library().cuMemGetInfo_v2(&before, &total));
  EXPECT_EQ(total, size_t{2} << 30);
  CUdeviceptr first = 0, second = 0;
  expect_success(library().cuMemAlloc_v2(&first, 1000));
  expect_success(library().cuMemAlloc_v2(&second, 1000));
  EXPECT_EQ(first % 256, 0u);
  EXPECT_TRUE(second >= first + 1000 + 256 || first >= second + 1000 + 256);
  expect_success(library().cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(before - after, 2000u);
  expect_success(library().cuMemFree_v2(first));
  expect_success(library().cuMemFree_v2(second));
  EXPECT_EQ(library().cuMemFree_v2(second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuMemFree_v2(second + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuMemAlloc_v2(&first, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(library().cuMemAlloc_v2(&first, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(library().cuMemAlloc_v2(&first, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, FreedMemoryIsNotReusedSoonAndFreshMemoryIsNan) {
  CUdeviceptr last = 0;
  for (int k = 0; k < 100; ++k) {
    CUdeviceptr address = 0;
    expect_success(library().cuMemAlloc_v2(&address, 4096));
    EXPECT_NE(address, last);
    EXPECT_NE(download<float>(address, 1)[0], download<float>(address, 1)[0]);
    expect_success(library().cuMemFree_v2(address));
    last = address;
  }
  for (int k = 0; k < 12; ++k) {  // 6 GB in turn, of 2
    CUdeviceptr address = 0;
    expect_success(library().cuMemAlloc_v2(&address, size_t{512} << 20));
    expect_success(library().cuMemFree_v2(address));
  }
}

TEST_F(Driver, CopiesStayWithinAllocations) {
  const CUdeviceptr x = allocate(100);
  char bytes[200] = {};
  EXPECT_EQ(library().cuMemcpyHtoD_v2(x, bytes, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuMemcpyDtoH_v2(bytes, x + 1, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuMemcpyDtoH_v2(bytes, reinterpret_cast<CUdeviceptr>(bytes), 4),
            CUDA_ERROR_INVALID_VALUE);
  expect_success(library().cuMemcpyHtoD_v2(x, bytes, 100));
}

TEST_F(Driver, PoolsCount) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {1, 0};
  CUmemoryPool pool = nullptr;
  expect_success(library().cuMemPoolCreate(&pool, &properties));
  uint64_t most = ~uint64_t{0}, value = 0;
  expect_success(library().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most));
  CUdeviceptr x = 0;
  const CUstream s = stream();
  expect_success(library().cuMemAllocFromPoolAsync(&x, 4000, pool, s));
  expect_success(library().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  EXPECT_EQ(value, 4000u);
  expect_success(library().cuMemFreeAsync(x, s));
  expect_success(library().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  EXPECT_EQ(value, 0u);
  expect_success(
      library().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
  EXPECT_EQ(value, 4000u);
  expect_success(library().cuMemPoolTrimTo(pool, 0));
  expect_success(
      library().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
  EXPECT_EQ(value, 0u);
  expect_success(library().cuStreamSynchronize(s));
  expect_success(library().cuMemPoolDestroy(pool));
}

TEST_F(Driver, WrongHandlesAreErrors) {
  int nothing = 0;
  auto* const wrong = reinterpret_cast<CUstream>(&nothing);
  EXPECT_EQ(library().cuStreamSynchronize(wrong), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(library().cuStreamDestroy_v2(wrong), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(library().cuEventQuery(reinterpret_cast<CUevent>(&nothing)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(library().cuModuleUnload(reinterpret_cast<CUmodule>(&nothing)),
            CUDA_ERROR_INVALID_HANDLE);
  CUmodule module = nullptr;
  EXPECT_EQ(library().cuModuleLoadData(&module,
                                       ".version 8.4 and more text of PTX, which is not emulated"),
            CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace emulator_test
