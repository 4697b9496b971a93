// Products of many matrices with parts of one matrix b.
#include "plait/cpu/inside/repeated_products/repeated_product.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/settings.h"
#include "plait/cpu/cpu_level.h"

#include "tests/cpu/product_reference.h"

namespace plait {
namespace {

Matrix matrix_of(const Array& array) {
  const Layout& layout = array.layout();
  return {array.data(), layout.sizes[0], layout.sizes[1], layout.strides[0], layout.strides[1]};
}

struct Part {
  int64_t first_row, rows, first_column, columns;
};

// Compares the product of a with a part of b; `before` is what the result holds, and keeps if
// nothing is accumulated.
void expect_part(RepeatedProduct& product, const Array& a, const Array& b, const Part& part,
                 bool accumulates) {
  const DType dtype = accumulates ? sum_dtype(a.dtype()) : a.dtype();
  const Array before = random_array(dtype, {a.sizes()[0], part.columns + 3}, 7);
  Array out = before.copy();
  TargetMatrix target{out.writable_data(), a.sizes()[0], part.columns, part.columns + 3, 1};
  product.multiply(matrix_of(a), part.first_row, part.first_column, target, accumulates);
  for (int64_t i = 0; i < out.sizes()[0]; ++i) {
    for (int64_t k = 0; k < out.sizes()[1]; ++k) {
      const int64_t at[] = {i, k};
      ReferenceSum sum{.dtype = a.dtype()};
      const Element held = element_at(before, at);
      if (accumulates || k >= part.columns) sum.add_product(held, Element::of(1.0));
      for (int64_t p = 0; k < part.columns && p < part.rows; ++p) {
        const int64_t in_a[] = {i, p}, in_b[] = {part.first_row + p, part.first_column + k};
        sum.add_product(element_at(a, in_a), element_at(b, in_b));
      }
      expect_sum(element_at(out, at), sum,
                 fmt::format("{} {} · {} from {}, {} at {}, {}", name_of(a.dtype()),
                             text_of_sizes(a.sizes()), text_of_sizes(b.sizes()), part.first_row,
                             part.first_column, i, k));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void expect_parts(DType dtype, int64_t rows, int64_t columns) {
  const auto product = repeated_product(dtype);
  ASSERT_NE(product, nullptr);
  for (const Order order : {Order::rows, Order::columns}) {
    const Array b = reordered(random_array(dtype, {rows, columns}, 1), order);
    product->set_b(matrix_of(b));
    for (const int64_t first_row : {int64_t{0}, rows / 2 / kProductUnit * kProductUnit}) {
      for (const int64_t first : {int64_t{0}, columns / 2 / kProductUnit * kProductUnit}) {
        for (const int64_t height : {1, 3, 11, 12, 29}) {
          for (const Order a_order : {Order::rows, Order::columns}) {
            const Part part{first_row, rows - first_row, first, columns - first};
            const Array a = reordered(random_array(dtype, {height, part.rows}, 2), a_order);
            expect_part(*product, a, b, part, false);
            expect_part(*product, a, b, part, true);
          }
        }
      }
    }
  }
}

// With each set of kernels that this processor has.
TEST(RepeatedProduct, OfPartsInAnyOrder) {
  for (const CpuLevel level : {CpuLevel::sse4, CpuLevel::avx2, CpuLevel::best}) {
    setting::kCpu.set(level);
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      for (const int64_t rows : {1, 33, 64, 131}) {
        for (const int64_t columns : {1, 16, 64, 97}) expect_parts(dtype, rows, columns);
      }
    }
  }
}

TEST(RepeatedProduct, NoIntegers) {
  EXPECT_EQ(repeated_product(DType::i32), nullptr);
  EXPECT_EQ(repeated_product(DType::c64), nullptr);
}

}  // namespace
}  // namespace plait
