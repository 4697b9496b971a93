// Gather on the device: the CPU's rows, and its errors at the next wait.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_gather_test {
namespace {

class CudaGather : public BothDevices {
 protected:
  void expect_rows(const Array& x, const std::vector<Array>& indices, GatherAttributes attributes,
                   const std::string& name = {}) {
    std::vector<Array> operands{x};
    operands.insert(operands.end(), indices.begin(), indices.end());
    expect_same(gather_primitive(), operands, ir::Attributes::of(std::move(attributes)), name);
  }
  Array gathered(const Array& x, const Array& indices,
                 GatherAttributes attributes = {.axes = {0}}) {
    const std::vector<Tensor> operands{Tensor(x.on(there)), Tensor(indices.on(there))};
    return apply_all(gather_primitive(), operands, ir::Attributes::of(std::move(attributes)))[0]
        .array();
  }
};

TEST_F(CudaGather, EveryDType) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind == DTypeKind::key) continue;
    const Array x = assorted(info.dtype, {7, 3}), wide = assorted(info.dtype, {7, 16});
    const Array places = indices_between(DType::i64, {4, 5}, -7, 7);
    expect_rows(x, {places}, {.axes = {0}}, std::string(info.name));
    expect_rows(x, {places}, {.axes = {1}, .outside = Outside::ignored}, std::string(info.name));
    expect_rows(wide, {places}, {.axes = {0}}, std::string(info.name));
  }
}

TEST_F(CudaGather, EveryDTypeOfIndices) {
  const Array x = assorted(DType::f32, {11, 2});
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                            DType::u32, DType::u64}) {
    expect_rows(x, {indices_between(dtype, {9}, is_signed(dtype) ? -11 : 0, 11)}, {.axes = {0}},
                std::string(name_of(dtype)));
  }
}

TEST_F(CudaGather, ViewsAndSeveralAxes) {
  const Array x = assorted(DType::f32, {4, 6, 5, 8});
  const Array i = indices_between(DType::i64, {3, 4}, -4, 4),
              j = indices_between(DType::i32, {3, 4}, 0, 5);
  expect_rows(x, {i, j}, {.axes = {0, 2}});
  expect_rows(permuted(x, {2, 1, 0, 3}), {i}, {.axes = {2}});
  expect_rows(stepped(x, 3, 2), {i}, {.axes = {0}});
  expect_rows(stepped(x, 1, 2), {permuted(i, {1, 0}), permuted(j, {1, 0})}, {.axes = {0, 2}});
  expect_rows(x, {i.view(i.layout().sliced(1, Slice{std::nullopt, std::nullopt, -1}))},
              {.axes = {0}});
  expect_rows(x, {indices_between(DType::i64, {4, 3}, 0, 5)}, {.axes = {2}, .batch = 1});
  expect_rows(permuted(x, {1, 0, 2, 3}), {indices_between(DType::i64, {6, 4, 2}, 0, 5)},
              {.axes = {2}, .batch = 2});
  expect_rows(x, {i, i, i, j}, {.axes = {0, 1, 2, 3}});
}

TEST_F(CudaGather, Sizes0And1) {
  const Array x = assorted(DType::i32, {5, 0}), one = assorted(DType::i32, {1});
  const Array none = Array::empty(DType::i64, {0, 2});
  expect_rows(x, {indices_between(DType::i64, {3}, 0, 5)}, {.axes = {0}});
  expect_rows(assorted(DType::i32, {5, 2}), {none}, {.axes = {0}});
  expect_rows(Array::empty(DType::i32, {0, 2}), {none}, {.axes = {0}});
  expect_rows(Array::empty(DType::f32, {0, 2}), {indices_between(DType::i64, {3}, 0, 5)},
              {.axes = {0}, .outside = Outside::ignored});
  expect_rows(one, {Array::of<int64_t>(0)}, {.axes = {0}});
}

TEST_F(CudaGather, MoreRowsThanAGridHasBlocks) {
  expect_rows(assorted(DType::u8, {70000, 2}), {indices_between(DType::i32, {70000}, 0, 70000)},
              {.axes = {0}});
}

TEST_F(CudaGather, ScalarsOfTheHostMeetTheDevice) {
  const std::vector<Tensor> operands{Tensor(assorted(DType::f32, {5, 3}).on(there)),
                                     Tensor(Array::of<int64_t>(-2))};
  const Array row =
      apply_all(gather_primitive(), operands, ir::Attributes::of(GatherAttributes{.axes = {0}}))[0]
          .array();
  EXPECT_EQ(row.device(), there);
  EXPECT_EQ(row.sizes(), (Sizes{3}));
}

TEST_F(CudaGather, BadIndicesAreErrorsAtTheNextWait) {
  const Array x = assorted(DType::f32, {4, 3});
  const Array bad = Array::of<int64_t>(std::vector<int64_t>{0, 3, 4, -9}, {4});
  const Array good = gathered(x, Array::of<int64_t>(std::vector<int64_t>{1, 2}, {2}));
  (void)gathered(x, bad);
  (void)gathered(x, Array::of<int64_t>(std::vector<int64_t>{-5}, {1}), {.axes = {1}});
  const std::string what = what_of<IndexError>([&] { (void)good.on_host(); });
  expect_contains(what, {"gather: index 4 is out of range for axis 0 of f32[4, 3], whose size is 4",
                         "cuda_gather_test.cpp:"});
  EXPECT_EQ(text_of(good.on_host()), text_of(good.on_host()));  // the device works on
  EXPECT_EQ(findings(), "");
}

TEST_F(CudaGather, ManyBadIndicesNameTheFirst) {
  for (const int order : {0, 1, 5}) {
    set_order(order);
    const Array x = assorted(DType::f16, {4});
    const Array bad = indices_between(DType::u64, {1000}, 5, 90);
    const auto first = bad.elements<uint64_t>()[0];
    (void)gathered(x, bad);
    expect_contains(message_of<IndexError>([&] { device_memory(there).synchronize(); }),
                    {fmt::format("index {} is", first)});
    device_memory(there).synchronize();
  }
}

TEST_F(CudaGather, IndicesOfEmptyRowsAreChecked) {
  (void)gathered(Array::empty(DType::f32, {3, 0}),
                 Array::of<int64_t>(std::vector<int64_t>{3}, {1}));
  EXPECT_THROW(device_memory(there).synchronize(), IndexError);
  (void)gathered(Array::empty(DType::f32, {0}), Array::of<int64_t>(std::vector<int64_t>{0}, {1}));
  EXPECT_THROW(device_memory(there).synchronize(), IndexError);
}

TEST_F(CudaGather, ErrorsBelongToTheirDevice) {
  const Device other = cuda_test::kOtherDevice;
  if (other == there) GTEST_SKIP() << "there is one device";
  const std::vector<Tensor> operands{Tensor(assorted(DType::f32, {5}).on(other)),
                                     Tensor(Array::of<int64_t>(5))};
  (void)apply_all(gather_primitive(), operands, ir::Attributes::of(GatherAttributes{.axes = {0}}));
  device_memory(there).synchronize();
  EXPECT_THROW(device_memory(other).synchronize(), IndexError);
}

}  // namespace
}  // namespace plait::cuda_gather_test
