// Sums and maxima over windows on the emulated device: the CPU's bits.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/inside/primitives.h"
#include "plait/plait.h"

#include "tests/cuda/both_devices.h"

namespace plait::cuda_window_test {
namespace {

std::vector<Dim> dims_of(const std::vector<int64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

class CudaWindow : public BothDevices {
 protected:
  void expect_sums(const Array& x, const WindowAttributes& a, const std::string& name = {}) {
    expect_same(window_sum_primitive(), {x}, ir::Attributes::of(a), name);
  }
  void expect_maxima(const Array& x, const WindowAttributes& a, const std::string& name = {}) {
    expect_same(window_maximum_primitive(), {x}, ir::Attributes::of(a), name);
    expect_same(window_maximum_index_primitive(), {x}, ir::Attributes::of(a), name);
  }
  // `x` has the windows, and `sizes` are those of the plane.
  void expect_spread(const Array& x, WindowAttributes a, const std::vector<int64_t>& sizes,
                     const std::string& name = {}) {
    a.sizes = dims_of(sizes);
    expect_same(window_spread_primitive(), {x}, ir::Attributes::of(a), name);
  }
  // All four, for f32 and planes of these sizes.
  void expect_all(const std::vector<int64_t>& sizes, const WindowAttributes& a,
                  const std::string& name = {}) {
    Sizes space{2, 3}, windows{2, 3};
    for (const int64_t size : sizes) space.push_back(size);
    for (const Dim count : a.counts) windows.push_back(count.number());
    expect_sums(assorted(DType::f32, space, 1, true), a, name);
    expect_maxima(assorted(DType::f32, space), a, name);
    expect_spread(assorted(DType::f32, windows, 1, true), a, sizes, name);
  }
};

// Windows that overlap, with holes, and some that are outside.
WindowAttributes overlapping() {
  return {.counts = {Dim(4), Dim(6)},
          .window = {3, 2},
          .strides = {2, 1},
          .dilation = {1, 3},
          .padding = {1, 2}};
}

TEST_F(CudaWindow, EveryDType) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind == DTypeKind::key) continue;
    const std::string name(info.name);
    if (kNumbers.contains(info.dtype)) {
      expect_sums(assorted(info.dtype, {2, 3, 7, 6}, 1, true), overlapping(), name);
      expect_spread(assorted(info.dtype, {2, 3, 4, 6}, 1, true), overlapping(), {7, 6}, name);
    }
    if (kOrdered.contains(info.dtype)) {
      expect_maxima(assorted(info.dtype, {2, 3, 7, 6}), overlapping(), name);
    }
  }
}

TEST_F(CudaWindow, SumsOfNaN) {
  for (const DType dtype : {DType::f32, DType::f8e4m3}) {
    expect_near(window_sum_primitive(), {assorted(dtype, {20, 7, 6})},
                ir::Attributes::of(overlapping()), 0);
  }
}

// The order of additions is the CPU's.
TEST_F(CudaWindow, RoundedSums) {
  const Array x = (sin(Tensor(assorted(DType::f32, {2, 3, 9, 11}, 1, true))) * 1e3f).array();
  WindowAttributes a{.counts = {Dim(9), Dim(11)},
                     .window = {5, 6},
                     .strides = {1, 1},
                     .dilation = {1, 1},
                     .padding = {2, 3}};
  expect_sums(x, a);
  expect_spread(x, a, {9, 11});
  a.dilation = {2, 2};
  expect_spread(x, a, {9, 11});
  a.window = a.strides = a.dilation = a.padding = {};
  expect_spread(x, a, {12, 13});
}

// Zeros of both signs are equal, and NaN may differ in their signs: the CPU's choice.
TEST_F(CudaWindow, EqualMaxima) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const bool has_nan : {false, true}) {
      Array x = Array::empty(DType::f64, {2, 4, 7, 6});
      for (size_t i = 0; i < 336; ++i) {
        const double size = has_nan && i % 3 == 0 ? std::nan("") : 0;
        x.writable_elements<double>()[i] =
            std::copysign(size, (i * i * 7 + i / 5) % 4 < 2 ? -1 : 1);
      }
      expect_maxima(x.converted(dtype), overlapping());
      WindowAttributes cube{.counts = {Dim(3), Dim(3), Dim(3)}};
      expect_maxima(x.converted(dtype), cube);
    }
  }
}

TEST_F(CudaWindow, OneToThreeDimensions) {
  expect_all({9},
             {.counts = {Dim(5)}, .window = {4}, .strides = {2}, .dilation = {1}, .padding = {1}});
  expect_all({4, 3, 5}, {.counts = {Dim(2), Dim(3), Dim(5)},
                         .window = {3, 1, 2},
                         .strides = {2, 1, 1},
                         .dilation = {1, 1, 2},
                         .padding = {1, 0, 1}});
  expect_all({5, 4}, {.counts = {Dim(3), Dim(7)}}, "even");
  expect_all({3, 5, 4}, {.counts = {Dim(2), Dim(1), Dim(3)}}, "even");
  expect_all({7}, {.counts = {Dim(1)}}, "even");
}

// Strides and dilations with and without common divisors; cropping; windows outside on both sides.
TEST_F(CudaWindow, StridesAndDilations) {
  for (const int64_t stride : {1, 2, 4, 6}) {
    for (const int64_t dilation : {1, 2, 3, 4}) {
      for (const int64_t padding : {-2, 0, 9}) {
        expect_all({11},
                   {.counts = {Dim(8)},
                    .window = {3},
                    .strides = {stride},
                    .dilation = {dilation},
                    .padding = {padding}},
                   fmt::format("{} {} {}", stride, dilation, padding));
      }
    }
  }
}

TEST_F(CudaWindow, Sizes0And1) {
  expect_all({0, 3}, overlapping(), "empty planes");
  expect_all({3, 0}, {.counts = {Dim(2), Dim(3)}}, "empty planes, even");
  WindowAttributes none = overlapping();
  none.counts = {Dim(0), Dim(3)};
  expect_all({4, 5}, none, "no windows");
  expect_all({4, 5}, {.counts = {Dim(0), Dim(2)}}, "no windows, even");
  expect_all({1, 1}, overlapping(), "one element");
  expect_sums(Array::empty(DType::f32, {0, 4, 4}), overlapping());
  expect_maxima(assorted(DType::i8, {4, 4}), overlapping(), "one plane");
}

TEST_F(CudaWindow, Layouts) {
  const Array x = assorted(DType::f32, {4, 3, 7, 6}, 1, true);
  const Array many = assorted(DType::f32, {2, 3, 2, 3, 2, 3, 4, 6}, 1, true);
  const Array one = x.view(x.layout().sliced(1, {.stop = 1}).sliced(3, {.stop = 1}));
  const auto reversed = [](const Array& a, int64_t axis) {
    return a.view(a.layout().reversed(axis));
  };
  const Array views[] = {permuted(x, {1, 0, 2, 3}),
                         permuted(x, {0, 1, 3, 2}),
                         permuted(x, {2, 3, 0, 1}),
                         stepped(x, 0, 2),
                         stepped(stepped(x, 2, 2), 3, 3),
                         reversed(reversed(x, 1), 3),
                         one.view(one.layout().broadcast_to(x.sizes())),
                         permuted(many, {4, 1, 2, 3, 0, 5, 6, 7}),
                         permuted(many, {5, 4, 3, 2, 1, 0, 7, 6})};
  for (const Array& view : views) {
    expect_sums(view, overlapping());
    expect_maxima(view, overlapping());
    WindowAttributes a = overlapping();
    const Sizes& sizes = view.sizes();
    a.counts = {Dim(sizes[sizes.size() - 2]), Dim(sizes.back())};
    expect_spread(view, a, {5, 8});
  }
}

TEST_F(CudaWindow, PlacesBeyond32Bits) {
  const int64_t far = (int64_t{1} << 31) - 1;
  expect_all(
      {3},
      {.counts = {Dim(3)}, .window = {far}, .strides = {far}, .dilation = {far}, .padding = {far}});
  expect_all(
      {6},
      {.counts = {Dim(4)}, .window = {far}, .strides = {1}, .dilation = {2}, .padding = {far - 1}});
}

TEST_F(CudaWindow, WrongCountsAreRefused) {
  WindowAttributes a = overlapping();
  a.sizes = {Dim(7), Dim(6)};
  std::vector<Array> operands{assorted(DType::f32, {2, 4, 5}).on(there)}, results(1);
  const std::vector<ArrayType> types{{DType::f32, {2, 7, 6}}};
  const ir::Attributes attributes = ir::Attributes::of(a);
  KernelCall call{window_spread_primitive(), operands, attributes, types, results, there};
  const Kernel* const kernel = find_device_kernel(window_spread_primitive(), Device::Kind::cuda);
  EXPECT_THROW(kernel->run(call, nullptr), ShapeError);
}

TEST_F(CudaWindow, Gradients) {
  const Array x = assorted(DType::f64, {2, 3, 7, 6}, 1, true);
  const auto expect_equal = [&](auto loss) {
    const Tensor here = grad(loss)(Tensor(x)), found = grad(loss)(Tensor(x.on(there)));
    EXPECT_EQ(found.array().device(), there);
    EXPECT_TRUE(same_bits(found.array().on_host(), here.array()));
  };
  const auto total = [](const Tensor& y) { return sum(y * y); };
  expect_equal([&](const Tensor& t) { return total(window_sum(t, overlapping())); });
  expect_equal([&](const Tensor& t) { return total(max_pool2d(t, 2)); });
  expect_equal([&](const Tensor& t) { return total(adaptive_avg_pool2d(t, 3)); });
  expect_equal([&](const Tensor& t) {  // that of window_spread
    return total(grad([&](const Tensor& u) { return total(window_sum(u, overlapping())); })(t));
  });
}

}  // namespace
}  // namespace plait::cuda_window_test
