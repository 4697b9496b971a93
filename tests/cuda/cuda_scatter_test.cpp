// Scatters on the device: collisions in the CPU's order.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_scatter_test {
namespace {

const std::vector<std::pair<Combine, const ir::Primitive& (*)()>> kScatters = {
    {Combine::set, scatter_set_primitive},           {Combine::add, scatter_add_primitive},
    {Combine::multiply, scatter_multiply_primitive}, {Combine::minimum, scatter_minimum_primitive},
    {Combine::maximum, scatter_maximum_primitive},
};

class CudaScatter : public BothDevices {
 protected:
  void expect_rows(const ir::Primitive& primitive, const Array& x, const Array& updates,
                   const std::vector<Array>& indices, GatherAttributes attributes,
                   const std::string& name = {}) {
    std::vector<Array> operands{x, updates};
    operands.insert(operands.end(), indices.begin(), indices.end());
    expect_same(primitive, operands, ir::Attributes::of(std::move(attributes)), name);
  }
};

// Sets and copies know sizes only; other combinations have a text for each dtype.
TEST_F(CudaScatter, DTypesOfEachCombination) {
  const std::vector<std::vector<DType>> dtypes = {
      {DType::boolean, DType::f16, DType::f32, DType::u64, DType::c128},
      {DType::i8, DType::u64, DType::f32, DType::f64, DType::bf16, DType::c64},
      {DType::i16, DType::f32, DType::f16, DType::c128},
      {DType::boolean, DType::f8e4m3, DType::f64},
      {DType::u32, DType::f16, DType::i64}};
  for (size_t i = 0; i < kScatters.size(); ++i) {
    const ir::Primitive& primitive = kScatters[i].second();
    for (const DType dtype : dtypes[i]) {
      const std::string name(name_of(dtype));
      // Few rows, so that runs reach over tiles; sums of these numbers are exact in any order.
      const Array x = assorted(dtype, {5, 2}, 1, true),
                  updates = assorted(dtype, {130, 2}, 2, true);
      expect_rows(primitive, x, updates, {indices_between(DType::i32, {130}, -5, 5)}, {.axes = {0}},
                  name);
      const Array places = Array::of<int64_t>(std::vector<int64_t>{3, 0, 4, 1}, {4});
      expect_rows(primitive, x, assorted(dtype, {4, 2}), {places}, {.axes = {0}, .unique = true},
                  name);
    }
  }
}

TEST_F(CudaScatter, ExtremesKeepNaNs) {
  const Array x = assorted(DType::f32, {3}), updates = assorted(DType::f32, {700}, 2);
  for (const Combine combine : {Combine::minimum, Combine::maximum}) {
    const auto& primitive =
        combine == Combine::minimum ? scatter_minimum_primitive() : scatter_maximum_primitive();
    expect_rows(primitive, x, updates, {indices_between(DType::i64, {700}, 0, 3)}, {.axes = {0}});
  }
}

TEST_F(CudaScatter, NarrowSumsAreRoundedOnce) {
  const Array x = assorted(DType::bf16, {3}, 1, true),
              updates = assorted(DType::bf16, {300}, 2, true);
  const std::vector<Array> operands{x, updates, indices_between(DType::i64, {300}, 0, 3)};
  expect_near(scatter_add_primitive(), operands, ir::Attributes::of(GatherAttributes{.axes = {0}}),
              1);
}

TEST_F(CudaScatter, ViewsAndSeveralAxes) {
  const auto& add = scatter_add_primitive();
  const Array x = assorted(DType::i32, {4, 6, 5, 3});
  const Array i = indices_between(DType::i64, {7, 2}, -4, 4),
              j = indices_between(DType::u8, {7, 2}, 0, 5);
  expect_rows(add, x, assorted(DType::i32, {7, 2, 6, 3}), {i, j}, {.axes = {0, 2}});
  expect_rows(add, permuted(x, {2, 1, 0, 3}), assorted(DType::i32, {7, 2, 5, 6, 3}), {i},
              {.axes = {2}});
  expect_rows(add, x, permuted(assorted(DType::i32, {2, 7, 3, 6}), {1, 0, 3, 2}),
              {i, permuted(permuted(j, {1, 0}), {1, 0})}, {.axes = {0, 2}});
  expect_rows(add, x, assorted(DType::i32, {4, 9, 6, 3}),
              {indices_between(DType::i64, {4, 9}, -5, 5)}, {.axes = {2}, .batch = 1});
  expect_rows(add, x, assorted(DType::i32, {7, 2, 6, 3}),
              {indices_between(DType::i64, {7, 2}, -9, 9), j},
              {.axes = {0, 2}, .outside = Outside::ignored});
  expect_rows(scatter_set_primitive(), x, assorted(DType::i32, {7, 2, 6, 3}),
              {indices_between(DType::i64, {7, 2}, -9, 9), j},
              {.axes = {0, 2}, .outside = Outside::ignored});
}

TEST_F(CudaScatter, Sizes0And1) {
  const auto& set = scatter_set_primitive();
  expect_rows(set, assorted(DType::f32, {4, 2}), Array::empty(DType::f32, {0, 2}),
              {Array::empty(DType::i64, {0})}, {.axes = {0}});
  expect_rows(set, Array::empty(DType::f32, {4, 0}), Array::empty(DType::f32, {3, 0}),
              {indices_between(DType::i64, {3}, 0, 4)}, {.axes = {0}});
  expect_rows(set, Array::empty(DType::f32, {0, 2}), assorted(DType::f32, {3, 2}),
              {indices_between(DType::i64, {3}, 0, 4)}, {.axes = {0}, .outside = Outside::ignored});
  expect_rows(scatter_add_primitive(), assorted(DType::f32, {1}, 1, true),
              assorted(DType::f32, {}, 1, true), {Array::of<int64_t>(-1)}, {.axes = {0}});
}

TEST_F(CudaScatter, ManyPointsOfFewRows) {
  expect_rows(scatter_add_primitive(), assorted(DType::u16, {2}), assorted(DType::u16, {70000}),
              {indices_between(DType::i32, {70000}, 0, 2)}, {.axes = {0}});
  expect_rows(scatter_set_primitive(), assorted(DType::u8, {66000}), assorted(DType::u8, {9000}),
              {indices_between(DType::i32, {9000}, 0, 66000)}, {.axes = {0}});
}

TEST_F(CudaScatter, DonatedArraysAreUpdatedInPlace) {
  const Array host = assorted(DType::i32, {5});
  const std::vector<Tensor> at{Tensor(Array::of<int64_t>(3))};
  const Tensor nine(Array::of<int32_t>(9));
  const GatherAttributes attributes{.axes = {0}};
  Tensor x(host.on(there));
  const std::byte* const memory = x.array().device_data();
  const Tensor result = scatter_rows_into(Combine::add, x, nine, at, attributes);
  EXPECT_EQ(result.array().device_data(), memory);
  const Tensor expected = scatter_rows(Combine::add, Tensor(host), nine, at, attributes);
  EXPECT_TRUE(same_bits(result.array().on_host(), expected.array()));
}

TEST_F(CudaScatter, OthersKeepTheirElements) {
  const Tensor x(assorted(DType::i32, {5}).on(there));
  const std::string before = text_of(x.array().on_host());
  const std::vector<Tensor> operands{x, Tensor(Array::of<int32_t>(9)),
                                     Tensor(Array::of<int64_t>(2))};
  (void)apply_all(scatter_set_primitive(), operands,
                  ir::Attributes::of(GatherAttributes{.axes = {0}}));
  EXPECT_EQ(text_of(x.array().on_host()), before);
}

TEST_F(CudaScatter, BadIndicesAreErrorsAtTheNextWait) {
  for (const bool unique : {false, true}) {
    const std::vector<Tensor> operands{
        Tensor(assorted(DType::f32, {2, 4}).on(there)),
        Tensor(assorted(DType::f32, {3, 2}).on(there)),
        Tensor(Array::of<int64_t>(std::vector<int64_t>{1, -5, 4}, {3}).on(there))};
    (void)apply_all(scatter_add_primitive(), operands,
                    ir::Attributes::of(GatherAttributes{.axes = {1}, .unique = unique}));
    expect_contains(
        what_of<IndexError>([&] { device_memory(there).synchronize(); }),
        {"scatter_add: index -5 is out of range for axis 1 of f32[2, 4], whose size is 4",
         "cuda_scatter_test.cpp:"});
    device_memory(there).synchronize();
  }
}

}  // namespace
}  // namespace plait::cuda_scatter_test
