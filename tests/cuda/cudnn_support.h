// Convolutions by cuDNN on the emulated device, whose runs are counted.
#pragma once

#include <atomic>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/log.h"
#include "plait/core/settings.h"
#include "plait/cuda/inside/windows/cudnn.h"

#include "tests/cuda/both_convolutions.h"

namespace plait {

// Runs of cuDNN, as the log counts them.
inline std::atomic<int64_t> runs_of_cudnn{0}, warnings_of_cuda{0};

inline Array with_channels_last(const Array& a) {
  std::vector<int64_t> last{0}, back{0, static_cast<int64_t>(a.rank()) - 1};
  for (int64_t axis = 2; axis < static_cast<int64_t>(a.rank()); ++axis) {
    last.push_back(axis);
    back.push_back(axis - 1);
  }
  last.push_back(1);
  return permuted(permuted(a, last).copy(), back);
}

class CudnnConvolution : public BothConvolutions {
 protected:
  void SetUp() override {
    BothConvolutions::SetUp();
    if (IsSkipped()) return;
    if (cuda::cudnn() == nullptr) GTEST_SKIP() << "cuDNN is not installed";
    set_setting("log", "cuda=trace");
    set_log_sink([](const LogLine& line) {
      if (line.message.starts_with("cuDNN's algorithm")) ++runs_of_cudnn;
      if (line.level == LogLevel::warning) ++warnings_of_cuda;
    });
    runs_of_cudnn = warnings_of_cuda = 0;
  }
  void TearDown() override {
    for (const char* name : {"cudnn", "log", "float32_matmul_precision", "device_memory_limit"}) {
      reset_setting(name);
    }
    set_log_sink({});
    unsetenv("PLAIT_EMULATED_CONVOLUTIONS");
    EXPECT_EQ(IsSkipped() ? "" : findings(), "");
    BothConvolutions::TearDown();
  }

  // Expects that cuDNN runs so many times; a GPU's may decline.
  template <class Work>
  void expect_runs(int64_t count, Work&& work) {
    const int64_t before = runs_of_cudnn;
    work();
    const int64_t found = runs_of_cudnn - before;
    EXPECT_TRUE(found == count || (cuda_test::kOnGpu && found < count)) << found << " of " << count;
  }
  // expect_three has each of three results computed twice.
  template <class... Arguments>
  void expect_three_by_cudnn(const Arguments&... arguments) {
    expect_runs(6, [&] { expect_three(arguments...); });
  }
  template <class... Arguments>
  void expect_three_elsewhere(const Arguments&... arguments) {
    expect_runs(0, [&] { expect_three(arguments...); });
  }
};

inline ConvolutionAttributes padded_convolution(size_t space, int64_t low, int64_t high,
                                                int64_t groups = 1) {
  ConvolutionAttributes a = plain_convolution(space, groups);
  a.padding_low.assign(space, Dim(low));
  a.padding_high.assign(space, Dim(high));
  return a;
}

inline ConvolutionAttributes strided_convolution(int64_t groups = 1) {
  ConvolutionAttributes a = padded_convolution(2, 1, 1, groups);
  a.strides = {2, 1};
  a.dilation = {1, 2};
  return a;
}

}  // namespace plait
