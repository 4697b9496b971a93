// Arg-extremes, scans, sorts and searches: the device's results are the CPU's.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/cuda/both_devices.h"
#include "tests/support/errors.h"

namespace plait::cuda_arrange_test {
namespace {

class CudaArrange : public BothDevices {};

// Each kind of key, in each size.
constexpr DType kOrderedDTypes[] = {DType::boolean, DType::i8,  DType::f8e4m3, DType::f8e5m2,
                                    DType::u16,     DType::f16, DType::bf16,   DType::i32,
                                    DType::f32,     DType::u64, DType::i64,    DType::f64};
std::string text(DType dtype) { return std::string(name_of(dtype)); }

// ---- Arg-extremes

TEST_F(CudaArrange, ArgExtremesOfEveryDType) {
  const auto last = ir::Attributes::of(ArgExtremeAttributes{1});
  for (const DType dtype : kOrderedDTypes) {
    expect_same(argmax_primitive(), {assorted(dtype, {6, 40})}, last, text(dtype));
    if (size_of(dtype) > 2) continue;
    expect_same(argmin_primitive(), {assorted(dtype, {6, 40})}, last, text(dtype));
    expect_same(argmin_primitive(), {assorted(dtype, {6, 40}, 2, true)}, last, text(dtype));
  }
}

TEST_F(CudaArrange, ArgExtremesOfEveryShape) {
  const auto check = [&](const Array& x, int64_t axis) {
    expect_same(argmax_primitive(), {x}, ir::Attributes::of(ArgExtremeAttributes{axis}),
                text_of_sizes(x.sizes()));
  };
  for (const int64_t length : {1, 2, 5, 31, 33, 1023, 1025, 20001}) {
    check(assorted(DType::f32, {3, length}), 1);
    check(assorted(DType::f32, {length, 3}), 0);
  }
  check(assorted(DType::f32, {2, 4097, 33}), 1);
  check(assorted(DType::f32, {4, 5, 6}), 1);
  check(permuted(assorted(DType::f32, {4, 5, 6}), {2, 0, 1}), 1);
  check(stepped(assorted(DType::f32, {8, 10}), 1, 3), 1);
  check(assorted(DType::u8, {70000, 2}), 1);
  check(Array::empty(DType::f32, {0, 3}), 1);
}

TEST_F(CudaArrange, ArgExtremesOfNothingAreRefused) {
  const std::vector<Tensor> none{Tensor(Array::empty_on(there, DType::f32, {3, 0}))};
  expect_contains(message_of<ValueError>([&] {
                    (void)apply_all(argmin_primitive(), none,
                                    ir::Attributes::of(ArgExtremeAttributes{1}));
                  }),
                  {"argmin: f32[3, 0] is empty along axis 1"});
}

// ---- Scans

struct NamedScan {
  const ir::Primitive& primitive;
  bool is_exact;  // for floats too
};
std::vector<NamedScan> scans() {
  return {{cumulative_sum_primitive(), false},
          {cumulative_product_primitive(), false},
          {cumulative_maximum_primitive(), true},
          {cumulative_minimum_primitive(), true},
          {cumulative_logsumexp_primitive(), false}};
}

TEST_F(CudaArrange, ScansOfEveryDType) {
  for (const NamedScan& scan : scans()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f8e5m2, DType::i8,
                              DType::u32, DType::i64, DType::boolean, DType::c64, DType::c128}) {
      if (!scan.primitive.takes.contains(dtype)) continue;
      for (const bool reverse : {false, true}) {
        const auto attributes = ir::Attributes::of(ScanAttributes{1, reverse});
        const Array x = assorted(dtype, {3, 45}, 3, reverse);
        if (scan.is_exact || !is_inexact(dtype)) {
          expect_same(scan.primitive, {x}, attributes, text(dtype));
        } else {
          expect_near(scan.primitive, {x}, attributes, 4, text(dtype));
        }
      }
    }
  }
}

TEST_F(CudaArrange, ScansOfEveryShape) {
  const auto check = [&](const ir::Primitive& primitive, const Array& x, int64_t axis,
                         bool reverse) {
    expect_same(primitive, {x}, ir::Attributes::of(ScanAttributes{axis, reverse}),
                text_of_sizes(x.sizes()));
  };
  for (const int64_t length : {1, 3, 5, 255, 1023, 1025, 9001}) {
    check(cumulative_sum_primitive(), assorted(DType::i32, {3, length}), 1, false);
    check(cumulative_sum_primitive(), assorted(DType::i32, {length, 3}), 0, true);
    check(cumulative_product_primitive(), assorted(DType::f64, {3, length}, 1, true), 1, true);
    check(cumulative_product_primitive(), assorted(DType::f64, {length, 2}, 1, true), 0, false);
  }
  check(cumulative_maximum_primitive(), assorted(DType::f32, {2, 700, 40}), 1, true);
  check(cumulative_product_primitive(), assorted(DType::f32, {40, 9}, 1, true), 1, true);
  check(cumulative_minimum_primitive(), permuted(assorted(DType::f32, {4, 5, 6}), {2, 0, 1}), 1,
        true);
  check(cumulative_sum_primitive(), stepped(assorted(DType::i64, {8, 10}), 1, 3), 1, false);
  check(cumulative_sum_primitive(), Array::empty(DType::i64, {0, 10}), 1, false);
  check(cumulative_sum_primitive(), Array::empty(DType::i64, {10, 0}), 1, false);
  check(cumulative_sum_primitive(), assorted(DType::i8, {70000, 2}), 1, false);
}

TEST_F(CudaArrange, ProductsOverflowAsInSequence) {
  Array x = Array::filled(DType::f64, {5000}, Element::of(1.));
  x.writable_elements<double>()[1] = 0;
  for (size_t i = 4000; i < 4010; ++i) x.writable_elements<double>()[i] = 1e300;
  expect_same(cumulative_product_primitive(), {x}, ir::Attributes::of(ScanAttributes{0, false}));
}

TEST_F(CudaArrange, Recurrences) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::c64}) {
    for (const bool reverse : {false, true}) {
      const auto attributes = ir::Attributes::of(ScanAttributes{1, reverse});
      const Array a = assorted(dtype, {3, 50, 2}, 5, true),
                  b = assorted(dtype, {3, 50, 2}, 6, true);

      expect_near(linear_recurrence_primitive(), {a.view(a.layout()), b}, attributes, 8,
                  text(dtype));
      expect_near(linear_recurrence_primitive(),
                  {assorted(dtype, {2, 9, 33}, 7, true), assorted(dtype, {2, 9, 33}, 8, true)},
                  attributes, 8);
    }
  }
}

// ---- Sorts

TEST_F(CudaArrange, SortsOfEveryDType) {
  for (const DType dtype : kOrderedDTypes) {
    for (const bool descending : {false, true}) {
      const auto both = ir::Attributes::of(SortAttributes{1, descending, false});
      expect_same(sort_primitive(), {assorted(dtype, {3, 70})}, both, text(dtype));
      expect_same(sort_primitive(), {assorted(dtype, {1, 2100})}, both, text(dtype));
    }
  }
}

TEST_F(CudaArrange, SortsOfEveryShape) {
  const auto check = [&](const Array& x, int64_t axis, bool values_only) {
    expect_same(sort_primitive(), {x}, ir::Attributes::of(SortAttributes{axis, false, values_only}),
                text_of_sizes(x.sizes()));
  };
  for (const int64_t length : {1, 2, 3, 65, 2048, 2049, 8193}) {
    check(assorted(DType::f32, {2, length}), 1, false);
    if (length > 64) check(assorted(DType::i8, {length}), 0, true);
  }
  check(assorted(DType::f32, {300, 2, 3}), 0, false);
  check(permuted(assorted(DType::f32, {4, 5, 6}), {2, 0, 1}), 1, true);
  check(stepped(assorted(DType::f32, {8, 10}), 1, 3), 1, false);
  check(assorted(DType::u8, {66000, 2}), 1, false);
  check(Array::empty(DType::f32, {0, 3}), 1, false);
  check(Array::empty(DType::f32, {3, 0}), 1, false);
}

TEST_F(CudaArrange, TopOfRows) {
  for (const bool largest : {true, false}) {
    for (const int64_t count : {0, 1, 7, 60}) {
      const auto attributes = ir::Attributes::of(TopkAttributes{1, count, largest});
      expect_same(topk_primitive(), {assorted(DType::f32, {3, 60})}, attributes);
      expect_same(topk_primitive(), {assorted(DType::bf16, {2, 3000, 2})}, attributes);
    }
  }
  const std::vector<Tensor> x{Tensor(Array::empty_on(there, DType::f32, {3, 2}))};
  EXPECT_THROW((void)apply_all(topk_primitive(), x, ir::Attributes::of(TopkAttributes{1, 3, true})),
               ValueError);
}

TEST_F(CudaArrange, SearchesInSortedRows) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i64, DType::u8, DType::boolean}) {
    const auto ascending = ir::Attributes::of(SortAttributes{1, false, true});
    for (const int64_t length : {0, 1, 100}) {
      const Array sorted =
          apply_all(sort_primitive(), std::vector<Tensor>{Tensor(assorted(dtype, {3, length}))},
                    ascending)[0]
              .array();
      for (const SearchSide side : {SearchSide::left, SearchSide::right}) {
        expect_same(searchsorted_primitive(), {sorted, assorted(dtype, {3, 50}, 9)},
                    ir::Attributes::of(SearchAttributes{side}), text(dtype));
      }
    }
  }
}

// ---- Sizes that are read back

TEST_F(CudaArrange, PlacesOfNonzeroElements) {
  for (const DType dtype : {DType::boolean, DType::f8e4m3, DType::i16, DType::bf16, DType::f32,
                            DType::i64, DType::f64, DType::c64, DType::c128}) {
    expect_same(nonzero_primitive(), {assorted(dtype, {9, 11})}, {}, text(dtype));
  }
  expect_same(nonzero_primitive(), {assorted(DType::boolean, {3, 41, 101})}, {});
  expect_same(nonzero_primitive(), {permuted(assorted(DType::i16, {4, 5, 6}), {2, 0, 1})}, {});
  expect_same(nonzero_primitive(), {Array::empty(DType::i16, {4, 0})}, {});
  expect_same(nonzero_primitive(), {Array::filled(DType::i16, {4, 2}, Element::of_signed(0))}, {});
  expect_same(nonzero_primitive(), {Array::of(3.f)}, {});
}

TEST_F(CudaArrange, DistinctElements) {
  for (const DType dtype : {DType::boolean, DType::f8e4m3, DType::bf16, DType::f32, DType::i64}) {
    for (const int64_t count : {0, 1, 300}) {
      for (const bool equal_nan : {false, true}) {
        if (equal_nan && !is_floating(dtype)) continue;
        expect_same(unique_primitive(), {assorted(dtype, {count})},
                    ir::Attributes::of(UniqueAttributes{equal_nan}), text(dtype));
      }
    }
  }
  expect_same(unique_primitive(), {assorted(DType::f32, {9000})},
              ir::Attributes::of(UniqueAttributes{true}));
}

}  // namespace
}  // namespace plait::cuda_arrange_test
