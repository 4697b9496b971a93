// Convolutions of the emulated cuDNN.
#include <array>

#include "tests/cuda_emulator/tests/emulated_convolutions.h"

namespace emulator_test {
namespace {

TEST_F(Convolutions, OfEachPass) {
  for (const int pass : {kForward, kData, kFilter}) {
    ConvolutionCase c{.pass = pass};
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
  ConvolutionCase c;
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
  ConvolutionCase c{.alpha = 2, .beta = 3};
  succeed(run(c));
  std::vector<float> sums = expected_convolution(c);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = 2 * sums[i] + 3 * convolution_entry(static_cast<int64_t>(i), 3);
  EXPECT_EQ(result(c), sums);
}

// One place: both layouts are the same bytes.
TEST_F(Convolutions, ChannelsLast) {
  ConvolutionCase c{.groups = 1, .format = CUDNN_TENSOR_NHWC};
  c.x = {2, 3, 1, 1};
  c.w = {4, 3, 1, 1};
  c.y = {2, 4, 1, 1};
  c.padding = {0, 0};
  expect_result(c);
  c.type = c.compute = CUDNN_DATA_DOUBLE;
  expect_refused(c, CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "channels last");
}

TEST_F(Convolutions, Tf32RoundsFactorsUnlessToldOtherwise) {
  ConvolutionCase c{.groups = 1};
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
    ConvolutionCase c{.pass = pass};
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
    EXPECT_NE(result(c), expected_convolution(c)) << pass;
  }
}

}  // namespace
}  // namespace emulator_test
