// A convolution of the emulated cuDNN, and the same by a plain loop.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {

inline constexpr int kForward = 0, kData = 1, kFilter = 2;

// One channel of one line: x[8] by w[3].
struct ConvolutionCase {
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

inline int64_t count_of(const std::array<int, 4>& sizes) {
  return int64_t{sizes[0]} * sizes[1] * sizes[2] * sizes[3];
}

inline std::array<int, 4> strides_in_memory(const std::array<int, 4>& sizes, bool is_last) {
  const auto& [n, c, h, w] = sizes;
  (void)n;
  return is_last ? std::array<int, 4>{c * h * w, 1, w * c, c}
                 : std::array<int, 4>{c * h * w, h * w, w, 1};
}

// Small integers.
inline float convolution_entry(int64_t i, int seed) {
  return static_cast<float>((i * 7919 + seed * 31 + i / 5) % 7 - 3);
}

inline std::vector<float> convolution_entries(const std::array<int, 4>& sizes, int seed) {
  std::vector<float> values(static_cast<size_t>(count_of(sizes)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = convolution_entry(static_cast<int64_t>(i), seed);
  return values;
}

// The convolution along the last axis, and its transposes, in row-major order.
inline std::vector<float> expected_convolution(const ConvolutionCase& c) {
  const std::vector<float> x = convolution_entries(c.x, 1), w = convolution_entries(c.w, 2),
                           y = convolution_entries(c.y, 3);
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
  cudnnStatus_t describe(const ConvolutionCase& c) {
    const bool is_last = c.format == CUDNN_TENSOR_NHWC;
    const auto x_strides = strides_in_memory(c.x, is_last),
               y_strides = strides_in_memory(c.y, is_last);
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

  cudnnStatus_t workspace_of(const ConvolutionCase& c, size_t& bytes) {
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
  cudnnStatus_t run(const ConvolutionCase& c) {
    if (const cudnnStatus_t status = describe(c)) return status;
    size_t bytes = 0;
    if (const cudnnStatus_t status = workspace_of(c, bytes)) return status;
    x_at_ = upload(convolution_entries(c.x, 1)) + static_cast<CUdeviceptr>(c.x_offset);
    w_at_ = upload(convolution_entries(c.w, 2));
    y_at_ = upload(convolution_entries(c.y, 3));
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
  std::vector<float> result(const ConvolutionCase& c) {
    if (c.pass == kForward) return download<float>(y_at_, static_cast<size_t>(count_of(c.y)));
    if (c.pass == kData) return download<float>(x_at_, static_cast<size_t>(count_of(c.x)));
    return download<float>(w_at_, static_cast<size_t>(count_of(c.w)));
  }
  void expect_result(const ConvolutionCase& c) {
    succeed(run(c));
    EXPECT_EQ(result(c), expected_convolution(c)) << c.pass;
    EXPECT_EQ(findings(), "");
  }
  void expect_refused(const ConvolutionCase& c, cudnnStatus_t status, const std::string& text) {
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

}  // namespace emulator_test
