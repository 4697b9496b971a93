// Convolutions by cuDNN, of the emulated device or of a GPU: the CPU's bits, because all sums of
// the numbers are exact.
#include <vector>

#include "plait/plait.h"

#include "tests/cuda/cudnn_support.h"

namespace plait::cuda_cudnn_test {
namespace {

constexpr DType kOfCudnn[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

TEST_F(CudnnConvolution, EveryDType) {
  for (const DType dtype : kOfCudnn) {
    expect_three_by_cudnn(dtype, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
    expect_three_by_cudnn(dtype, Sizes{2, 4, 6, 5}, Sizes{4, 2, 3, 2}, strided_convolution(2));
    expect_three_by_cudnn(dtype, Sizes{2, 3, 4, 2}, Sizes{5, 3, 1, 1}, plain_convolution(2));
  }
}

TEST_F(CudnnConvolution, OneToThreeDimensions) {
  for (const int64_t groups : {1, 2}) {
    const int64_t each = 4 / groups;
    ConvolutionAttributes line = padded_convolution(1, 2, 2, groups);
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
        ConvolutionAttributes a = padded_convolution(1, low, high);
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
  ConvolutionAttributes far = padded_convolution(1, 7, 0);
  far.dilation = {7};
  expect_three_elsewhere(DType::f32, Sizes{1, 2, 2}, Sizes{2, 2, 2}, far, "far ");
}

TEST_F(CudnnConvolution, Layouts) {
  const View views[] = {
      with_channels_last,
      [](const Array& a) { return permuted(permuted(a, {3, 2, 1, 0}).copy(), {3, 2, 1, 0}); },
      [](const Array& a) { return a.view(a.layout().reversed(0).reversed(2).reversed(3)); },
      [](const Array& a) {
        const Layout first = a.layout().sliced(0, {.stop = 1}).sliced(3, {.stop = 1});
        return a.view(first.broadcast_to(a.sizes()));
      }};
  for (const View view : views) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Array x = assorted(dtype, {4, 4, 6, 5}, 1, true);
      const Array w = assorted(dtype, {4, 4, 3, 2}, 2, true);
      expect_three_by_cudnn(x, w, strided_convolution(), "", view);
      ConvolutionAttributes uneven = strided_convolution();
      uneven.padding_high = {Dim(2), Dim(0)};
      expect_three_by_cudnn(x, w, uneven, "uneven", view);
    }
  }
  const Array cube = assorted(DType::f32, {2, 4, 3, 4, 3}, 1, true);
  expect_three_by_cudnn(cube, assorted(DType::f32, {2, 4, 2, 2, 2}, 2, true),
                        padded_convolution(3, 1, 1), "", with_channels_last);
}

// Arrays that begin in the midst of others are copied.
TEST_F(CudnnConvolution, Alignment) {
  const Array x = assorted(DType::f16, {2, 3, 4, 5}, 1, true),
              w = assorted(DType::f16, {2, 3, 3, 2}, 2, true);
  const auto shifted = [&](const Array& a) {
    const Array longer = Array::empty_on(there, a.dtype(), {a.element_count() + 1});
    Layout layout = Layout::contiguous(a.sizes());
    layout.offset = 1;
    Array inner = longer.view(layout);
    copy_elements(a, inner);
    return inner;
  };
  const ConvolutionAttributes a = strided_convolution();
  expect_runs(1, [&] {
    const Array found = convolution(Tensor(shifted(x)), Tensor(shifted(w)), a).array();
    EXPECT_TRUE(same_bits(found.on_host(), convolution(Tensor(x), Tensor(w), a).array()));
  });
}

TEST_F(CudnnConvolution, Depthwise) {
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 6, 5}, Sizes{6, 1, 3, 2}, strided_convolution(3));
  const Array x = assorted(DType::f32, {2, 3, 6, 5}, 1, true);
  const Array w = assorted(DType::f32, {6, 1, 3, 2}, 2, true);
  expect_three_by_cudnn(x, w, strided_convolution(3), "", with_channels_last);
  expect_three_by_cudnn(DType::f16, Sizes{2, 32, 4, 3}, Sizes{32, 1, 3, 3},
                        padded_convolution(2, 1, 1, 32));
  expect_three_elsewhere(DType::f16, Sizes{2, 31, 4, 3}, Sizes{31, 1, 3, 3},
                         padded_convolution(2, 1, 1, 31));
  expect_three_by_cudnn(DType::f32, Sizes{2, 1, 6, 5}, Sizes{3, 1, 3, 2}, strided_convolution());
}

TEST_F(CudnnConvolution, TheRestIsComputedElsewhere) {
  ConvolutionAttributes dilated = padded_convolution(2, 1, 1);
  dilated.input_dilation = {2, 1};
  expect_three_elsewhere(DType::f32, Sizes{2, 4, 5, 4}, Sizes{4, 4, 2, 3}, dilated);
  for (const DType dtype : {DType::i32, DType::c64}) {
    expect_three_elsewhere(dtype, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
  }
  // Padded by a copy, the input would have more elements than the patches.
  ConvolutionAttributes sparse = padded_convolution(1, 0, 90);
  sparse.strides = {30};
  expect_three_elsewhere(DType::f32, Sizes{1, 2, 10}, Sizes{2, 2, 1}, sparse);
  set_setting("cudnn", "off");
  expect_three_elsewhere(DType::f32, Sizes{2, 3, 6, 5}, Sizes{4, 3, 3, 2}, strided_convolution());
}

TEST_F(CudnnConvolution, SizesOfZeroAndOne) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const ConvolutionAttributes a = padded_convolution(2, 1, 1);
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
    ConvolutionAttributes a = padded_convolution(1, 1, 1);
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
  expect_runs(3, [&] {
    EXPECT_EQ(found(), 1 + 0x1p-12f);
    set_setting("float32_matmul_precision", "high");
    const float rounded = found();
    EXPECT_TRUE(rounded == 1.f || (cuda_test::kOnGpu && rounded == 1 + 0x1p-12f)) << rounded;
    reset_setting("float32_matmul_precision");
    EXPECT_EQ(found(), 1 + 0x1p-12f);
  });
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
  expect_runs(3, [&] {
    const Pair found = grad(loss)(Pair{Tensor(x.on(there)), Tensor(w.on(there))});
    EXPECT_TRUE(same_bits(found.x.array().on_host(), here.x.array()));
    EXPECT_TRUE(same_bits(found.w.array().on_host(), here.w.array()));
  });
}

// Kernels of a batch become groups; a batch of images for one kernel, more images.
TEST_F(CudnnConvolution, Batches) {
  const auto convolved = [](const Pair& p) { return conv1d(p.x, p.w, {}, {.padding = 1}); };
  const Array x = assorted(DType::f32, {3, 2, 4, 5}, 1, true),
              w = assorted(DType::f32, {3, 6, 4, 3}, 2, true);
  const Array here = vmap(convolved)(Pair{Tensor(x), Tensor(w)}).array();
  const Tensor of_one(w.view(w.layout().picked(0, 0)));
  const auto by_one = [&](const Tensor& sample, const Tensor& kernel) {
    return conv1d(sample, kernel, {}, {.padding = 1});
  };
  const Array shared = vmap([&](const Tensor& t) { return by_one(t, of_one); })(Tensor(x)).array();
  const Tensor one_there = to_device(of_one, there);
  expect_runs(2, [&] {
    const Pair moved{Tensor(x.on(there)), Tensor(w.on(there))};
    EXPECT_TRUE(same_bits(vmap(convolved)(moved).array().on_host(), here));
    const Tensor found = vmap([&](const Tensor& t) { return by_one(t, one_there); })(moved.x);
    EXPECT_TRUE(same_bits(found.array().on_host(), shared));
  });
}

}  // namespace
}  // namespace plait::cuda_cudnn_test
