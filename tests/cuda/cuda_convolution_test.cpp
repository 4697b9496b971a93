// Convolutions and their transposes on the emulated device, without cuDNN: the CPU's bits, because
// all sums of the numbers are exact.
#include <vector>

#include <gtest/gtest.h>

#include "plait/cuda/inside/windows/direct_convolution.h"
#include "plait/cuda/inside/windows/patch_products.h"
#include "plait/plait.h"

#include "tests/cuda/both_convolutions.h"

namespace plait::cuda_convolution_test {
namespace {

constexpr DType kConvolved[] = {DType::f32,  DType::f64, DType::f16, DType::bf16, DType::c64,
                                DType::c128, DType::i8,  DType::i16, DType::i32,  DType::i64,
                                DType::u8,   DType::u16, DType::u32, DType::u64};

ConvolutionAttributes plain(size_t space, int64_t groups = 1) {
  return plain_convolution(space, groups);
}

// By Plait's own kernels; cuda_cudnn_test.cpp has the others.
class CudaConvolution : public BothConvolutions {
 protected:
  void SetUp() override {
    BothConvolutions::SetUp();
    set_setting("cudnn", "off");
  }
  void TearDown() override {
    reset_setting("cudnn");
    BothConvolutions::TearDown();
  }

  cuda::DeviceConvolution prepared(const Array& x, const Array& w, const ConvolutionAttributes& a,
                                   const Array& out) const {
    return {cuda::cuda_device(there.index), convolution_shape(x, w, out, geometry_of(a)),
            x.on(there), w.on(there), out.on(there)};
  }
};

ConvolutionAttributes strided() {
  ConvolutionAttributes a = plain(2);
  a.strides = {2, 1};
  a.dilation = {1, 2};
  a.padding_low = {Dim(1), Dim(2)};
  a.padding_high = {Dim(0), Dim(1)};
  return a;
}

TEST_F(CudaConvolution, ProductsOfEveryDType) {
  for (const DType dtype : kConvolved) {
    expect_three(dtype, {2, 3, 6, 5}, {4, 3, 3, 2}, strided());
    expect_three(dtype, {2, 3, 4, 2}, {5, 3, 1, 1}, plain(2), "of one element ");
  }
}

TEST_F(CudaConvolution, DepthwiseOfEveryDType) {
  for (const DType dtype : kConvolved) {
    ConvolutionAttributes a = strided();
    a.groups = Dim(3);
    expect_three(dtype, {2, 3, 6, 5}, {6, 1, 3, 2}, a);
  }
}

TEST_F(CudaConvolution, OneToThreeDimensions) {
  for (const int64_t groups : {1, 2, 4}) {
    const int64_t each = 4 / groups;
    ConvolutionAttributes line = plain(1, groups);
    line.padding_low = {Dim(2)};
    expect_three(DType::f32, {3, 4, 9}, {8, each, 3}, line);
    ConvolutionAttributes cube = plain(3, groups);
    cube.strides = {1, 2, 1};
    cube.padding_high = {Dim(1), Dim(0), Dim(2)};
    expect_three(DType::f32, {2, 4, 3, 5, 4}, {4, each, 2, 3, 2}, cube);
  }
}

TEST_F(CudaConvolution, DilationsOfBothKindsAndCropping) {
  for (const int64_t groups : {1, 4}) {
    ConvolutionAttributes a = plain(2, groups);
    a.input_dilation = {2, 3};
    a.dilation = {2, 1};
    a.strides = {1, 2};
    a.padding_low = {Dim(-1), Dim(3)};
    a.padding_high = {Dim(2), Dim(-2)};
    expect_three(DType::f32, {2, 4, 5, 4}, {4, 4 / groups, 2, 3}, a);
    expect_three(DType::i16, {1, 4, 5, 4}, {8, 4 / groups, 3, 2}, a);
  }
}

// Images of one place are joined, as columns of one product.
TEST_F(CudaConvolution, ResultsOfOnePlace) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i32}) {
    expect_three(dtype, {5, 4, 3, 2}, {6, 2, 3, 2}, plain(2, 2));
    expect_three(dtype, {5, 4, 1, 1}, {6, 4, 1, 1}, plain(2));
  }
}

TEST_F(CudaConvolution, Layouts) {
  const Array x = assorted(DType::f32, {4, 4, 6, 5}, 1, true);
  const Array w = assorted(DType::f32, {4, 4, 3, 2}, 2, true);
  const Array point = assorted(DType::f32, {4, 4, 1, 1}, 2, true);
  const Array deep = assorted(DType::f32, {4, 1, 3, 2}, 2, true);
  const View views[] = {
      [](const Array& a) { return permuted(permuted(a, {0, 2, 3, 1}).copy(), {0, 3, 1, 2}); },
      [](const Array& a) { return permuted(permuted(a, {3, 2, 1, 0}).copy(), {3, 2, 1, 0}); },
      [](const Array& a) { return a.view(a.layout().reversed(0).reversed(2).reversed(3)); },
      [](const Array& a) {
        const Layout first = a.layout().sliced(0, {.stop = 1}).sliced(3, {.stop = 1});
        return a.view(first.broadcast_to(a.sizes()));
      },
      [](const Array& a) {
        Array wide = Array::filled(a.dtype(),
                                   {a.sizes()[0], a.sizes()[1], a.sizes()[2] + 2, 2 * a.sizes()[3]},
                                   Element::of(99.0));
        Array inner =
            wide.view(wide.layout().sliced(2, {.start = 1, .stop = -1}).sliced(3, {.step = 2}));
        copy_elements(a, inner);
        return inner;
      }};
  for (const View view : views) {
    expect_three(x, w, strided(), "columns", view);
    expect_three(x, point, plain(2), "of one element", view);
    ConvolutionAttributes a = strided();
    a.groups = Dim(4);
    expect_three(x, deep, a, "depthwise", view);
  }
}

TEST_F(CudaConvolution, EmptySizes) {
  for (const DType dtype : {DType::f32, DType::u8}) {
    ConvolutionAttributes padded = plain(2);
    padded.padding_low = {Dim(1), Dim(1)};
    padded.padding_high = {Dim(1), Dim(1)};
    expect_three(dtype, {0, 3, 4, 4}, {2, 3, 2, 2}, plain(2), "no images ");
    expect_three(dtype, {2, 0, 4, 4}, {2, 0, 2, 2}, plain(2), "no inputs ");
    expect_three(dtype, {2, 3, 4, 4}, {0, 3, 2, 2}, plain(2), "no outputs ");
    expect_three(dtype, {2, 3, 1, 4}, {2, 3, 2, 2}, plain(2), "no places ");
    expect_three(dtype, {2, 3, 0, 4}, {2, 3, 2, 2}, padded, "only padding ");
    padded.groups = Dim(3);
    expect_three(dtype, {2, 3, 0, 4}, {3, 1, 2, 2}, padded, "depthwise, only padding ");
    expect_three(dtype, {0, 3, 4, 4}, {3, 1, 2, 2}, padded, "depthwise, no images ");
  }
}

TEST_F(CudaConvolution, FewColumnsAtATime) {
  const ConvolutionAttributes a = strided();
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    const Array x = assorted(dtype, {3, 3, 6, 5}, 1, true),
                w = assorted(dtype, {4, 3, 3, 2}, 2, true);
    const Sizes sizes = convolution_sizes(x.sizes(), w.sizes(), geometry_of(a));
    const Array out = assorted(dtype, sizes, 3, true);
    ConvolutionAttributes of_x = a, of_w = a;
    of_x.sizes = space_of(x);
    of_w.sizes = space_of(w);
    const Array y = convolution(Tensor(x), Tensor(w), a).array();
    const Array dx = convolution_input_gradient(Tensor(out), Tensor(w), of_x).array();
    const Array dw = convolution_weight_gradient(Tensor(x), Tensor(out), of_w).array();
    for (const int64_t bytes : {1, 5000, 100000}) {
      const auto made = [&](const Array& like) {
        return Array::empty_on(there, dtype, like.sizes());
      };
      cuda::DeviceConvolution of_out = prepared(x, w, a, out);
      of_out.out = made(y);
      cuda::convolve_by_products(of_out, bytes);
      EXPECT_TRUE(same_bits(of_out.out.on_host(), y)) << bytes << name_of(dtype);
      cuda::DeviceConvolution of_input = prepared(x, w, a, out);
      of_input.x = made(dx);
      cuda::find_input_gradient_by_products(of_input, bytes);
      EXPECT_TRUE(same_bits(of_input.x.on_host(), dx)) << bytes << name_of(dtype);
      cuda::DeviceConvolution of_weight = prepared(x, w, a, out);
      of_weight.w = made(dw);
      cuda::find_weight_gradient_by_products(of_weight, bytes);
      EXPECT_TRUE(same_bits(of_weight.w.on_host(), dw)) << bytes << name_of(dtype);
    }
  }
}

TEST(PatchSlices, AreOfBoundedSize) {
  ConvolutionShape shape{.rank = 2, .images = 7, .inputs = 3, .outputs = 2};
  shape.spatial[1] = {.in = 20, .kernel = 2, .out = 19};
  shape.spatial[2] = {.in = 20, .kernel = 2, .out = 19};
  const int64_t of_image = 3 * 4 * 361 * 4;
  for (const int64_t most :
       {int64_t{1}, int64_t{4000}, of_image - 1, of_image, 3 * of_image, 9 * of_image}) {
    int64_t places = 0;
    for (const cuda::PatchSlice& slice : cuda::patch_slices(shape, 4, most)) {
      const int64_t count = slice.images * slice.places;
      EXPECT_TRUE(count * of_image / 361 <= most || count == 1) << most;
      EXPECT_EQ(places, slice.first_image * 361 + slice.first_place) << most;
      places += count;
    }
    EXPECT_EQ(places, 7 * 361) << most;
  }
}

// Sums over many places are cut, with a rest, by image or over all images.
TEST_F(CudaConvolution, LongSumsOfWeights) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i8}) {
    expect_three(dtype, {1, 1, 1031}, {9, 1, 2}, plain(1));
    expect_three(dtype, {2, 1, 519}, {9, 1, 1}, plain(1));
  }
  expect_three(DType::f32, {30, 12, 21}, {2, 12, 2}, plain(1));
  expect_three(DType::f16, {30, 44, 20}, {44, 44, 1}, plain(1));
}

// Positive numbers, whose sums round: the same bits in each order of threads, and the CPU's up to
// the order of additions; narrow floats are rounded once.
TEST_F(CudaConvolution, RoundedSums) {
  for (const auto& [dtype, ulps] : {std::pair(DType::f32, 40.), std::pair(DType::bf16, 1.)}) {
    for (const int64_t groups : {1, 4}) {
      const auto positive = [&](const Sizes& sizes) {
        return exp(sin(Tensor(assorted(DType::f32, sizes, 1, true)) * 1.7f))
            .array()
            .converted(dtype);
      };
      ConvolutionAttributes a = plain(1, groups);
      a.padding_low = {Dim(1)};
      const Array x = positive({3, 4, 200}), w = positive({4, 4 / groups, 5});
      const Array out = positive({3, 4, 197});
      expect_near(convolution_primitive(), {x, w}, ir::Attributes::of(a), ulps);
      a.sizes = {Dim(200)};
      expect_near(convolution_input_gradient_primitive(), {out, w}, ir::Attributes::of(a), ulps);
      a.sizes = {Dim(5)};
      expect_near(convolution_weight_gradient_primitive(), {x, out}, ir::Attributes::of(a), ulps);
    }
  }
}

TEST_F(CudaConvolution, PlacesBeyond32Bits) {
  for (const int64_t groups : {1, 2}) {
    ConvolutionAttributes a = plain(1, groups);
    a.input_dilation = {int64_t{1} << 40};
    a.strides = {int64_t{1} << 39};
    a.dilation = {int64_t{1} << 41};
    a.padding_low = {Dim(int64_t{1} << 41)};
    a.padding_high = {Dim(int64_t{1} << 40)};
    expect_three(DType::f32, {2, 2, 4}, {2, 2 / groups, 2}, a);
  }
}

TEST_F(CudaConvolution, WithoutGroups) {
  ConvolutionAttributes a = plain(1, 0);
  const Array x = assorted(DType::f32, {2, 0, 4}).on(there),
              w = assorted(DType::f32, {0, 1, 2}).on(there);
  Array out = Array::empty_on(there, DType::f32, {2, 0, 3});
  std::vector<Array> operands{x, w}, results(1);
  const std::vector<ArrayType> types{{DType::f32, {2, 0, 3}}};
  const ir::Attributes attributes = ir::Attributes::of(a);
  KernelCall call{convolution_primitive(), operands, attributes, types, results, there};
  find_device_kernel(convolution_primitive(), Device::Kind::cuda)->run(call, nullptr);
  EXPECT_EQ(results[0].sizes(), out.sizes());
}

TEST_F(CudaConvolution, HostScalarsMeetTheDevice) {
  const Array x = assorted(DType::f32, {2, 3, 5, 5}, 1, true);
  const Array one = Array::filled(DType::f32, {}, Element::of(2.0));
  const Array w = one.view(one.layout().broadcast_to(Sizes{4, 3, 2, 2}));
  const Array found = convolution(Tensor(x.on(there)), Tensor(w), plain(2)).array();
  EXPECT_EQ(found.device(), there);
  EXPECT_TRUE(same_bits(found.on_host(), convolution(Tensor(x), Tensor(w), plain(2)).array()));
}

struct Pair {
  Tensor x, w;
};

TEST_F(CudaConvolution, Gradients) {
  ConvolutionOptions depthwise{.stride = 2, .padding = 1, .groups = 4};
  for (const bool is_deep : {false, true}) {
    const auto loss = [&](const Pair& p) {
      const Tensor y =
          is_deep ? conv2d(p.x, p.w, {}, depthwise) : conv2d(p.x, p.w, {}, {.padding = 1});
      return sum(y * y);
    };
    const Array x = assorted(DType::f64, {2, 4, 5, 5}, 1, true);
    const Array w = assorted(DType::f64, {4, is_deep ? 1 : 4, 3, 3}, 2, true);
    const Pair here = grad(loss)(Pair{Tensor(x), Tensor(w)});
    const Pair found = grad(loss)(Pair{Tensor(x.on(there)), Tensor(w.on(there))});
    EXPECT_EQ(found.x.array().device(), there);
    EXPECT_TRUE(same_bits(found.x.array().on_host(), here.x.array()));
    EXPECT_TRUE(same_bits(found.w.array().on_host(), here.w.array()));
  }
}

// The derivatives of the two transposes are each other and the convolution.
TEST_F(CudaConvolution, GradientsOfTransposes) {
  const Array out = assorted(DType::f64, {2, 4, 3}, 1, true),
              w = assorted(DType::f64, {4, 3, 2}, 2, true);
  const auto transposed = [](const Pair& p) {
    const Tensor y = conv_transpose1d(p.x, p.w, {}, {.stride = 2});
    return sum(y * y);
  };
  const auto weights = [](const Pair& p) {
    ConvolutionAttributes a = plain(1);
    a.sizes = {Dim(2)};
    const Tensor y = convolution_weight_gradient(p.x, p.w, a);
    return sum(y * y);
  };
  const Array x = assorted(DType::f64, {2, 3, 4}, 3, true);
  const auto expect_equal = [&](const Pair& here, const Pair& found) {
    EXPECT_TRUE(same_bits(found.x.array().on_host(), here.x.array()));
    EXPECT_TRUE(same_bits(found.w.array().on_host(), here.w.array()));
  };
  expect_equal(grad(transposed)(Pair{Tensor(out), Tensor(w)}),
               grad(transposed)(Pair{Tensor(out.on(there)), Tensor(w.on(there))}));
  expect_equal(grad(weights)(Pair{Tensor(x), Tensor(out)}),
               grad(weights)(Pair{Tensor(x.on(there)), Tensor(out.on(there))}));
}

TEST_F(CudaConvolution, Errors) {
  const Tensor x(assorted(DType::f32, {2, 3, 5}).on(there)),
      w(assorted(DType::f32, {4, 2, 2}).on(there));
  EXPECT_THROW((void)convolution(x, w, plain(1)), ShapeError);
  EXPECT_THROW((void)convolution(x, Tensor(assorted(DType::f16, {4, 3, 2}).on(there)), plain(1)),
               TypeError);
}

}  // namespace
}  // namespace plait::cuda_convolution_test
