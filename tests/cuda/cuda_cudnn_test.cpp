// Convolutions by cuDNN, of the emulated device or of a GPU: the CPU's bits, because all sums of
// the numbers are exact.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/log.h"
#include "plait/cuda/inside/windows/cudnn_convolution.h"
#include "plait/cuda/inside/windows/padded_input.h"
#include "plait/cuda/inside/windows/prepared_convolution.h"
#include "plait/plait.h"

#include "tests/cuda/both_convolutions.h"
#include "tests/support/errors.h"

namespace plait::cuda_cudnn_test {
namespace {

constexpr DType kOfCudnn[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// Runs of cuDNN, as the log counts them.
std::atomic<int64_t> runs{0};
std::atomic<int64_t> warnings{0};

Array with_channels_last(const Array& a) {
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
      if (line.message.starts_with("cuDNN's algorithm")) ++runs;
      if (line.level == LogLevel::warning) ++warnings;
    });
    runs = warnings = 0;
  }
  void TearDown() override {
    for (const char* name : {"cudnn", "log", "float32_matmul_precision", "device_memory_limit"}) {
      reset_setting(name);
    }
    set_log_sink({});
    unsetenv("PLAIT_EMULATED_CONVOLUTIONS");
    BothConvolutions::TearDown();
  }

  // Expects that cuDNN runs so many times.
  template <class Work>
  void expect_runs(int64_t count, Work&& work, const std::string& name = {}) {
    const int64_t before = runs;
    work();
    EXPECT_EQ(runs - before, count) << name;
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

ConvolutionAttributes padded(size_t space, int64_t low, int64_t high, int64_t groups = 1) {
  ConvolutionAttributes a = plain_convolution(space, groups);
  a.padding_low.assign(space, Dim(low));
  a.padding_high.assign(space, Dim(high));
  return a;
}

ConvolutionAttributes strided(int64_t groups = 1) {
  ConvolutionAttributes a = padded(2, 1, 1, groups);
  a.strides = {2, 1};
  a.dilation = {1, 2};
  return a;
}

TEST_F(CudnnConvolution, EveryDType) {
  for (const DType dtype : kOfCudnn) {
    expect_three_by_cudnn(dtype, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided());
    expect_three_by_cudnn(dtype, Sizes{2, 4, 6, 5}, Sizes{4, 2, 3, 2}, strided(2));
    expect_three_by_cudnn(dtype, Sizes{2, 3, 4, 2}, Sizes{5, 3, 1, 1}, plain_convolution(2));
  }
}

TEST_F(CudnnConvolution, OneToThreeDimensions) {
  for (const int64_t groups : {1, 2}) {
    const int64_t each = 4 / groups;
    ConvolutionAttributes line = padded(1, 2, 2, groups);
    line.strides = {3};
    expect_three_by_cudnn(DType::f32, Sizes{3, 4, 9}, Sizes{8, each, 3}, line);
    ConvolutionAttributes cube = plain_convolution(3, groups);
    cube.strides = {1, 2, 1};
    cube.dilation = {2, 1, 1};
    cube.padding_low = cube.padding_high = {Dim(1), Dim(0), Dim(2)};
    expect_three_by_cudnn(DType::f32, Sizes{2, 4, 3, 5, 4}, Sizes{8, each, 2, 3, 2}, cube);
  }
}

// Also cropped, and padded beyond the kernel.
TEST_F(CudnnConvolution, EveryPadding) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t low : {-1, 0, 1, 3}) {
      for (const int64_t high : {-2, 0, 1, 2}) {
        ConvolutionAttributes a = padded(1, low, high);
        a.strides = {stride};
        expect_three_by_cudnn(DType::f32, Sizes{2, 3, 7}, Sizes{2, 3, 3}, a,
                              fmt::format("stride {}, {} and {} ", stride, low, high));
      }
    }
  }
  ConvolutionAttributes plane = plain_convolution(2);
  plane.padding_low = {Dim(-1), Dim(1)};
  plane.padding_high = {Dim(2), Dim(1)};
  expect_three_by_cudnn(DType::f16, Sizes{2, 3, 6, 5}, Sizes{2, 3, 3, 3}, plane);
  ConvolutionAttributes far = padded(1, 7, 0);
  far.dilation = {7};
  expect_three_elsewhere(DType::f32, Sizes{1, 2, 2}, Sizes{2, 2, 2}, far, "far ");
}

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

TEST_F(CudnnConvolution, Layouts) {
  const View views[] = {
      with_channels_last,
      [](const Array& a) { return permuted(permuted(a, {3, 2, 1, 0}).copy(), {3, 2, 1, 0}); },
      [](const Array& a) { return a.view(a.layout().reversed(0).reversed(2).reversed(3)); },
      [](const Array& a) {
        const Layout first = a.layout().sliced(0, {.stop = 1}).sliced(3, {.stop = 1});
        return a.view(first.broadcast_to(a.sizes()));
      },
      [](const Array& a) {  // dense, at an address that is not aligned
        Array longer = Array::filled(a.dtype(), {a.element_count() + 1}, Element::of(99.0));
        Layout layout = Layout::contiguous(a.sizes());
        layout.offset = 1;
        Array inner = longer.view(layout);
        copy_elements(a, inner);
        return inner;
      }};
  for (const View view : views) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Array x = assorted(dtype, {4, 4, 6, 5}, 1, true);
      const Array w = assorted(dtype, {4, 4, 3, 2}, 2, true);
      expect_three_by_cudnn(x, w, strided(), "", view);
      ConvolutionAttributes uneven = strided();
      uneven.padding_high = {Dim(2), Dim(0)};
      expect_three_by_cudnn(x, w, uneven, "uneven", view);
    }
  }
  const Array cube = assorted(DType::f32, {2, 4, 3, 4, 3}, 1, true);
  expect_three_by_cudnn(cube, assorted(DType::f32, {2, 4, 2, 2, 2}, 2, true), padded(3, 1, 1), "",
                        with_channels_last);
}

TEST_F(CudnnConvolution, Depthwise) {
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 6, 5}, Sizes{6, 1, 3, 2}, strided(3));
  const Array x = assorted(DType::f32, {2, 3, 6, 5}, 1, true);
  const Array w = assorted(DType::f32, {6, 1, 3, 2}, 2, true);
  expect_three_by_cudnn(x, w, strided(3), "", with_channels_last);
  expect_three_by_cudnn(DType::f16, Sizes{2, 32, 4, 3}, Sizes{32, 1, 3, 3}, padded(2, 1, 1, 32));
  expect_three_elsewhere(DType::f16, Sizes{2, 31, 4, 3}, Sizes{31, 1, 3, 3}, padded(2, 1, 1, 31));
  expect_three_by_cudnn(DType::f32, Sizes{2, 1, 6, 5}, Sizes{3, 1, 3, 2}, strided());
}

TEST_F(CudnnConvolution, TheRestIsComputedElsewhere) {
  ConvolutionAttributes dilated = padded(2, 1, 1);
  dilated.input_dilation = {2, 1};
  expect_three_elsewhere(DType::f32, Sizes{2, 4, 5, 4}, Sizes{4, 4, 2, 3}, dilated);
  for (const DType dtype : {DType::i32, DType::c64}) {
    expect_three_elsewhere(dtype, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided());
  }
  // Padded by a copy, the input would have more elements than the patches.
  ConvolutionAttributes sparse = padded(1, 0, 90);
  sparse.strides = {30};
  expect_three_elsewhere(DType::f32, Sizes{1, 2, 10}, Sizes{2, 2, 1}, sparse);
  set_setting("cudnn", "off");
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided());
}

TEST_F(CudnnConvolution, SizesOfZeroAndOne) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const ConvolutionAttributes a = padded(2, 1, 1);
    expect_three_elsewhere(dtype, Sizes{0, 3, 4, 4}, Sizes{2, 3, 2, 2}, a, "no images ");
    expect_three_elsewhere(dtype, Sizes{2, 0, 4, 4}, Sizes{2, 0, 2, 2}, a, "no inputs ");
    expect_three_elsewhere(dtype, Sizes{2, 3, 4, 4}, Sizes{0, 3, 2, 2}, a, "no outputs ");
    expect_three_elsewhere(dtype, Sizes{2, 3, 0, 4}, Sizes{2, 3, 2, 2}, a, "only padding ");
    expect_three_by_cudnn(dtype, Sizes{1, 1, 1, 1}, Sizes{1, 1, 1, 1}, plain_convolution(2));
    expect_three_by_cudnn(dtype, Sizes{1, 1, 1, 1}, Sizes{1, 1, 3, 3}, a);
    expect_three_by_cudnn(dtype, Sizes{3, 2, 1, 4}, Sizes{1, 2, 1, 4}, plain_convolution(2));
  }
}

// Positive numbers, whose sums round: the same bits again, and near the CPU's.
TEST_F(CudnnConvolution, RoundedSums) {
  for (const auto& [dtype, ulps] : {std::pair(DType::f32, 40.), std::pair(DType::bf16, 1.)}) {
    const auto positive = [&](const Sizes& sizes) {
      return exp(sin(Tensor(assorted(DType::f32, sizes, 1, true)) * 1.7f)).array().converted(dtype);
    };
    ConvolutionAttributes a = padded(1, 1, 1);
    const Array x = positive({3, 4, 60}), w = positive({4, 4, 5}), out = positive({3, 4, 58});
    expect_near(convolution_primitive(), {x, w}, ir::Attributes::of(a), ulps);
    a.sizes = {Dim(60)};
    expect_near(convolution_input_gradient_primitive(), {out, w}, ir::Attributes::of(a), ulps);
    a.sizes = {Dim(5)};
    expect_near(convolution_weight_gradient_primitive(), {x, out}, ir::Attributes::of(a), ulps);
  }
}

// TF32 has 10 bits of mantissa: it loses the last one of 1 + 2⁻¹².
TEST_F(CudnnConvolution, PrecisionOfF32) {
  const Array x = Array::filled(DType::f32, {1, 2, 4}, Element::of(1 + 0x1p-12));
  const Array w = Array::filled(DType::f32, {3, 2, 1}, Element::of(0.5));
  const auto found = [&] {
    const Tensor y = convolution(Tensor(x.on(there)), Tensor(w.on(there)), plain_convolution(1));
    return y.array().on_host().elements<float>()[0];
  };
  EXPECT_EQ(found(), 1 + 0x1p-12f);
  set_setting("float32_matmul_precision", "high");
  EXPECT_EQ(found(), 1.f);
  reset_setting("float32_matmul_precision");
  EXPECT_EQ(found(), 1 + 0x1p-12f);
  EXPECT_EQ(runs, 3);
}

// The first algorithms of the emulated heuristic are not deterministic, are transforms, or take too
// much memory.
TEST_F(CudnnConvolution, AlgorithmsAreChosen) {
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

TEST_F(CudnnConvolution, DeclinedConvolutionsAreComputedElsewhere) {
  if (cuda_test::kOnGpu) GTEST_SKIP() << "a GPU declines others";
  expect_three_by_cudnn(DType::f32, Sizes{2, 3, 9, 5}, Sizes{4, 3, 3, 2}, strided());
  setenv("PLAIT_EMULATED_CONVOLUTIONS", "0", 1);
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 10, 5}, Sizes{4, 3, 3, 2}, strided());
  // Declined when it runs, though an algorithm was found before.
  expect_three_by_cudnn(DType::f32, Sizes{2, 3, 9, 5}, Sizes{4, 3, 3, 2}, strided());
  EXPECT_EQ(warnings, 0);
}

TEST_F(CudnnConvolution, AMissingLibraryIsLoggedOrAnError) {
  const cuda::LibraryNames none{.title = "Example",
                                .files = {"libexample.so.2"},
                                .function = "example_create",
                                .folders = {"example"},
                                .package = "nvidia-example",
                                .setting = "example"};
  EXPECT_FALSE(cuda::open_cudnn(none, "auto"));
  EXPECT_EQ(warnings, 1);
  expect_contains(
      what_of<DeviceError>([] { (void)cuda::open_cudnn(cuda::cudnn_names(), "/nowhere.so"); }),
      {"cuDNN", "/nowhere.so", "pip install nvidia-cudnn", "the setting cudnn"});
  EXPECT_EQ(warnings, 1);
}

// Workspace that cannot be had is an error, as in products; nothing has changed.
TEST_F(CudnnConvolution, TooLittleMemory) {
  const Array x = assorted(DType::f32, {2, 3, 11, 5}, 1, true),
              w = assorted(DType::f32, {4, 3, 3, 2}, 2, true);
  const Tensor x_there(x.on(there)), w_there(w.on(there));
  device_memory(there).synchronize();
  const int64_t live = memory_statistics(there).live_bytes;
  const auto run = [&] { return convolution(x_there, w_there, strided()).array(); };
  set_setting("device_memory_limit", std::to_string(live + 100000));
  EXPECT_THROW((void)run(), MemoryError);
  EXPECT_EQ(memory_statistics(there).live_bytes, live);
  EXPECT_TRUE(same_bits(x_there.array().on_host(), x));
  reset_setting("device_memory_limit");
  EXPECT_TRUE(same_bits(run().on_host(), convolution(Tensor(x), Tensor(w), strided()).array()));
}

TEST_F(CudnnConvolution, TwoDevicesAndThreads) {
  const Array x = assorted(DType::f32, {2, 3, 6, 5}, 1, true),
              w = assorted(DType::f32, {4, 3, 3, 2}, 2, true);
  const Array expected = convolution(Tensor(x), Tensor(w), strided()).array();
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Device device = i % 2 == 0 ? cuda_test::kDevice : cuda_test::kOtherDevice;
      const Tensor x_there(x.on(device)), w_there(w.on(device));
      for (int turn = 0; turn < 5; ++turn) {
        const Array y = convolution(x_there, w_there, strided()).array();
        if (y.device() == device && same_bits(y.on_host(), expected)) ++equal;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 20);
  EXPECT_EQ(runs, 20);
}

struct Pair {
  Tensor x, w;
};

TEST_F(CudnnConvolution, Gradients) {
  const auto loss = [](const Pair& p) {
    const Tensor y = conv2d(p.x, p.w, {}, {.stride = 2, .padding = 1});
    return sum(y * y);
  };
  const Array x = assorted(DType::f64, {2, 4, 5, 5}, 1, true),
              w = assorted(DType::f64, {4, 4, 3, 3}, 2, true);
  const Pair here = grad(loss)(Pair{Tensor(x), Tensor(w)});
  const Pair found = grad(loss)(Pair{Tensor(x.on(there)), Tensor(w.on(there))});
  EXPECT_TRUE(same_bits(found.x.array().on_host(), here.x.array()));
  EXPECT_TRUE(same_bits(found.w.array().on_host(), here.w.array()));
  EXPECT_EQ(runs, 3);
}

// Kernels of a batch become groups; a batch of images for one kernel, more images.
TEST_F(CudnnConvolution, Batches) {
  const auto convolved = [](const Pair& p) { return conv1d(p.x, p.w, {}, {.padding = 1}); };
  const Array x = assorted(DType::f32, {3, 2, 4, 5}, 1, true),
              w = assorted(DType::f32, {3, 6, 4, 3}, 2, true);
  const Array here = vmap(convolved)(Pair{Tensor(x), Tensor(w)}).array();
  const Array found = vmap(convolved)(Pair{Tensor(x.on(there)), Tensor(w.on(there))}).array();
  EXPECT_TRUE(same_bits(found.on_host(), here));
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace plait::cuda_cudnn_test
