// Convolutions of the emulated cuDNN, compared with a plain loop, and what its manual forbids.
#include <array>
#include <functional>
#include <string>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

constexpr int kForward = 0, kData = 1, kFilter = 2;

// One channel of one line: x[8] by w[3].
struct Case {
  int type = CUDNN_DATA_FLOAT, compute = CUDNN_DATA_FLOAT, math = CUDNN_FMA_MATH;
  std::array<int, 4> x = {2, 2, 1, 8}, w = {4, 1, 1, 3}, y = {2, 4, 1, 4};
  std::array<int, 2> padding = {0, 1}, strides = {1, 2}, dilation = {1, 1};
  int groups = 2, mode = CUDNN_CROSS_CORRELATION, format = CUDNN_TENSOR_NCHW;
  int pass = kForward, algorithm = 1;
  float alpha = 1, beta = 0;
  int x_offset = 0;                        // in bytes
  size_t missing_workspace = 0;            // in bytes
  std::function<void()> change = nullptr;  // called before the convolution
};

int64_t count(const std::array<int, 4>& sizes) {
  return int64_t{sizes[0]} * sizes[1] * sizes[2] * sizes[3];
}

std::array<int, 4> strides_of(const std::array<int, 4>& sizes, bool is_last) {
  const auto& [n, c, h, w] = sizes;
  (void)n;
  return is_last ? std::array<int, 4>{c * h * w, 1, w * c, c}
                 : std::array<int, 4>{c * h * w, h * w, w, 1};
}

// Small integers.
float entry(int64_t i, int seed) {
  return static_cast<float>((i * 7919 + seed * 31 + i / 5) % 7 - 3);
}

std::vector<float> entries(const std::array<int, 4>& sizes, int seed) {
  std::vector<float> values(static_cast<size_t>(count(sizes)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = entry(static_cast<int64_t>(i), seed);
  return values;
}

// The convolution along the last axis, and its transposes, in row-major order.
std::vector<float> expected(const Case& c) {
  const std::vector<float> x = entries(c.x, 1), w = entries(c.w, 2), y = entries(c.y, 3);
  std::vector<float> sums(c.pass == kForward ? y.size() : c.pass == kData ? x.size() : w.size());
  const int outputs = c.w[0] / c.groups;
  for (int n = 0; n < c.x[0]; ++n) {
    for (int k = 0; k < c.w[0]; ++k) {
      for (int i = 0; i < c.w[1]; ++i) {
        for (int o = 0; o < c.y[3]; ++o) {
          for (int t = 0; t < c.w[3]; ++t) {
            const int at = o * c.strides[1] - c.padding[1] + t * c.dilation[1];
            if (at < 0 || at >= c.x[3]) continue;
            const auto of_x =
                static_cast<size_t>((n * c.x[1] + k / outputs * c.w[1] + i) * c.x[3] + at);
            const auto of_y = static_cast<size_t>((n * c.w[0] + k) * c.y[3] + o);
            const int tap = c.mode == CUDNN_CONVOLUTION ? c.w[3] - 1 - t : t;
            const auto of_w = static_cast<size_t>((k * c.w[1] + i) * c.w[3] + tap);
            if (c.pass == kForward) sums[of_y] += x[of_x] * w[of_w];
            if (c.pass == kData) sums[of_x] += y[of_y] * w[of_w];
            if (c.pass == kFilter) sums[of_w] += x[of_x] * y[of_y];
          }
        }
      }
    }
  }
  return sums;
}

class Convolutions : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    succeed(library().cudnnCreate(&handle_));
    succeed(library().cudnnCreateTensorDescriptor(&x_));
    succeed(library().cudnnCreateTensorDescriptor(&y_));
    succeed(library().cudnnCreateFilterDescriptor(&w_));
    succeed(library().cudnnCreateConvolutionDescriptor(&window_));
  }
  void TearDown() override {
    library().cudnnDestroyTensorDescriptor(x_);
    library().cudnnDestroyTensorDescriptor(y_);
    library().cudnnDestroyFilterDescriptor(w_);
    library().cudnnDestroyConvolutionDescriptor(window_);
    succeed(library().cudnnDestroy(handle_));
    Gpu::TearDown();
  }
  static void succeed(cudnnStatus_t status) { EXPECT_EQ(status, CUDNN_STATUS_SUCCESS) << words(); }
  static std::string words() {
    std::array<char, 200> text{};
    library().cudnnGetLastErrorString(text.data(), text.size());
    return text.data();
  }

  // The first status that is not a success.
  cudnnStatus_t describe(const Case& c) {
    const bool is_last = c.format == CUDNN_TENSOR_NHWC;
    const auto x_strides = strides_of(c.x, is_last), y_strides = strides_of(c.y, is_last);
    const cudnnStatus_t all[] = {
        library().cudnnSetTensorNdDescriptor(x_, c.type, 4, c.x.data(), x_strides.data()),
        library().cudnnSetTensorNdDescriptor(y_, c.type, 4, c.y.data(), y_strides.data()),
        library().cudnnSetFilterNdDescriptor(w_, c.type, c.format, 4, c.w.data()),
        library().cudnnSetConvolutionNdDescriptor(window_, 2, c.padding.data(), c.strides.data(),
                                                  c.dilation.data(), c.mode, c.compute),
        library().cudnnSetConvolutionGroupCount(window_, c.groups),
        library().cudnnSetConvolutionMathType(window_, c.math)};
    for (const cudnnStatus_t status : all) {
      if (status) return status;
    }
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t workspace_of(const Case& c, size_t& bytes) {
    if (c.pass == kForward)
      return library().cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, window_, y_,
                                                               c.algorithm, &bytes);
    if (c.pass == kData)
      return library().cudnnGetConvolutionBackwardDataWorkspaceSize(handle_, w_, y_, window_, x_,
                                                                    c.algorithm, &bytes);
    return library().cudnnGetConvolutionBackwardFilterWorkspaceSize(handle_, x_, y_, window_, w_,
                                                                    c.algorithm, &bytes);
  }

  // Uploads f32 in row-major order, and convolves.
  cudnnStatus_t run(const Case& c) {
    if (const cudnnStatus_t status = describe(c)) return status;
    size_t bytes = 0;
    if (const cudnnStatus_t status = workspace_of(c, bytes)) return status;
    x_at_ = upload(entries(c.x, 1)) + static_cast<CUdeviceptr>(c.x_offset);
    w_at_ = upload(entries(c.w, 2));
    y_at_ = upload(entries(c.y, 3));
    workspace_ = bytes ? allocate(bytes) : 0;
    if (c.change) c.change();
    const auto at = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    const size_t given = bytes - c.missing_workspace;
    if (c.pass == kForward)
      return library().cudnnConvolutionForward(handle_, &c.alpha, x_, at(x_at_), w_, at(w_at_),
                                               window_, c.algorithm, at(workspace_), given, &c.beta,
                                               y_, at(y_at_));
    if (c.pass == kData)
      return library().cudnnConvolutionBackwardData(handle_, &c.alpha, w_, at(w_at_), y_, at(y_at_),
                                                    window_, c.algorithm, at(workspace_), given,
                                                    &c.beta, x_, at(x_at_));
    return library().cudnnConvolutionBackwardFilter(handle_, &c.alpha, x_, at(x_at_), y_, at(y_at_),
                                                    window_, c.algorithm, at(workspace_), given,
                                                    &c.beta, w_, at(w_at_));
  }
  std::vector<float> result(const Case& c) {
    if (c.pass == kForward) return download<float>(y_at_, static_cast<size_t>(count(c.y)));
    if (c.pass == kData) return download<float>(x_at_, static_cast<size_t>(count(c.x)));
    return download<float>(w_at_, static_cast<size_t>(count(c.w)));
  }
  void expect_result(const Case& c) {
    succeed(run(c));
    EXPECT_EQ(result(c), expected(c)) << c.pass;
    EXPECT_EQ(findings(), "");
  }
  void expect_refused(const Case& c, cudnnStatus_t status, const std::string& text) {
    EXPECT_EQ(run(c), status);
    EXPECT_NE(words().find(text), std::string::npos);
  }

  std::vector<cudnnConvolutionAlgoPerf_t> algorithms(int pass) {
    std::vector<cudnnConvolutionAlgoPerf_t> found(10);
    int number = 0;
    if (pass == kForward)
      succeed(library().cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, window_, y_, 10,
                                                               &number, found.data()));
    if (pass == kData)
      succeed(library().cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, w_, y_, window_, x_,
                                                                    10, &number, found.data()));
    if (pass == kFilter)
      succeed(library().cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_, x_, y_, window_, w_,
                                                                      10, &number, found.data()));
    found.resize(static_cast<size_t>(number));
    return found;
  }

  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t window_ = nullptr;
  CUdeviceptr x_at_ = 0, w_at_ = 0, y_at_ = 0, workspace_ = 0;
};

TEST_F(Convolutions, OfEachPass) {
  for (const int pass : {kForward, kData, kFilter}) {
    Case c{.pass = pass};
    expect_result(c);
    c.mode = CUDNN_CONVOLUTION;
    expect_result(c);
    c.groups = 1;
    c.w = {3, 2, 1, 3};
    c.y = {2, 3, 1, 2};
    c.dilation = {1, 3};
    expect_result(c);
  }
}

TEST_F(Convolutions, OutputSizes) {
  Case c;
  succeed(describe(c));
  std::array<int, 4> sizes{};
  succeed(library().cudnnGetConvolutionNdForwardOutputDim(window_, x_, w_, 4, sizes.data()));
  EXPECT_EQ(sizes, c.y);
  c.w[3] = 11;
  succeed(describe(c));
  EXPECT_EQ(library().cudnnGetConvolutionNdForwardOutputDim(window_, x_, w_, 4, sizes.data()),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Convolutions, FactorsOfTheResult) {
  Case c{.alpha = 2, .beta = 3};
  succeed(run(c));
  std::vector<float> sums = expected(c);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = 2 * sums[i] + 3 * entry(static_cast<int64_t>(i), 3);
  EXPECT_EQ(result(c), sums);
}

// One place: both layouts are the same bytes.
TEST_F(Convolutions, ChannelsLast) {
  Case c{.groups = 1, .format = CUDNN_TENSOR_NHWC};
  c.x = {2, 3, 1, 1};
  c.w = {4, 3, 1, 1};
  c.y = {2, 4, 1, 1};
  c.padding = {0, 0};
  expect_result(c);
  c.type = c.compute = CUDNN_DATA_DOUBLE;
  expect_refused(c, CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "channels last");
}

TEST_F(Convolutions, Tf32RoundsFactorsUnlessToldOtherwise) {
  Case c{.groups = 1};
  c.x = c.w = c.y = {1, 1, 1, 1};
  c.padding = {0, 0};
  const std::array<float, 2> numbers = {1.0006f, 1.f};
  c.change = [&] {
    expect_success(library().cuMemcpyHtoD_v2(x_at_, &numbers[0], 4));
    expect_success(library().cuMemcpyHtoD_v2(w_at_, &numbers[1], 4));
  };
  succeed(run(c));
  EXPECT_EQ(result(c)[0], 1.0006f);
  c.math = CUDNN_DEFAULT_MATH;
  succeed(run(c));
  EXPECT_EQ(result(c)[0], 1 + 1 / 1024.f);
}

TEST_F(Convolutions, TheFirstAlgorithmsAreNotExact) {
  for (const int pass : {kForward, kData, kFilter}) {
    Case c{.pass = pass};
    succeed(describe(c));
    const auto found = algorithms(pass);
    EXPECT_EQ(found[0].determinism, CUDNN_NON_DETERMINISTIC);
    bool has_failed = false, has_huge = pass == kFilter;
    for (const cudnnConvolutionAlgoPerf_t& each : found) {
      has_failed |= each.status != CUDNN_STATUS_SUCCESS;
      has_huge |= each.memory > size_t{1} << 32;
    }
    EXPECT_TRUE(has_failed && has_huge) << pass;
    c.algorithm = found[0].algo;
    succeed(run(c));
    EXPECT_NE(result(c), expected(c)) << pass;
  }
}

TEST_F(Convolutions, Refused) {
  Case c;
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
    w_at_ = upload(entries({4, 1, 1, 3}, 2));
    use_device(0);
  }};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "w");
  c = {.change = [&] { use_device(1); }};
  expect_refused(c, CUDNN_STATUS_BAD_PARAM, "another device");
  use_device(0);
  EXPECT_EQ(findings(), "");
}

TEST_F(Convolutions, RefusedDescriptors) {
  const auto refused = [&](const Case& c) { return describe(c) != CUDNN_STATUS_SUCCESS; };
  Case c;
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

TEST_F(Convolutions, DescriptorsAreSetFirst) {
  size_t bytes = 0;
  EXPECT_EQ(workspace_of({}, bytes), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(Convolutions, RunInTheOrderOfTheirStream) {
  const CUstream own = stream();
  succeed(library().cudnnSetStream(handle_, own));
  CUstream found = nullptr;
  succeed(library().cudnnGetStream(handle_, &found));
  EXPECT_EQ(found, own);
  const Case c;
  succeed(run(c));
  expect_success(library().cuMemsetD32Async(x_at_, 0, 4, own));  // after the convolution
  expect_success(library().cuStreamSynchronize(own));
  EXPECT_EQ(result(c), expected(c));
  use_device(1);
  const CUstream other = stream();
  EXPECT_EQ(library().cudnnSetStream(handle_, other), CUDNN_STATUS_BAD_PARAM);
  use_device(0);
}

TEST_F(Convolutions, Captured) {
  const CUstream own = stream();
  succeed(library().cudnnSetStream(handle_, own));
  Case c;
  c.change = [&] {
    expect_success(library().cuMemsetD32Async(y_at_, 0, static_cast<size_t>(count(c.y)), own));
    expect_success(library().cuStreamSynchronize(own));
    expect_success(library().cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED));
  };
  succeed(run(c));
  CUgraph graph = nullptr;
  expect_success(library().cuStreamEndCapture(own, &graph));
  EXPECT_EQ(result(c), std::vector<float>(static_cast<size_t>(count(c.y)), 0));
  CUgraphExec executable = nullptr;
  expect_success(library().cuGraphInstantiateWithFlags(&executable, graph, 0));
  expect_success(library().cuGraphLaunch(executable, own));
  expect_success(library().cuStreamSynchronize(own));
  EXPECT_EQ(result(c), expected(c));
  expect_success(library().cuGraphExecDestroy(executable));
  expect_success(library().cuGraphDestroy(graph));
  expect_success(library().cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
  cudnnHandle_t refused = nullptr;
  EXPECT_EQ(library().cudnnCreate(&refused), CUDNN_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(library().cuStreamEndCapture(own, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Convolutions, ReadsOfWhatWasNeverWritten) {
  Case c;
  c.change = [&] { x_at_ = allocate(static_cast<size_t>(count(c.x)) * 4); };
  succeed(run(c));
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "cudnnConvolution: unwritten");
}

TEST_F(Convolutions, FreedMemory) {
  Case c;
  c.change = [&] { expect_success(library().cuMemFree_v2(w_at_)); };
  (void)run(c);
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "cudnnConvolution");
}

TEST_F(Convolutions, DeclinedByTheSetting) {
  const WithSetting none("PLAIT_EMULATED_CONVOLUTIONS", "0");
  EXPECT_EQ(run({}), CUDNN_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace emulator_test
