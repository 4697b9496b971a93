// The rules of the emulated cuDNN, its streams and captures.
#include <array>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/tests/emulated_convolutions.h"

namespace emulator_test {
namespace {

class ConvolutionRules : public Convolutions {};

TEST_F(ConvolutionRules, Refused) {
  ConvolutionCase c;
  c.y[3] = 5;
  expect_refused(c, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "other sizes");
  c = {.compute = CUDNN_DATA_DOUBLE};
  expect_refused(c, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "computing");
  c = {.groups = 1};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "channels of the input");
  c = {};
  c.w[0] = 5;
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "outputs do not divide");
  c = {.x_offset = 4};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "x");
  c = {.missing_workspace = 1};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "less workspace");
  c = {.change = [&] { workspace_ = 0; }};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "workspace");
  c = {.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED};
  expect_refused(c, CUDNN_STATUS_NOT_SUPPORTED, "does not support");
  c = {.change = [&] {
    use_device(1);
    w_at_ = upload(convolution_entries({4, 1, 1, 3}, 2));
    use_device(0);
  }};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "w");
  c = {.change = [&] { use_device(1); }};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "another device");
  use_device(0);
  EXPECT_EQ(findings(), "");
}

TEST_F(ConvolutionRules, RefusedDescriptors) {
  const auto refused = [&](const ConvolutionCase& c) {
    return describe(c) != CUDNN_STATUS_SUCCESS;
  };
  ConvolutionCase c;
  c.padding[1] = -1;
  EXPECT_TRUE(refused(c));
  c = {};
  c.strides[0] = 0;
  EXPECT_TRUE(refused(c));
  c = {.groups = 0};
  EXPECT_TRUE(refused(c));
  c = {.type = 100};
  EXPECT_TRUE(refused(c));
  c = {};
  c.x[0] = 0;
  EXPECT_TRUE(refused(c));
  c.x = {65536, 32768, 1, 1};
  EXPECT_TRUE(refused(c));
  const std::array<int, 4> sizes = {2, 3, 4, 5}, strides = {0, 20, 5, 1};
  const auto set = [&](int rank, const int* steps) {
    return library().cudnnSetTensorNdDescriptor(x_, CUDNN_DATA_FLOAT, rank, sizes.data(), steps);
  };
  EXPECT_EQ(set(4, strides.data()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(3, strides.data() + 1), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(set(4, nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(ConvolutionRules, DescriptorsAreSetFirst) {
  size_t bytes = 0;
  EXPECT_EQ(workspace_of({}, bytes), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(ConvolutionRules, RunInTheOrderOfTheirStream) {
  const CUstream own = stream();
  succeed(library().cudnnSetStream(handle_, own));
  CUstream found = nullptr;
  succeed(library().cudnnGetStream(handle_, &found));
  EXPECT_EQ(found, own);
  const ConvolutionCase c;
  succeed(run(c));
  expect_success(library().cuMemsetD32Async(x_at_, 0, 4, own));  // after the convolution
  expect_success(library().cuStreamSynchronize(own));
  EXPECT_EQ(result(c), expected_convolution(c));
  use_device(1);
  const CUstream other = stream();
  EXPECT_EQ(library().cudnnSetStream(handle_, other), CUDNN_STATUS_BAD_PARAM);
  use_device(0);
}

TEST_F(ConvolutionRules, Captured) {
  const CUstream own = stream();
  succeed(library().cudnnSetStream(handle_, own));
  ConvolutionCase c;
  c.change = [&] {
    expect_success(library().cuMemsetD32Async(y_at_, 0, static_cast<size_t>(count_of(c.y)), own));
    expect_success(library().cuStreamSynchronize(own));
    expect_success(library().cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED));
  };
  succeed(run(c));
  CUgraph graph = nullptr;
  expect_success(library().cuStreamEndCapture(own, &graph));
  EXPECT_EQ(result(c), std::vector<float>(static_cast<size_t>(count_of(c.y)), 0));
  CUgraphExec executable = nullptr;
  expect_success(library().cuGraphInstantiateWithFlags(&executable, graph, 0));
  expect_success(library().cuGraphLaunch(executable, own));
  expect_success(library().cuStreamSynchronize(own));
  EXPECT_EQ(result(c), expected_convolution(c));
  expect_success(library().cuGraphExecDestroy(executable));
  expect_success(library().cuGraphDestroy(graph));
  expect_success(library().cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
  cudnnHandle_t refused = nullptr;
  EXPECT_EQ(library().cudnnCreate(&refused), CUDNN_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(library().cuStreamEndCapture(own, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(ConvolutionRules, ReadsOfWhatWasNeverWritten) {
  ConvolutionCase c;
  c.change = [&] { x_at_ = allocate(static_cast<size_t>(count_of(c.x)) * 4); };
  succeed(run(c));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "cudnnConvolution: unwritten");
}

TEST_F(ConvolutionRules, FreedMemory) {
  ConvolutionCase c;
  c.change = [&] { expect_success(library().cuMemFree_v2(w_at_)); };
  (void)run(c);
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "cudnnConvolution");
}

TEST_F(ConvolutionRules, AHandleIsUsedByOneThreadAtATime) {
  const ConvolutionCase c;
  succeed(describe(c));
  const auto use = [&] {
    size_t bytes = 0;
    for (int i = 0; i < 1000; ++i) workspace_of(c, bytes);
  };
  use();
  EXPECT_EQ(findings(), "");
  for (int round = 0; round < 100 && findings().empty(); ++round) {
    std::thread other(use);
    use();
    other.join();
  }
  expect_finding(CUDA_SUCCESS, "two threads use a handle");
}

TEST_F(ConvolutionRules, DeclinedByTheSetting) {
  const WithSetting none("PLAIT_EMULATED_CONVOLUTIONS", "0");
  EXPECT_EQ(run({}), CUDNN_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace emulator_test
