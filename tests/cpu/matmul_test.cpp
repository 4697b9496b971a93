#include "plait/cpu/inside/products/matmul.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/core/settings.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/bf16_product.h"
#include "plait/cpu/inside/products/blocked_product.h"
#include "plait/cpu/inside/products/product_grid.h"
#include "plait/cpu/inside/products/row_product.h"

#include "tests/cpu/product_reference.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

// Compares only some elements of large products.
void expect_product(const Array& a, const Array& b, const Array& out) {
  const Sizes batch(std::span(out.sizes().data(), out.rank() - 2));
  Sizes a_sizes = batch, b_sizes = batch;
  for (size_t i = 2; i-- > 0;) a_sizes.push_back(a.sizes()[a.rank() - 1 - i]);
  for (size_t i = 2; i-- > 0;) b_sizes.push_back(b.sizes()[b.rank() - 1 - i]);
  const Array wide_a = a.view(a.layout().broadcast_to(a_sizes));
  const Array wide_b = b.view(b.layout().broadcast_to(b_sizes));
  const int64_t steps = a.sizes().back(), count = out.element_count();
  const int64_t stride = std::max<int64_t>(count * steps / 200'000, 1);
  for (int64_t place = 0; place < count; place += stride) {
    Sizes index(out.rank());
    int64_t rest = place;
    for (size_t i = out.rank(); i-- > 0; rest /= out.sizes()[i]) index[i] = rest % out.sizes()[i];
    ReferenceSum sum{.dtype = out.dtype()};
    Sizes in_a = index, in_b = index;
    for (int64_t p = 0; p < steps; ++p) {
      in_a[out.rank() - 1] = in_b[out.rank() - 2] = p;
      sum.add_product(element_at(wide_a, in_a), element_at(wide_b, in_b));
    }
    const std::string where =
        fmt::format("{} {} · {} at {}", name_of(out.dtype()), text_of_sizes(a.sizes()),
                    text_of_sizes(b.sizes()), text_of_sizes(index));
    expect_sum(element_at(out, index), sum, where);
    if (testing::Test::HasFatalFailure()) return;
  }
}

Array product(const Array& a, const Array& b, const Sizes& sizes) {
  Array out = Array::empty(a.dtype(), sizes);
  matmul(a, b, out);
  return out;
}

struct Extents {
  int64_t rows, steps, columns;
};
constexpr Extents kSmall[] = {{1, 1, 1},  {1, 3, 1},   {2, 2, 2},    {3, 0, 2},    {0, 3, 2},
                              {3, 3, 0},  {5, 7, 3},   {8, 8, 8},    {13, 17, 33}, {31, 1, 65},
                              {1, 64, 1}, {40, 40, 1}, {1, 300, 70}, {16, 48, 64}, {63, 31, 20}};
constexpr Extents kLarge[] = {{70, 130, 95}, {197, 64, 197}, {300, 600, 40}, {400, 300, 520}};

TEST(Matmul, EveryDTypeAndSize) {
  for (const int threads : {1, 2}) {
    const Threads team(threads);
    for (const DType dtype : kProductDTypes) {
      for (const auto& list :
           {std::span<const Extents>(kSmall), std::span<const Extents>(kLarge)}) {
        for (const auto [rows, steps, columns] : list) {
          const Array a = random_array(dtype, {rows, steps}, 1);
          const Array b = random_array(dtype, {steps, columns}, 2);
          expect_product(a, b, product(a, b, {rows, columns}));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Matmul, EveryLayout) {
  const Threads team(2);
  for (const DType dtype : kProductDTypes) {
    for (const Extents extents : {Extents{5, 7, 3}, Extents{70, 40, 65}, Extents{1, 200, 190}}) {
      const Array a = random_array(dtype, {extents.rows, extents.steps}, 1);
      const Array b = random_array(dtype, {extents.steps, extents.columns}, 2);
      for (const Order a_order : kOrders) {
        for (const Order b_order : kOrders) {
          for (const Order out_order : kOrders) {
            Array out =
                reordered(random_array(dtype, {extents.rows, extents.columns}, 3), out_order);
            matmul(reordered(a, a_order), reordered(b, b_order), out);
            expect_product(a, b, out);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Rows times one column: short and long, many and few, at every level; the result must not depend
// on the number of threads.
TEST(Matmul, OfOneColumn) {
  for (const char* level : {"sse4", "avx2", "avx512"}) {
    set_setting("cpu", level);
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      for (const auto [rows, steps, columns] :
           {Extents{1, 5, 1}, Extents{1, 4099, 1}, Extents{1, 300'001, 1}, Extents{700, 130, 1},
            Extents{1, 150'000, 2}}) {
        const Array a = random_array(dtype, {rows, steps}, 1);
        const Array b = random_array(dtype, {columns, steps}, 2);
        const Array column = b.view(b.layout().permuted(std::vector<int64_t>{1, 0}));
        Array results[2];
        for (const int threads : {1, 2}) {
          const Threads team(threads);
          results[threads - 1] = product(a, column, {rows, columns});
          expect_product(a, column, results[threads - 1]);
          if (HasFatalFailure()) return reset_setting("cpu");
        }
        EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(),
                              static_cast<size_t>(rows * columns * size_of(dtype))),
                  0);
      }
    }
  }
  reset_setting("cpu");
}

TEST(Matmul, IsReproducibleForAnyNumberOfThreads) {
  set_setting("reproducible", "on");
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const auto [rows, steps, columns] :
         {Extents{9, 20, 4096}, Extents{1, 900, 700}, Extents{5, 70'000, 1}, Extents{70, 130, 95},
          Extents{300, 600, 40}, Extents{400, 300, 520}, Extents{1500, 200, 300}}) {
      const Array a = random_array(dtype, {rows, steps}, 1);
      const Array b = random_array(dtype, {steps, columns}, 2);
      std::vector<Array> results;
      for (const int threads : {1, 2, 3, 5}) {
        const Threads team(threads);
        results.push_back(product(a, b, {rows, columns}));
        EXPECT_EQ(std::memcmp(results[0].data(), results.back().data(),
                              static_cast<size_t>(rows * columns * size_of(dtype))),
                  0)
            << name_of(dtype) << " " << rows << " " << steps << " " << columns << ", " << threads;
      }
      expect_product(a, b, results[0]);
    }
  }
  reset_setting("reproducible");
}

// Calls the kernels directly, even where they do not pay: partial panels, and every layout.
TEST(Bf16Product, EverySizeAndLayout) {
  if (bf16_kernels() == nullptr) GTEST_SKIP() << "this processor has no kernels for bf16";
  for (const int threads : {1, 2}) {
    const Threads team(threads);
    for (const auto [rows, steps, columns] :
         {Extents{1, 1, 1}, Extents{33, 31, 17}, Extents{64, 64, 64}, Extents{7, 1100, 129},
          Extents{150, 33, 95}, Extents{31, 2, 200}, Extents{290, 1300, 70}}) {
      const Array a = random_array(DType::bf16, {rows, steps}, 1);
      const Array b = random_array(DType::bf16, {steps, columns}, 2);
      for (const Order a_order : kOrders) {
        for (const Order b_order : kOrders) {
          const Array x = reordered(a, a_order), y = reordered(b, b_order);
          const Matrix right{y.data(), steps, columns, y.layout().strides[0],
                             y.layout().strides[1]};
          for (int call = 0; call < 4; ++call) {  // the last ones find b packed
            Array out = Array::empty(DType::bf16, {rows, columns});
            bf16_product({x.data(), rows, steps, x.layout().strides[0], x.layout().strides[1]},
                         {right, DType::bf16, y.buffer()},
                         {out.writable_data(), rows, columns, columns, 1});
            expect_product(a, b, out);
            if (HasFatalFailure()) return;
            y.buffer().note_use();
          }
        }
      }
    }
  }
}

// Several blocks with smaller last ones, and single blocks: packed by the library, or for tile
// units.
class LargeProducts : public testing::TestWithParam<DType> {};

TEST_P(LargeProducts, EveryLayout) {
  for (const int threads : {1, 2, 5}) {
    const Threads team(threads);
    for (const auto [rows, steps, columns] :
         {Extents{300, 1500, 700}, Extents{513, 705, 1025}, Extents{256, 4100, 260},
          Extents{700, 600, 1300}, Extents{128, 33, 2300}, Extents{2000, 50, 65}}) {
      const Array a = random_array(GetParam(), {rows, steps}, 1);
      const Array b = random_array(GetParam(), {steps, columns}, 2);
      for (const Order order : kOrders) {
        Array out = reordered(random_array(GetParam(), {rows, columns}, 3), order);
        matmul(reordered(a, order), reordered(b, order), out);
        expect_product(a, b, out);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matmul, LargeProducts,
                         testing::Values(DType::f32, DType::bf16, DType::f64),
                         [](const auto& tried) { return std::string(name_of(tried.param)); });

// Products of some rows at a time (cpu/inside/products/row_product.h), which together are all
// rows.
TEST(RowProducts, MultipliesBatchedAndBroadcastOperands) {
  struct Case {
    Sizes a, b, out;
  };
  const Case cases[] = {{{1400, 150}, {150, 130}, {1400, 130}},
                        {{3, 150, 64}, {64, 200}, {3, 150, 200}},
                        {{2, 3, 150, 64}, {2, 3, 64, 70}, {2, 3, 150, 70}},
                        {{2, 1, 150, 64}, {3, 64, 70}, {2, 3, 150, 70}},
                        {{1, 2000, 31}, {1, 31, 33}, {1, 2000, 33}}};
  for (const int threads : {1, 2}) {
    const Threads team(threads);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      for (const Case& c : cases) {
        const Array a = random_array(dtype, c.a, 1), b = random_array(dtype, c.b, 2);
        for (const Order order : kOrders) {
          const auto made = row_product(reordered(a, order), reordered(b, order));
          ASSERT_NE(made, nullptr) << text_of_sizes(c.a);
          Array out = Array::empty(dtype, c.out);
          const int64_t row_bytes = c.out.back() * size_of(dtype);
          int64_t rows = 0;
          for (int64_t block = 0; block < made->blocks(); ++block) {
            const auto [first, end] = made->rows(block);
            made->compute(block, out.writable_data() + first * row_bytes);
            rows += end - first;
          }
          EXPECT_EQ(rows * c.out.back(), out.element_count());
          expect_product(a, b, out);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(RowProducts, OfNoMatrices) {
  for (const Sizes& sizes :
       {Sizes{0, 1, 64}, Sizes{0, 150, 64}, Sizes{3, 0, 1, 64}, Sizes{0, 64}}) {
    const Array a = random_array(DType::f32, sizes, 1), b = random_array(DType::f32, {64, 70}, 2);
    EXPECT_EQ(row_product(a, b), nullptr) << text_of_sizes(sizes);
  }
}

// f32 on the right is rounded when packed, to the same bits as by a conversion.
TEST(RowProducts, RoundTheRightHandSide) {
  for (const auto [rows, steps, columns] :
       {Extents{400, 129, 1300}, Extents{130, 200, 65}, Extents{700, 300, 260}}) {
    const Array a = random_array(DType::bf16, {rows, steps}, 1);
    const Array b = random_array(DType::f32, {steps, columns}, 2);
    for (const Order order : kOrders) {
      const auto rounding = row_product(a, reordered(b, order));
      const auto rounded = row_product(a, reordered(b, order).converted(DType::bf16));
      ASSERT_EQ(rounding == nullptr, rounded == nullptr);
      if (rounding == nullptr) continue;
      Array results[2];
      for (const auto* each : {&rounding, &rounded}) {
        Array& out = results[each == &rounded ? 1 : 0];
        out = Array::empty(DType::bf16, {rows, columns});
        for (int64_t block = 0; block < (*each)->blocks(); ++block) {
          (*each)->compute(block, out.writable_data() + (*each)->rows(block).first * columns * 2);
        }
      }
      EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(),
                            static_cast<size_t>(rows * columns * 2)),
                0);
    }
  }
}

TEST(Matmul, BatchesBroadcast) {
  struct Case {
    Sizes a, b, out;
  };
  const Case cases[] = {
      {{3, 4, 5}, {3, 5, 6}, {3, 4, 6}},       {{3, 4, 5}, {5, 6}, {3, 4, 6}},
      {{4, 5}, {3, 5, 6}, {3, 4, 6}},          {{2, 1, 4, 5}, {1, 3, 5, 6}, {2, 3, 4, 6}},
      {{2, 3, 1, 5}, {5, 6}, {2, 3, 1, 6}},    {{0, 4, 5}, {5, 6}, {0, 4, 6}},
      {{1, 4, 5}, {0, 5, 6}, {0, 4, 6}},       {{2, 3, 50, 40}, {40, 64}, {2, 3, 50, 64}},
      {{7, 50, 40}, {7, 40, 64}, {7, 50, 64}}, {{2, 3, 0, 5}, {5, 6}, {2, 3, 0, 6}},
      {{3, 4, 0}, {3, 0, 6}, {3, 4, 6}}};
  for (const int threads : {1, 2}) {
    const Threads team(threads);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::c64}) {
      for (const Case& c : cases) {
        for (const Order order : kOrders) {
          const Array a = reordered(random_array(dtype, c.a, 1), order);
          const Array b = reordered(random_array(dtype, c.b, 2), order);
          expect_product(a, b, product(a, b, c.out));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Matmul, TakesOperandsThatRepeat) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Array row = random_array(dtype, {1, 60}, 1), column = random_array(dtype, {60, 1}, 2);
    const Array a = row.view(row.layout().broadcast_to(Sizes{3, 50, 60}));
    const Array b = column.view(column.layout().broadcast_to(Sizes{3, 60, 70}));
    expect_product(a, b, product(a, b, {3, 50, 70}));
  }
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const auto attempt = [](DType dtype, const Sizes& a, const Sizes& b, const Sizes& out) {
    Array result = Array::empty(dtype, out);
    matmul(random_array(DType::f32, a, 1), random_array(DType::f32, b, 2), result);
  };
  EXPECT_THROW(attempt(DType::f32, {2, 3}, {4, 5}, {2, 5}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {3}, {3, 5}, {5}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {2, 3}, {3}, {2}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {2, 3}, {3, 5}, {2, 4}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {2, 3}, {3, 5}, {1, 2, 5}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {2, 2, 3}, {3, 3, 5}, {2, 2, 5}), ShapeError);
  EXPECT_THROW(attempt(DType::f32, {1, 2, 3}, {1, 3, 5}, {4, 2, 5}), ShapeError);
  EXPECT_THROW(attempt(DType::f64, {2, 3}, {3, 5}, {2, 5}), TypeError);
  Array repeated = Array::empty(DType::f32, {1, 5});
  repeated = repeated.view(repeated.layout().broadcast_to(Sizes{2, 5}));
  EXPECT_THROW(
      matmul(random_array(DType::f32, {2, 3}, 1), random_array(DType::f32, {3, 5}, 2), repeated),
      ValueError);
  for (const DType dtype : {DType::f8e4m3, DType::f8e5m2, DType::key}) {
    Array small = Array::empty(dtype, {2, 2});
    EXPECT_THROW(matmul(small.copy(), small.copy(), small), TypeError);
  }
}

TEST(Matmul, CarriesInfinityAndNan) {
  for (const int64_t size : {4, 80}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      Array a = random_array(dtype, {size, size}, 1);
      const Array b = random_array(dtype, {size, size}, 2);
      store_element(dtype, Element::of(std::numeric_limits<double>::quiet_NaN()),
                    a.writable_data());
      store_element(dtype, Element::of(std::numeric_limits<double>::infinity()),
                    a.writable_data() + size * a.element_size());
      const Array out = product(a, b, {size, size});
      for (int64_t j = 0; j < size; ++j) {
        EXPECT_TRUE(std::isnan(element_at(out, Sizes{0, j}).number.real()));
        EXPECT_TRUE(std::isinf(element_at(out, Sizes{1, j}).number.real()));
        EXPECT_TRUE(std::isfinite(element_at(out, Sizes{2, j}).number.real()));
      }
    }
  }
}

TEST(Matmul, IsTheSameOnEveryRun) {
  const Threads team(2);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Array a = random_array(dtype, {201, 333}, 1), b = random_array(dtype, {333, 177}, 2);
    const Array first = product(a, b, {201, 177});
    for (int i = 0; i < 5; ++i) {
      const Array again = product(a, b, {201, 177});
      ASSERT_EQ(std::memcmp(first.data(), again.data(),
                            static_cast<size_t>(first.element_count() * first.element_size())),
                0);
    }
  }
}

TEST(Matmul, RunsInManyHostThreads) {
  const Threads team(2);
  std::vector<std::thread> hosts;
  for (uint64_t host = 0; host < 8; ++host) {
    hosts.emplace_back([host] {
      for (int64_t i = 0; i < 12; ++i) {
        const DType dtype = kProductDTypes[(host + static_cast<uint64_t>(i)) % 4];
        const int64_t rows = 30 + 17 * (i % 5), columns = 45 + 20 * (i % 3);
        const Array a = random_array(dtype, {2, rows, 50}, host);
        const Array b = random_array(dtype, {2, 50, columns}, 2);
        expect_product(a, b, product(a, b, {2, rows, columns}));
      }
    });
  }
  for (std::thread& host : hosts) host.join();
}

// Plait's own loops at every level, without the library.
TEST(BlockedProduct, EveryLevelAndDType) {
  for (const char* level : {"best", "sse4", "avx2", "avx512"}) {
    set_setting("cpu", level);
    for (const DType dtype : kProductDTypes) {
      for (const Extents e : {Extents{5, 7, 3}, Extents{14, 33, 70}, Extents{400, 300, 530}}) {
        const Array a = random_array(dtype, {e.rows, e.steps}, 1);
        const Array b = random_array(dtype, {e.steps, e.columns}, 2);
        Array out = Array::empty(dtype, {e.rows, e.columns});
        blocked_product(dtype, {a.data(), e.rows, e.steps, e.steps, 1},
                        {b.data(), e.steps, e.columns, e.columns, 1},
                        {out.writable_data(), e.rows, e.columns, e.columns, 1});
        expect_product(a, b, out);
        if (HasFatalFailure()) return reset_setting("cpu");
      }
    }
  }
  reset_setting("cpu");
}

TEST(BlockedProduct, Accumulates) {
  for (const DType dtype : kProductDTypes) {
    for (const int64_t rows : {3, 40}) {
      const int64_t columns = 37, steps = 300;
      const Array a = random_array(dtype, {rows, 2 * steps}, 1);
      const Array b = random_array(dtype, {2 * steps, columns}, 2);
      Array out = Array::empty(dtype, {rows, columns});
      const Matrix left{a.data(), rows, steps, 2 * steps, 1};
      const Matrix right{b.data(), steps, columns, columns, 1};
      const TargetMatrix target{out.writable_data(), rows, columns, columns, 1};
      const int64_t size = a.element_size();
      blocked_product(dtype, left, right, target);
      blocked_product(dtype, left.block(0, steps, rows, steps, size),
                      right.block(steps, 0, steps, columns, size), target, true);
      if (size_of(dtype) == 2 && is_floating(dtype)) continue;  // rounded in between
      expect_product(a, b, out);
    }
  }
}

TEST(HalfPrecision, ConvertsAsPackedFloatsDo) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = Float16::from_bits(static_cast<uint16_t>(bits));
    const auto brain = BFloat16::from_bits(static_cast<uint16_t>(bits));
    for (const auto& [widened_value, value] :
         {std::pair(widened(half), static_cast<float>(half)),
          std::pair(widened(brain), static_cast<float>(brain))}) {
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(widened_value)) << bits;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(widened_value), std::bit_cast<uint32_t>(value)) << bits;
      }
    }
  }
  for (uint64_t bits = 0; bits < 0x100000000; bits += 997) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(double{narrowed_to_f16(value)}));
      ASSERT_TRUE(std::isnan(double{narrowed_to_bf16(value)}));
    } else {
      ASSERT_EQ(narrowed_to_f16(value).bits(), Float16(value).bits()) << value;
      ASSERT_EQ(narrowed_to_bf16(value).bits(), BFloat16(value).bits()) << value;
    }
  }
}

TEST(ProductGrid, CoversEverythingOnce) {
  for (const int64_t rows : {1, 15, 16, 197, 1576}) {
    for (const int64_t columns : {1, 63, 64, 768, 3072}) {
      for (const int64_t wanted : {1, 2, 3, 8, 64}) {
        const ProductGrid grid = product_grid(rows, columns, 768, 4, wanted);
        EXPECT_LE(grid.blocks(), wanted);
        EXPECT_LT((grid.row_blocks - 1) * grid.rows, rows);
        EXPECT_GE(grid.row_blocks * grid.rows, rows);
        EXPECT_LT((grid.column_blocks - 1) * grid.columns, columns);
        EXPECT_GE(grid.column_blocks * grid.columns, columns);
      }
    }
  }
  EXPECT_EQ(product_grid(1576, 2304, 768, 4, 2).blocks(), 2);
  EXPECT_EQ(product_grid(16, 2304, 768, 4, 2).column_blocks, 2);
}

TEST(RecentCache, KeepsWhatWasAskedForLast) {
  RecentCache<int, int, std::hash<int>> cache(2);
  int made = 0;
  const auto ask = [&](int key) {
    return *cache.find_or_make(key, [&](int wanted) {
      ++made;
      return std::make_shared<int>(10 * wanted);
    });
  };
  EXPECT_EQ(ask(1), 10);
  EXPECT_EQ(ask(2), 20);
  EXPECT_EQ(ask(1), 10);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(ask(3), 30);  // evicts 2
  EXPECT_EQ(ask(1), 10);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(ask(2), 20);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(cache.size(), 2U);
}

}  // namespace
}  // namespace plait
