// Reductions and operations on rows on the emulated device, in every schedule.
#include <fmt/format.h>

#include "plait/cuda/inside/nests/nest_kernel.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/device_calls.h"

#include "tests/cuda/cuda_support.h"

namespace plait::cuda_test::reductions {
namespace {

class CudaReductions : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    register_all();
  }
};

Array reduced(const ir::Primitive& primitive, const Array& x, std::vector<int64_t> axes) {
  return plait::apply(primitive, {Tensor(x)}, ir::Attributes::of(ReduceAttributes{std::move(axes)}))
      .array();
}

// Floats are accumulated in another order; the sum of magnitudes bounds the difference.
void try_reduction(const ir::Primitive& primitive, const Array& x, const std::vector<int64_t>& axes,
                   const std::string& what) {
  const Array expected = reduced(primitive, x, axes);
  const Array actual = reduced(primitive, x.on(kDevice), axes);
  EXPECT_EQ(actual.device(), kDevice) << what;
  const bool is_exact =
      &primitive == &reduce_maximum_primitive() || &primitive == &reduce_minimum_primitive();
  // The parts of a product of complex numbers may cancel.
  const bool may_cancel = is_complex(x.dtype()) && &primitive == &reduce_product_primitive();
  const double count = static_cast<double>(x.element_count() + 1) * (may_cancel ? 1e4 : 4);
  expect_close(actual, expected, is_exact ? 0 : 16, what, is_exact ? 0 : count);
}

void try_sums(const Sizes& sizes, DType dtype = DType::f32) {
  const Array x = numbers(dtype, sizes);
  const std::vector<std::vector<int64_t>> all_axes =
      sizes.size() == 1 ? std::vector<std::vector<int64_t>>{{0}}
      : sizes.size() == 2
          ? std::vector<std::vector<int64_t>>{{0}, {1}, {0, 1}}
          : std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1}, {0, 1, 2}};
  for (const auto& axes : all_axes) {
    const std::string what = fmt::format("{} along {}", text_of_sizes(sizes), text_of_sizes(axes));
    try_reduction(reduce_sum_primitive(), x, axes, what);
  }
}

TEST_F(CudaReductions, SizesAtTheEdgesOfSchedules) {
  for (const int64_t size : {0, 1, 31, 32, 33, 512, 513, 8192, 20001}) try_sums({size});
  for (const int64_t size : {0, 1, 31, 33, 512, 513, 1030}) {
    try_sums({5, size});
    try_sums({size, 5});
  }
  try_sums({600, 3}, DType::i32);
  try_sums({3, 17000});
  try_sums({7, 6, 5});
  try_sums({70, 3, 40}, DType::i32);
  try_sums({0, 3, 4});
}

TEST_F(CudaReductions, EachReductionAndDType) {
  for (const auto& primitive :
       {reduce_sum_primitive, reduce_squares_primitive, reduce_product_primitive,
        reduce_maximum_primitive, reduce_minimum_primitive, reduce_all_primitive,
        reduce_any_primitive}) {
    for (const DTypeInfo& info : kDTypes) {
      if (info.kind == DTypeKind::key || !primitive().takes.contains(info.dtype)) continue;
      const bool tries_all = std::getenv("PLAIT_TEST_ALL") != nullptr;
      if (!tries_all && (primitive().number + static_cast<uint32_t>(info.dtype)) % 5 != 0) continue;
      const Array x = numbers(info.dtype, {6, 9});
      for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {0}}) {
        try_reduction(primitive(), x, axes,
                      fmt::format("{} of {} along {}", primitive().name, info.name, axes[0]));
      }
    }
  }
}

TEST_F(CudaReductions, Layouts) {
  const Array x = numbers(DType::i64, {9, 10, 11});
  const auto mixed = [](const Array& a) {
    return a.view(a.layout().permuted(std::vector<int64_t>{2, 0, 1}).reversed(1));
  };
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {1, 2}}) {
    expect_same(reduced(reduce_sum_primitive(), mixed(x.on(kDevice)), axes),
                reduced(reduce_sum_primitive(), mixed(x), axes), "permuted");
  }
  const Array row = numbers(DType::i64, {1, 20});
  const auto repeated = [](const Array& a) {
    return a.view(a.layout().broadcast_to(std::vector<int64_t>{30, 20}));
  };
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
    expect_same(reduced(reduce_sum_primitive(), repeated(row.on(kDevice)), axes),
                reduced(reduce_sum_primitive(), repeated(row), axes), "broadcast");
  }
}

TEST_F(CudaReductions, NanAndNothing) {
  Array x = numbers(DType::f32, {4, 40});
  x.writable_elements<float>()[45] = std::nanf("");
  try_reduction(reduce_maximum_primitive(), x, {1}, "NaN");
  try_reduction(reduce_minimum_primitive(), x, {0}, "NaN");
  const Array none = Array::empty(DType::f32, {0, 3});
  try_reduction(reduce_sum_primitive(), none, {0}, "no rows");
  try_reduction(reduce_product_primitive(), none, {0}, "no rows");
  try_reduction(reduce_maximum_primitive(), none, {0}, "no rows");
}

// Neither the order of threads nor the alignment of the operand changes the bits of sums.
TEST_F(CudaReductions, OrdersAndAddressesGiveTheSameBits) {
  for (const Sizes& sizes : {Sizes{9000}, Sizes{40, 700}, Sizes{700, 40}, Sizes{9, 8, 33}}) {
    const Array x = numbers(DType::f32, sizes);
    const Array there = x.on(kDevice);
    Array longer = Array::empty_on(kDevice, DType::f32, {x.element_count() + 1});
    Layout layout = Layout::contiguous(sizes);
    layout.offset = 1;
    Array moved = longer.view(layout);
    copy_elements(there, moved);
    for (int64_t axis = 0; axis < static_cast<int64_t>(sizes.size()); ++axis) {
      const Array first = reduced(reduce_sum_primitive(), there, {axis}).on_host();
      expect_same(reduced(reduce_sum_primitive(), moved, {axis}), first, "unaligned");
      for (const int order : {1, 7}) {
        set_order(order);
        expect_same(reduced(reduce_sum_primitive(), there, {axis}), first, "another order");
      }
      set_order(0);
    }
  }
}

TEST_F(CudaReductions, Rows) {
  for (const Sizes& sizes :
       {Sizes{3, 5}, Sizes{5, 512}, Sizes{2, 3, 700}, Sizes{0, 4}, Sizes{4, 1}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Array x = numbers(dtype, sizes);
      const auto last = static_cast<int64_t>(sizes.size()) - 1;
      for (const int64_t axis : {int64_t{0}, last}) {
        if (sizes[static_cast<size_t>(axis)] == 0) continue;
        const auto attributes = ir::Attributes::of(SoftmaxAttributes{axis});
        for (const auto& primitive : {softmax_primitive, log_softmax_primitive}) {
          const Array expected = plait::apply(primitive(), {Tensor(x)}, attributes).array();
          expect_close(plait::apply(primitive(), {Tensor(x.on(kDevice))}, attributes).array(),
                       expected, 64, primitive().name, 64);
        }
      }
      const auto attributes = ir::Attributes::of(StandardizeAttributes{1e-5});
      const Tensor here[] = {Tensor(x)}, there[] = {Tensor(x.on(kDevice))};
      const auto expected = apply_all(standardize_primitive(), here, attributes);
      const auto actual = apply_all(standardize_primitive(), there, attributes);
      for (size_t i = 0; i < 2; ++i) {
        expect_close(actual[i].array(), expected[i].array(), 256, "standardize", 256);
      }
    }
  }
  for (const HostCalls& calls : host_calls()) {
    EXPECT_NE(calls.primitive, &softmax_primitive());
    EXPECT_NE(calls.primitive, &standardize_primitive());
  }
}

}  // namespace
}  // namespace plait::cuda_test::reductions
