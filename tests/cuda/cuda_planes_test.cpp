// Indexing within planes, slices that are replaced, and reinterpreted bytes on the device.
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/inside/primitives.h"
#include "plait/plait.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_planes_test {
namespace {

class CudaPlanes : public BothDevices {
 protected:
  void expect_taken(const Array& x, const Array& index, int64_t dimensions) {
    expect_same(plane_take_primitive(), {x, index},
                ir::Attributes::of(PlaneAttributes{dimensions}));
  }
  void expect_put(const Array& x, const Array& index, std::vector<Dim> sizes, double ulps = 0) {
    const auto dimensions = static_cast<int64_t>(sizes.size());
    const ir::Attributes attributes =
        ir::Attributes::of(PlaneAttributes{dimensions, std::move(sizes)});
    if (ulps == 0) return expect_same(plane_put_primitive(), {x, index}, attributes);
    expect_near(plane_put_primitive(), {x, index}, attributes, ulps);
  }
  static Array view_of(const Array& x, DType dtype) { return view_dtype(Tensor(x), dtype).array(); }
  static int64_t host_calls_of_views() {
    for (const HostCalls& each : host_calls()) {
      if (each.primitive == &view_dtype_primitive()) return each.count;
    }
    return 0;
  }
};

TEST_F(CudaPlanes, ElementsOfEveryDType) {
  const Array index = indices_between(DType::i64, {3, 2, 5}, -1, 12);
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind == DTypeKind::key) continue;
    expect_taken(assorted(info.dtype, {3, 4, 3}), index, 2);
  }
  for (const DType dtype : {DType::f16, DType::f32, DType::i8, DType::u64, DType::c64}) {
    expect_put(assorted(dtype, {3, 2, 5}, 1, true), index, {4, 3});  // the sums are exact
  }
}

TEST_F(CudaPlanes, StridesAndRanks) {
  const Array x = assorted(DType::f32, {3, 4, 5, 6}),
              index = indices_between(DType::i64, {4, 3, 7, 2}, -1, 30);
  expect_taken(permuted(x, {1, 0, 2, 3}), index, 2);
  expect_taken(permuted(x, {1, 0, 3, 2}), index, 2);
  expect_taken(permuted(x, {1, 0, 2, 3}), permuted(index, {0, 1, 3, 2}), 2);
  const Array one = x.view(x.layout().sliced(0, Slice{0, 1}).broadcast_to(x.sizes()));
  expect_taken(one, indices_between(DType::i64, {3, 4, 5, 1}, -1, 6), 1 + 1);
  expect_taken(x, indices_between(DType::i64, {3, 2, 2, 2}, -1, 120), 3);
  expect_put(permuted(assorted(DType::i32, {3, 4, 7, 2}), {1, 0, 2, 3}), index, {6, 5});
  expect_put(assorted(DType::f32, {700}), indices_between(DType::i64, {700}, -1, 3), {3}, 200);
  const Array many = assorted(DType::u8, {2, 2, 2, 2, 2, 2, 2, 2, 2, 3});
  expect_taken(permuted(many, {8, 7, 6, 5, 4, 3, 2, 1, 0, 9}),
               indices_between(DType::i64, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, -1, 3), 1);
}

TEST_F(CudaPlanes, Sizes0And1) {
  expect_taken(assorted(DType::f32, {1}), Array::of<int64_t>(std::vector<int64_t>{-1, 0}, {2}), 1);
  expect_taken(Array::empty(DType::f32, {2, 0}),
               Array::of<int64_t>(std::vector<int64_t>{-1, -1}, {2, 1}), 1);
  expect_taken(assorted(DType::f32, {2, 3}), Array::empty(DType::i64, {2, 0}), 1);
  expect_put(Array::empty(DType::f32, {2, 0}), Array::empty(DType::i64, {2, 0}), {3});
  expect_put(assorted(DType::i32, {2, 1}), Array::of<int64_t>(std::vector<int64_t>{-1, -1}, {2, 1}),
             {0});
  expect_put(Array::empty(DType::c64, {0, 4}), Array::empty(DType::i64, {0, 4}), {3});
}

TEST_F(CudaPlanes, BadIndicesAreErrorsAtTheNextWait) {
  const Array bad = Array::of<int64_t>(std::vector<int64_t>{0, 6, -2}, {3});
  for (const bool puts : {false, true}) {
    const PlaneAttributes attributes{1, puts ? std::vector<Dim>{6} : std::vector<Dim>{}};
    const std::vector<Tensor> operands{Tensor(assorted(DType::f32, {puts ? 3 : 6}).on(there)),
                                       Tensor(bad.on(there))};
    (void)apply_all(puts ? plane_put_primitive() : plane_take_primitive(), operands,
                    ir::Attributes::of(attributes));
    expect_contains(what_of<IndexError>([&] { device_memory(there).synchronize(); }),
                    {puts ? "plane_put" : "plane_take",
                     "index 6 is out of range for a plane of 6 elements", "cuda_planes_test.cpp:"});
  }
}

TEST_F(CudaPlanes, PoolingHasTheHostsGradients) {
  const Tensor x(cuda_test::numbers(DType::f32, {2, 3, 6, 6}));
  const Tensor index(indices_between(DType::i64, {2, 3, 4, 4}, -1, 36));
  const auto gradient = [](const Tensor& of, const Tensor& places) {
    return grad([&](const Tensor& y) { return sum(square(plane_take(y, places, 2))); })(of);
  };
  const Tensor found = gradient(to_device(x, there), to_device(index, there));
  EXPECT_EQ(found.device(), there);
  EXPECT_TRUE(allclose(to_device(found, Device()), gradient(x, index)).item<bool>());
}

TEST_F(CudaPlanes, SlicesAreReplaced) {
  const Array x = assorted(DType::f32, {5, 6, 4}), part = assorted(DType::f32, {2, 3, 4}, 2);
  const std::vector<std::vector<SliceRange>> all{{{1, 2, 2}, {5, 3, -2}, {0, 4, 1}},
                                                 {{3, 2, 1}, {0, 3, 1}, {3, 4, -1}}};
  for (const auto& ranges : all) {
    for (const Array& from : {x, permuted(assorted(DType::f32, {6, 5, 4}), {1, 0, 2})}) {
      Tensor host(from), device(on_device(from));
      const Tensor expected = update_slice_into(host, Tensor(part), ranges);
      const Tensor found = update_slice_into(device, Tensor(part.on(there)), ranges);
      EXPECT_EQ(found.device(), there);
      EXPECT_TRUE(same_bits(found.array().on_host(), expected.array()));
    }
  }
}

TEST_F(CudaPlanes, SlicesOfSharedArraysAreCopied) {
  const Array x = assorted(DType::i16, {5, 6});
  const Tensor kept(x.on(there));
  Tensor given = kept;
  const std::vector<SliceRange> ranges{{0, 5, 1}, {2, 3, 1}};
  const Array part = assorted(DType::i16, {5, 3}, 3);
  const Tensor found = update_slice_into(given, Tensor(part.on(there)), ranges);
  Tensor host(x);
  const Tensor expected = update_slice_into(host, Tensor(part), ranges);
  EXPECT_TRUE(same_bits(found.array().on_host(), expected.array()));
  EXPECT_TRUE(same_bits(kept.array().on_host(), x));
  Tensor own(x.copy().on(there));
  const std::byte* const memory = own.array().device_data();
  EXPECT_EQ(update_slice_into(own, Tensor(part.on(there)), ranges).array().device_data(), memory);
}

TEST_F(CudaPlanes, SlicesMeetScalarsOfTheHost) {
  const std::vector<SliceRange> ranges{{1, 2, 1}};
  Tensor zeros_of_host = broadcast_to(Tensor(Array::of(0.f)), {4});
  const Tensor part(assorted(DType::f32, {2}, 1, true).on(there));
  const Tensor found = update_slice_into(zeros_of_host, part, ranges);
  EXPECT_EQ(found.device(), there);
  Tensor x(assorted(DType::f32, {4}).on(there));
  EXPECT_THROW((void)update_slice_into(x, part, std::vector<SliceRange>{{3, 2, 1}}), IndexError);
  EXPECT_EQ(found.array().on_host().elements<float>()[3], 0);
}

TEST_F(CudaPlanes, GradientsOfSlicesEqualTheHost) {
  const auto loss = [](const Tensor& x) {
    Tensor copy = x * 2;
    const std::vector<SliceRange> ranges{{1, 2, 2}};
    return sum(square(update_slice_into(copy, slice_axis(x, 0, 0, 2, 1), ranges)));
  };
  const Tensor x(cuda_test::numbers(DType::f32, {5}));
  const Tensor expected = grad(loss)(x);
  const auto jitted = jit(grad(loss));
  for (const Tensor& found : {grad(loss)(to_device(x, there)), jitted(to_device(x, there))}) {
    EXPECT_EQ(found.device(), there);
    EXPECT_TRUE(same_bits(found.array().on_host(), expected.array()));
  }
}

TEST_F(CudaPlanes, BytesAreReinterpreted) {
  const Array x = assorted(DType::f32, {3, 8});
  for (const DType dtype :
       {DType::u8, DType::i16, DType::i32, DType::f64, DType::c64, DType::c128}) {
    for (const Array& from : {x, permuted(assorted(DType::f32, {8, 3}), {1, 0}),
                              x.view(x.layout().sliced(0, Slice{1, 3}))}) {
      const Array found = view_of(on_device(from), dtype);
      EXPECT_EQ(found.device(), there);
      EXPECT_TRUE(same_bits(found.on_host(), view_of(from, dtype))) << name_of(dtype);
    }
  }
  const Array device = x.on(there);
  EXPECT_EQ(view_of(device, DType::f64).device_data(), device.device_data());
  const Array odd = assorted(DType::f32, {9}).on(there);
  const Array behind = odd.view(odd.layout().sliced(0, Slice{1, 9}));  // at 4 bytes
  EXPECT_TRUE(same_bits((Tensor(view_of(behind, DType::f64)) * 1).array().on_host(),
                        view_of(behind.on_host(), DType::f64).copy()));
  EXPECT_EQ(view_of(Array::empty(DType::f32, {0, 2}).on(there), DType::f64).sizes(), (Sizes{0, 1}));
  const int64_t before = host_calls_of_views();
  const auto bits = jit([](const Tensor& of) { return view_dtype(of * 2, DType::i32) + 1; });
  EXPECT_TRUE(same_bits(bits(Tensor(device)).array().on_host(), bits(Tensor(x)).array()));
  EXPECT_EQ(host_calls_of_views(), before);
}

}  // namespace
}  // namespace plait::cuda_planes_test
