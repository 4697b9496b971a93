// The choice between cuDNN and other kernels, and its library, memory and threads.
#include <atomic>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include "plait/cuda/inside/windows/padded_input.h"
#include "plait/cuda/inside/windows/prepared_convolution.h"
#include "plait/plait.h"

#include "tests/cuda/cudnn_support.h"
#include "tests/support/errors.h"

namespace plait::cuda_cudnn_library_test {
namespace {

class CudnnLibrary : public CudnnConvolution {};

TEST(PaddedInput, CopiesWhereTheEndsDiffer) {
  ConvolutionShape shape{.rank = 1, .images = 1, .inputs = 1, .outputs = 1};
  const auto axis_of = [&](int64_t in, int64_t stride, int64_t low, int64_t high) {
    shape.spatial[2] = {.in = in,
                        .kernel = 3,
                        .out = (in + low + high - 3) / stride + 1,
                        .stride = stride,
                        .low = low,
                        .high = high};
    const cuda::PaddedInput input = cuda::padded_input(shape);
    return std::vector<int64_t>{input.is_copy, input.axes[2].size, input.axes[2].padding,
                                input.axes[2].low};
  };
  EXPECT_EQ(axis_of(8, 1, 1, 1), (std::vector<int64_t>{0, 8, 1, 0}));
  EXPECT_EQ(axis_of(8, 2, 1, 0), (std::vector<int64_t>{0, 8, 1, 0}));  // as many windows as with 1
  EXPECT_EQ(axis_of(8, 2, 0, 1), (std::vector<int64_t>{1, 9, 0, 0}));
  EXPECT_EQ(axis_of(8, 1, 0, 2), (std::vector<int64_t>{1, 10, 0, 0}));
  EXPECT_EQ(axis_of(8, 1, -2, 0), (std::vector<int64_t>{1, 6, 0, -2}));
  EXPECT_EQ(axis_of(8, 3, 1, 2), (std::vector<int64_t>{0, 8, 1, 0}));
}

// The first algorithms of the emulated heuristic are not deterministic, are transforms, or take too
// much memory.
TEST_F(CudnnLibrary, AlgorithmsAreChosen) {
  if (cuda_test::kOnGpu) GTEST_SKIP() << "a GPU has others";
  cuda::CudnnDescription d{.result = cuda::ConvolutionResult::out,
                           .x = {2, 3, 4, 5},
                           .w = {6, 3, 1, 1},
                           .out = {2, 6, 4, 5},
                           .strides = {1, 1},
                           .dilation = {1, 1}};
  const cuda::CudaDevice& device = cuda::cuda_device(there.index);
  for (const auto result : {cuda::ConvolutionResult::out, cuda::ConvolutionResult::input_gradient,
                            cuda::ConvolutionResult::weight_gradient}) {
    d.result = result;
    const auto prepared = cuda::PreparedConvolution::of(*cuda::cudnn(), device, d);
    ASSERT_NE(prepared, nullptr);
    EXPECT_EQ(prepared->algorithm(), 1);
    EXPECT_EQ(prepared->workspace_bytes(), 1 << 20);
    EXPECT_EQ(prepared, cuda::PreparedConvolution::of(*cuda::cudnn(), device, d));
  }
  d.dtype = DType::f64;
  d.has_channels_last = true;
  EXPECT_EQ(cuda::PreparedConvolution::of(*cuda::cudnn(), device, d), nullptr);
  d.dtype = DType::i32;
  EXPECT_THROW((void)cuda::PreparedConvolution::of(*cuda::cudnn(), device, d), TypeError);
  d = {.x = {2, 3, 4, 5},
       .w = {6, 3, 1, 1},
       .out = {2, 6, 4, 4},
       .strides = {1, 1},
       .dilation = {1, 1}};
  expect_contains(
      what_of<DeviceError>([&] { (void)cuda::PreparedConvolution::of(*cuda::cudnn(), device, d); }),
      {"SHAPE_MISMATCH", "the output has other sizes", "cudnn=off"});
}

TEST_F(CudnnLibrary, DeclinedConvolutionsAreComputedElsewhere) {
  if (cuda_test::kOnGpu) GTEST_SKIP() << "a GPU declines others";
  expect_three_by_cudnn(DType::f32, Sizes{2, 3, 9, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
  setenv("PLAIT_EMULATED_CONVOLUTIONS", "0", 1);
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 10, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
  // Declined when it runs, though an algorithm was found before.
  expect_three_by_cudnn(DType::f32, Sizes{2, 3, 9, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
  EXPECT_EQ(warnings_of_cuda, 0);
}

TEST_F(CudnnLibrary, AMissingLibraryIsLoggedOrAnError) {
  const cuda::LibraryNames none{.title = "Example",
                                .files = {"libexample.so.2"},
                                .function = "example_create",
                                .folders = {"example"},
                                .package = "nvidia-example",
                                .setting = "example"};
  EXPECT_FALSE(cuda::open_cudnn(none, "auto"));
  EXPECT_EQ(warnings_of_cuda, 1);
  expect_contains(
      what_of<DeviceError>([] { (void)cuda::open_cudnn(cuda::cudnn_names(), "/nowhere.so"); }),
      {"cuDNN", "/nowhere.so", "pip install nvidia-cudnn", "the setting cudnn"});
  EXPECT_EQ(warnings_of_cuda, 1);
}

// Memory that cannot be had, for the result, the padded input, or as workspace, is an error as in
// products; nothing has changed.
TEST_F(CudnnLibrary, TooLittleMemory) {
  const Array x = assorted(DType::f32, {2, 3, 11, 5}, 1, true),
              w = assorted(DType::f32, {4, 3, 3, 2}, 2, true);
  const Tensor x_there(x.on(there)), w_there(w.on(there));
  ConvolutionAttributes uneven = strided_convolution();
  uneven.padding_high = {Dim(2), Dim(0)};
  device_memory(there).synchronize();
  const int64_t live = memory_statistics(there).live_bytes;
  const auto run = [&] { return convolution(x_there, w_there, uneven).array(); };
  for (const int64_t more : {0, 1000, 3000, 100000}) {
    set_setting("device_memory_limit", std::to_string(live + more));
    EXPECT_THROW((void)run(), MemoryError) << more;
    EXPECT_EQ(memory_statistics(there).live_bytes, live) << more;
  }
  EXPECT_TRUE(same_bits(x_there.array().on_host(), x));
  reset_setting("device_memory_limit");
  EXPECT_TRUE(same_bits(run().on_host(), convolution(Tensor(x), Tensor(w), uneven).array()));
}

TEST_F(CudnnLibrary, TwoDevicesAndThreads) {
  const Array x = assorted(DType::f32, {2, 3, 6, 5}, 1, true),
              w = assorted(DType::f32, {4, 3, 3, 2}, 2, true);
  const Array expected = convolution(Tensor(x), Tensor(w), strided_convolution()).array();
  std::atomic<int> equal{0};
  constexpr int kTurns = 50;
  std::latch all_are_ready(4);
  const auto convolve = [&](Device device) {
    const Tensor x_there(x.on(device)), w_there(w.on(device));
    std::vector<Array> found;
    for (int turn = 0; turn < kTurns; ++turn) {
      found.push_back(convolution(x_there, w_there, strided_convolution()).array());
    }
    for (const Array& y : found) {
      if (y.device() == device && same_bits(y.on_host(), expected)) ++equal;
    }
  };
  expect_runs(4 * kTurns, [&] {
    std::vector<std::thread> threads;
    for (const bool is_other : {false, true, false, true}) {
      const Device device = is_other ? cuda_test::kOtherDevice : cuda_test::kDevice;
      threads.emplace_back([&, device] {
        all_are_ready.arrive_and_wait();
        try {
          convolve(device);
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(equal, 4 * kTurns);
}

}  // namespace
}  // namespace plait::cuda_cudnn_library_test
