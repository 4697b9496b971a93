// Captures: graphs replay, and what the driver forbids meanwhile is refused.
#include <functional>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

constexpr const char* kIncrement =
    "extern \"C\" __global__ void k(int* y, int v) { y[threadIdx.x] += v; }";

class Captures : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    allocated_ = allocate(16);
  }
  // Begins a capture, calls `forbidden`, and expects its error and a spoiled capture.
  void expect_refused(const std::function<CUresult(CUstream)>& forbidden,
                      CUresult expected = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    const CUstream s = stream(0);
    expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(forbidden(s), expected);
    int status = 0;
    expect_success(library().cuStreamIsCapturing(s, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CUgraph graph = nullptr;
    EXPECT_EQ(library().cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
  }
  CUgraph end(CUstream s) {
    CUgraph graph = nullptr;
    expect_success(library().cuStreamEndCapture(s, &graph));
    return graph;
  }
  CUdeviceptr allocated_ = 0;
};

TEST_F(Captures, GraphsReplay) {
  const CUfunction increment = kernel(kIncrement);
  const CUdeviceptr y = upload(std::vector<int>(4, 0));
  const CUstream s = stream();
  expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect_success(launch(increment, 1, 4, s, y, 1));
  expect_success(launch(increment, 1, 4, s, y, 10));
  const CUgraph graph = end(s);
  size_t count = 0;
  expect_success(library().cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  CUgraphExec executable = nullptr;
  expect_success(library().cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_EQ(download<int>(y, 4)[0], 0);  // nothing ran while it was captured
  for (int k = 0; k < 3; ++k) expect_success(library().cuGraphLaunch(executable, s));
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(download<int>(y, 4)[3], 33);
  expect_success(library().cuGraphDestroy(graph));
  expect_success(library().cuGraphLaunch(executable, s));
  expect_success(library().cuGraphExecDestroy(executable));
  expect_success(library().cuStreamSynchronize(s));
  EXPECT_EQ(download<int>(y, 4)[3], 44);
  EXPECT_EQ(library().cuGraphLaunch(executable, s), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Captures, AnUnloadedModuleIsNamed) {
  CUmodule module = nullptr;
  CUfunction increment = nullptr;
  expect_success(library().cuModuleLoadData(&module, compile(kIncrement).image.data()));
  expect_success(library().cuModuleGetFunction(&increment, module, "k"));
  const CUstream s = stream();
  expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect_success(launch(increment, 1, 4, s, allocated_, 1));
  CUgraphExec executable = nullptr;
  expect_success(library().cuGraphInstantiateWithFlags(&executable, end(s), 0));
  expect_success(library().cuModuleUnload(module));
  expect_success(library().cuGraphLaunch(executable, s));
  expect_finding(CUDA_ERROR_INVALID_HANDLE, "a module that was unloaded");
}

TEST_F(Captures, GraphsAreUpdated) {
  const CUfunction increment = kernel(kIncrement);
  const CUdeviceptr y = upload(std::vector<int>(4, 0));
  const CUstream s = stream();
  const auto captured = [&](int launches, int value) {
    expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int k = 0; k < launches; ++k) expect_success(launch(increment, 1, 4, s, y, value));
    return end(s);
  };
  CUgraphExec executable = nullptr;
  CUgraphExecUpdateResultInfo result = {};
  expect_success(library().cuGraphInstantiateWithFlags(&executable, captured(1, 1), 0));
  expect_success(library().cuGraphExecUpdate_v2(executable, captured(1, 5), &result));
  EXPECT_EQ(library().cuGraphExecUpdate_v2(executable, captured(2, 5), &result),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result.result, 2);
  expect_success(library().cuGraphLaunch(executable, s));
  EXPECT_EQ(library().cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(y, 1)[0], 5);
}

TEST_F(Captures, OtherStreamsJoinByEvents) {
  const CUfunction increment = kernel(kIncrement);
  const CUdeviceptr y = upload(std::vector<int>(4, 0)), z = upload(std::vector<int>(4, 0));
  const CUstream s = stream(), t = stream();
  const CUevent fork = event(), join = event();
  expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect_success(launch(increment, 1, 4, s, y, 1));
  expect_success(library().cuEventRecord(fork, s));
  expect_success(library().cuStreamWaitEvent(t, fork, 0));
  expect_success(library().cuMemcpyDtoDAsync_v2(z, y, 16, t));
  expect_success(library().cuEventRecord(join, t));
  expect_success(library().cuStreamWaitEvent(s, join, 0));
  expect_success(launch(increment, 1, 4, s, z, 5));
  CUgraphExec executable = nullptr;
  expect_success(library().cuGraphInstantiateWithFlags(&executable, end(s), 0));
  for (const char* order : {"0", "1", "2", "3"}) {
    const WithSetting setting("PLAIT_EMULATED_ORDER", order);
    expect_success(library().cuMemsetD32Async(y, 0, 4, s));
    expect_success(library().cuGraphLaunch(executable, s));
    expect_success(library().cuStreamSynchronize(s));
    EXPECT_EQ(download<int>(z, 1)[0], 6);
  }
}

TEST_F(Captures, WhatWaitsIsRefused) {
  expect_refused([](CUstream s) { return library().cuStreamSynchronize(s); });
  expect_refused([](CUstream s) { return library().cuStreamQuery(s); });
  expect_refused([](CUstream) { return library().cuCtxSynchronize(); });
  const CUstream other = stream();
  expect_refused([&](CUstream) { return library().cuStreamSynchronize(other); });
  const CUevent e = event(), recorded = event();
  expect_success(library().cuEventRecord(recorded, other));
  expect_refused([&](CUstream) { return library().cuEventQuery(recorded); });
  expect_refused(
      [&](CUstream s) {
        expect_success(library().cuEventRecord(e, s));
        return library().cuEventSynchronize(e);
      },
      CUDA_ERROR_CAPTURED_EVENT);
}

TEST_F(Captures, MemoryOfTheDriverIsRefused) {
  CUdeviceptr address = allocate(16), made = 0;
  void* host = nullptr;
  int pageable = 0;
  expect_refused([&](CUstream) { return library().cuMemAlloc_v2(&made, 16); });
  expect_refused([&](CUstream) { return library().cuMemFree_v2(address); });
  expect_refused([&](CUstream s) { return library().cuMemAllocAsync(&made, 16, s); });
  expect_refused([&](CUstream) { return library().cuMemHostAlloc(&host, 16, 0); });
  expect_refused(
      [&](CUstream s) { return library().cuMemcpyHtoDAsync_v2(address, &pageable, 4, s); });
  // In relaxed mode, another part of the program may allocate.
  const CUstream s = stream();
  expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  expect_success(library().cuMemAlloc_v2(&made, 16));
  expect_success(library().cuMemFree_v2(made));
  end(s);
}

TEST_F(Captures, TheLegacyStreamIsRefused) {
  const CUfunction increment = kernel(kIncrement);
  const CUdeviceptr y = allocate(16);
  CUgraph graph = nullptr;
  expect_refused([&](CUstream) { return launch(increment, 1, 4, nullptr, y, 1); },
                 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(library().cuStreamBeginCapture_v2(nullptr, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(library().cuStreamEndCapture(stream(), &graph), 401);
}

TEST_F(Captures, StreamsOutsideAndForgottenJoins) {
  const CUfunction increment = kernel(kIncrement);
  const CUdeviceptr y = allocate(16);
  const CUstream s = stream(), t = stream();
  const CUevent outside = event(), fork = event();
  CUgraph graph = nullptr;
  expect_success(library().cuEventRecord(outside, t));
  expect_refused([&](CUstream own) { return library().cuStreamWaitEvent(own, outside, 0); },
                 CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expect_success(library().cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  expect_success(library().cuEventRecord(fork, s));
  expect_success(library().cuStreamWaitEvent(t, fork, 0));
  expect_success(launch(increment, 1, 4, t, y, 1));
  EXPECT_EQ(library().cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  int status = 1;
  expect_success(library().cuStreamIsCapturing(t, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace
}  // namespace emulator_test
