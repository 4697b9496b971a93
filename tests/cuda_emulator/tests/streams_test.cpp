// Streams run as late as they may, so that a missing wait shows.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

constexpr const char* kSet =
    "extern \"C\" __global__ void k(int* y, int v) { y[threadIdx.x] = v; }";
constexpr const char* kAddTo =
    "extern \"C\" __global__ void k(int* y, const int* x) { y[threadIdx.x] += x[threadIdx.x]; }";

class Streams : public Gpu {};

TEST_F(Streams, AMissingWaitShows) {
  const CUstream s = stream();
  const CUdeviceptr y = upload(std::vector<int>(4, 1));
  auto* const pinned = static_cast<int*>(allocate_pinned(16));
  std::memset(pinned, 0, 16);
  expect_success(launch(kernel(kSet), 1, 4, s, y, 7));
  expect_success(library().cuMemcpyDtoHAsync_v2(pinned, y, 16, s));
  EXPECT_EQ(pinned[0], 0);
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(pinned[0], 7);
}

TEST_F(Streams, ACopyToPageableMemoryWaits) {
  const CUstream s = stream();
  const CUdeviceptr y = upload(std::vector<int>(4, 1));
  expect_success(launch(kernel(kSet), 1, 4, s, y, 7));
  int values[4] = {};
  expect_success(library().cuMemcpyDtoHAsync_v2(values, y, 16, s));
  EXPECT_EQ(values[3], 7);
}

TEST_F(Streams, ASourceIsReadLateIfItIsPinned) {
  const CUstream s = stream();
  auto* const pinned = static_cast<int*>(allocate_pinned(4));
  int pageable = 1;
  *pinned = 1;
  const CUdeviceptr from_pinned = allocate(4), from_pageable = allocate(4);
  expect_success(library().cuMemcpyHtoDAsync_v2(from_pinned, pinned, 4, s));
  expect_success(library().cuMemcpyHtoDAsync_v2(from_pageable, &pageable, 4, s));
  *pinned = pageable = 2;  // too early
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(download<int>(from_pinned, 1)[0], 2);
  EXPECT_EQ(download<int>(from_pageable, 1)[0], 1);
}

TEST_F(Streams, RegisteredMemoryIsPinned) {
  std::vector<int> memory(4, 1);
  expect_success(library().cuMemHostRegister_v2(memory.data(), 16, 0));
  EXPECT_EQ(library().cuMemHostRegister_v2(memory.data() + 1, 4, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  const CUstream s = stream();
  const CUdeviceptr x = allocate(16);
  expect_success(library().cuMemcpyHtoDAsync_v2(x, memory.data(), 16, s));
  memory[0] = 2;
  expect_success(library().cuMemHostUnregister(memory.data()));
  EXPECT_EQ(library().cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(download<int>(x, 1)[0], 2);
}

// y = 1, then y += 2 in another stream; the wait between them may be missing.
int sum_of_two_streams(CUfunction set, CUfunction add, CUstream first, CUstream second,
                       CUevent event, CUdeviceptr x, CUdeviceptr y) {
  void* one[] = {&y, nullptr};
  int value = 1, result = 0;
  one[1] = &value;
  void* two[] = {&y, &x};
  expect_success(library().cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, first, one, nullptr));
  if (event) {
    expect_success(library().cuEventRecord(event, first));
    expect_success(library().cuStreamWaitEvent(second, event, 0));
  }
  expect_success(library().cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, second, two, nullptr));
  expect_success(library().cuStreamSynchronize(second));
  expect_success(library().cuStreamSynchronize(first));
  expect_success(library().cuMemcpyDtoH_v2(&result, y, 4));
  return result;
}

TEST_F(Streams, EventsOrderStreams) {
  const CUdeviceptr x = upload(std::vector<int>{2}), y = upload(std::vector<int>{100});
  const CUfunction set = kernel(kSet), add = kernel(kAddTo);
  EXPECT_EQ(sum_of_two_streams(set, add, stream(), stream(), event(), x, y), 3);
  EXPECT_EQ(sum_of_two_streams(set, add, stream(), stream(), nullptr, x, y),
            1);  // the missing wait
  for (const char* order : {"1", "2", "3", "4"}) {
    const WithSetting setting("PLAIT_EMULATED_ORDER", order);
    EXPECT_EQ(sum_of_two_streams(set, add, stream(), stream(), event(), x, y), 3);
  }
}

TEST_F(Streams, TheLegacyStreamWaitsForBlockingStreams) {
  const CUdeviceptr x = upload(std::vector<int>{2}), y = upload(std::vector<int>{100});
  const CUfunction set = kernel(kSet), add = kernel(kAddTo);
  EXPECT_EQ(sum_of_two_streams(set, add, stream(0), nullptr, nullptr, x, y), 3);
  EXPECT_EQ(sum_of_two_streams(set, add, nullptr, stream(0), nullptr, x, y), 3);
}

TEST_F(Streams, PollsEnd) {
  const CUstream s = stream();
  const CUevent e = event();
  EXPECT_EQ(library().cuEventQuery(e), CUDA_SUCCESS);
  expect_success(launch(kernel(kSet), 1, 4, s, allocate(16), 7));
  expect_success(library().cuEventRecord(e, s));
  EXPECT_EQ(library().cuEventQuery(e), CUDA_ERROR_NOT_READY);
  int polls = 0;
  while (library().cuEventQuery(e) == CUDA_ERROR_NOT_READY) ++polls;
  EXPECT_LT(polls, 3);
  EXPECT_EQ(library().cuStreamQuery(s), CUDA_SUCCESS);
}

TEST_F(Streams, MemoryInTheOrderOfAStream) {
  const CUstream s = stream(), other = stream();
  const CUfunction set = kernel(kSet);
  CUdeviceptr y = 0;
  expect_success(library().cuMemAllocAsync(&y, 16, s));
  expect_success(launch(set, 1, 4, s, y, 3));
  expect_success(library().cuMemFreeAsync(y, s));
  EXPECT_EQ(library().cuMemFreeAsync(y, s), CUDA_ERROR_INVALID_VALUE);
  expect_success(library().cuStreamSynchronize(s));
  // Used after it is freed, in the order of the stream.
  expect_success(library().cuMemAllocAsync(&y, 16, s));
  expect_success(library().cuMemFreeAsync(y, s));
  expect_success(launch(set, 1, 4, s, y, 3));
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "outside: ");
  // Used in another stream without a wait for its allocation.
  expect_success(library().cuMemAllocAsync(&y, 16, s));
  expect_success(launch(set, 1, 4, other, y, 3));
  EXPECT_EQ(library().cuStreamSynchronize(other), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Streams, HostFunctionsMayNotCallTheDriver) {
  static CUresult inside = CUDA_SUCCESS;
  const CUstream s = stream();
  expect_success(library().cuLaunchHostFunc(
      s,
      [](void* data) {
        *static_cast<int*>(data) = 5;
        size_t free = 0, total = 0;
        inside = library().cuMemGetInfo_v2(&free, &total);
      },
      &inside));
  EXPECT_EQ(inside, CUDA_SUCCESS);
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(inside, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(Streams, TwoDevicesCopyToEachOther) {
  CUcontext contexts[2];
  expect_success(library().cuCtxGetCurrent(&contexts[0]));
  const CUfunction set = kernel(kSet);
  const CUdeviceptr x = upload(std::vector<int>{1, 2, 3});
  use_device(1);
  expect_success(library().cuCtxGetCurrent(&contexts[1]));
  const CUstream s = stream();
  const CUdeviceptr y = allocate(12);
  expect_success(library().cuMemcpyPeerAsync(y, contexts[1], x, contexts[0], 12, s));
  EXPECT_EQ(library().cuMemcpyPeerAsync(y, contexts[0], x, contexts[1], 12, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(set, 1, 1, s, y, 1),
            CUDA_ERROR_INVALID_HANDLE);  // a kernel that is loaded for the other device
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(download<int>(y, 3), (std::vector<int>{1, 2, 3}));
  int device = 0;
  expect_success(library().cuPointerGetAttribute(&device, 9, y));
  EXPECT_EQ(device, 1);
}

TEST_F(Streams, SeveralHostThreads) {
  const std::vector<char> image = compile(kAddTo).image;
  CUcontext context = nullptr;
  expect_success(library().cuCtxGetCurrent(&context));
  std::atomic<int> right = 0;
  const auto work = [&] {
    expect_success(library().cuCtxSetCurrent(context));
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    CUstream own = nullptr;
    CUdeviceptr x = 0, y = 0;
    expect_success(library().cuModuleLoadData(&module, image.data()));
    expect_success(library().cuModuleGetFunction(&add, module, "k"));
    expect_success(library().cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    expect_success(library().cuMemAllocAsync(&x, 128, own));
    expect_success(library().cuMemAllocAsync(&y, 128, own));
    expect_success(library().cuMemsetD32Async(x, 2, 32, own));
    expect_success(library().cuMemsetD32Async(y, 1, 32, own));
    void* parameters[] = {&y, &x};
    for (int k = 0; k < 50; ++k)
      expect_success(library().cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, own, parameters, nullptr));
    int result[32] = {};
    expect_success(library().cuMemcpyDtoHAsync_v2(result, y, 128, own));
    right += result[31] == 101;
    expect_success(library().cuMemFreeAsync(x, own));
    expect_success(library().cuMemFreeAsync(y, own));
    expect_success(library().cuStreamDestroy_v2(own));
    expect_success(library().cuModuleUnload(module));
  };
  std::vector<std::thread> threads;
  for (int k = 0; k < 6; ++k) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
  EXPECT_EQ(findings(), "");
}

TEST_F(Streams, PitchedCopiesAndFills) {
  const CUdeviceptr x = allocate(6 * 8);
  expect_success(library().cuMemsetD16Async(x, 0x1234, 24, nullptr));
  EXPECT_EQ(library().cuMemsetD32Async(x + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library().cuMemsetD8Async(x, 0, 49, nullptr), CUDA_ERROR_INVALID_VALUE);
  const char host[] = "abcdefgh";
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 4;
  copy.srcXInBytes = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = x;
  copy.dstPitch = 8;
  copy.dstY = 1;
  copy.WidthInBytes = 2;
  copy.Height = 2;
  expect_success(library().cuMemcpy2DAsync_v2(&copy, nullptr));
  const auto bytes = download<char>(x, 48);
  EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 12), "bc\x34\x12");
  EXPECT_EQ(std::string(bytes.begin() + 16, bytes.begin() + 18), "fg");
}

}  // namespace
}  // namespace emulator_test
