#include "plait/cpu/inside/products/matmul.h"

#include <algorithm>
#include <array>
#include <memory>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/bf16_product.h"
#include "plait/cpu/inside/products/blocked_product.h"
#include "plait/cpu/inside/products/dot.h"
#include "plait/cpu/inside/products/packed_products.h"
#include "plait/cpu/inside/products/product_grid.h"
#include "plait/ops/inside/products/batched_products.h"

namespace plait {
namespace {

// Multiplications that are worth a thread.
constexpr int64_t kThreadWork = 64 * 64 * 64;
constexpr int64_t kDotWork = 1 << 15;  // for rows times one column, which are read once
// From this work on, the library is faster than Plait's own loops, which convert bf16 first.
constexpr int64_t kLibraryWork = 72 * 72 * 72, kLibraryWorkOfBf16 = 24 * 24 * 24;

// For a single row Plait's own loops do not use whole vectors.
constexpr int64_t kLibraryWorkOfRow = 1 << 14;

bool is_worth_library(DType dtype, int64_t work, bool is_row) {
  if (!library_has_product(dtype)) return false;
  if (dtype == DType::bf16) return work >= kLibraryWorkOfBf16;
  return work >= (is_row ? kLibraryWorkOfRow : kLibraryWork);
}

[[noreturn]] void throw_sizes(const Array& a, const Array& b, const Array& out) {
  throw ShapeError("matmul: the sizes do not match: {} · {} into {}", text_of_sizes(a.sizes()),
                   text_of_sizes(b.sizes()), text_of_sizes(out.sizes()));
}

void check(const Array& a, const Array& b, const Array& out) {
  if (a.dtype() != b.dtype() || a.dtype() != out.dtype()) {
    throw TypeError("matmul: dtypes differ: {} · {} into {}", name_of(a.dtype()),
                    name_of(b.dtype()), name_of(out.dtype()));
  }
  if (!has_product(a.dtype())) {
    throw TypeError("matmul: matrix products of {} are not supported", name_of(a.dtype()))
        .hint("convert to a wider dtype");
  }
  const size_t rank = out.rank();
  if (a.rank() < 2 || b.rank() < 2) {
    throw ShapeError("matmul: {} · {}: both need two dimensions", text_of_sizes(a.sizes()),
                     text_of_sizes(b.sizes()));
  }
  const int64_t steps = a.sizes()[a.rank() - 1], b_steps = b.sizes()[b.rank() - 2];
  if (steps != b_steps) {
    throw ShapeError("matmul: inner sizes differ: {} · {} ({} ≠ {})", text_of_sizes(a.sizes()),
                     text_of_sizes(b.sizes()), steps, b_steps);
  }
  if (rank != std::max(a.rank(), b.rank()) || out.sizes()[rank - 2] != a.sizes()[a.rank() - 2] ||
      out.sizes()[rank - 1] != b.sizes()[b.rank() - 1]) {
    throw_sizes(a, b, out);
  }
  for (size_t i = 0; i + 2 < rank; ++i) {  // from the last batch dimension
    const size_t from_end = i + 3;
    const auto size_in = [&](const Array& array) {
      return from_end <= array.rank() ? array.sizes()[array.rank() - from_end] : 1;
    };
    const int64_t size = size_in(out), in_a = size_in(a), in_b = size_in(b);
    const int64_t wanted = in_a == 1 ? in_b : in_a;
    if ((in_b != 1 && in_b != wanted) || size != wanted) throw_sizes(a, b, out);
  }
  if (out.layout().repeats()) {
    throw ValueError("matmul: elements of the result share memory (a stride of 0)");
  }
}

// The blocks of the product grid, distributed over the threads.
class Run {
 public:
  explicit Run(const Products& products) : products_(products) {
    const int64_t threads =
        std::min<int64_t>(planned_thread_count(), products.work() * products.count / kThreadWork);
    const int64_t blocks = (threads + products.count - 1) / products.count;
    grid_ = {1, 1, products.rows, products.columns};
    if (blocks > 1) {
      grid_ = product_grid(products.rows, products.columns, products.steps, products.element_size(),
                           blocks);
    }
    block_work_ = grid_.rows * grid_.columns * products.steps;
  }

  // Prepares the library's products for all kinds of blocks; false if one is not available.
  bool prepare_library() {
    const int64_t last_rows = products_.rows - (grid_.row_blocks - 1) * grid_.rows;
    const int64_t last_columns = products_.columns - (grid_.column_blocks - 1) * grid_.columns;
    for (const int at : {0, 1, 2, 3}) {
      prepared_[at] =
          prepared(at & 1 ? last_rows : grid_.rows, at & 2 ? last_columns : grid_.columns);
      if (!prepared_[at]) return false;
    }
    return true;
  }

  void run(bool by_library) const {
    const int64_t units = products_.count * grid_.blocks();
    const int64_t grain = std::max<int64_t>(kThreadWork / std::max<int64_t>(block_work_, 1), 1);
    parallel_for(units, grain, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) run_unit(unit, by_library);
    });
  }

 private:
  std::shared_ptr<LibraryProduct> prepared(int64_t rows, int64_t columns) const {
    const Matrix &a = products_.a, &b = products_.b;
    return library_product({products_.dtype, rows, columns, products_.steps, a.row_stride,
                            a.column_stride, b.row_stride, b.column_stride,
                            products_.out.row_stride});
  }

  void run_unit(int64_t unit, bool by_library) const {
    const Products::Single whole = products_.single(unit / grid_.blocks());
    const int64_t block = unit % grid_.blocks(), size = products_.element_size();
    const int64_t row_block = block / grid_.column_blocks,
                  column_block = block % grid_.column_blocks;
    const int64_t row = row_block * grid_.rows, column = column_block * grid_.columns;
    const int64_t rows = std::min(grid_.rows, products_.rows - row);
    const int64_t columns = std::min(grid_.columns, products_.columns - column);
    const Matrix a = whole.a.block(row, 0, rows, products_.steps, size);
    const Matrix b = whole.b.block(0, column, products_.steps, columns, size);
    const TargetMatrix out = whole.out.block(row, column, rows, columns, size);
    if (!by_library) return blocked_product(products_.dtype, a, b, out);
    const int kind = (row_block + 1 == grid_.row_blocks ? 1 : 0) +
                     (column_block + 1 == grid_.column_blocks ? 2 : 0);
    prepared_[kind]->run(a.data, b.data, out.data);
  }

  const Products& products_;
  ProductGrid grid_;
  int64_t block_work_;
  std::array<std::shared_ptr<LibraryProduct>, 4> prepared_;  // index: (last row) + 2 · (last
                                                             // column)
};

// Returns false if packing b, which is in `memory`, does not pay.
bool run_packed(const Products& products, const Buffer& memory) {
  if (products.count != 1 || products.out.row_stride != products.columns) return false;
  const auto packed =
      PackedProducts::of(products.dtype, products.a, {products.b, products.dtype, memory});
  if (packed == nullptr) return false;
  const int64_t row_bytes = products.columns * products.element_size();
  parallel_for(packed->row_blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      packed->run(block, products.out.data + packed->first_row(block) * row_bytes);
    }
  });
  return true;
}

// Products with one column, for contiguous rows and column; each element is read once. Returns
// false for other layouts.
bool run_dots(const Products& products) {
  const cpu::DotKernel kernel = cpu::find_dot(products.dtype);
  if (kernel.run == nullptr || products.columns != 1) return false;
  if (products.a.column_stride != 1 || products.b.row_stride != 1) return false;
  const int64_t size = products.element_size(), steps = products.steps, rows = products.rows;
  const int64_t count = products.count * rows;
  if (steps >= cpu::kLongDot && count < 2 * planned_thread_count()) {
    for (int64_t i = 0; i < count; ++i) {
      const Products::Single single = products.single(i / rows);
      cpu::write_long_dot(kernel, single.a.data + i % rows * single.a.row_stride * size,
                          single.b.data, steps,
                          single.out.data + i % rows * single.out.row_stride * size);
    }
    return true;
  }
  // The division into groups does not depend on the number of threads.
  const int64_t groups = (rows + cpu::kDotRows - 1) / cpu::kDotRows;
  const int64_t work = std::max<int64_t>(steps * std::min(rows, cpu::kDotRows), 1);
  parallel_for(products.count * groups, kDotWork / work + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const Products::Single single = products.single(begin / groups);
      const int64_t some = std::min(groups - begin % groups, end - begin);
      const int64_t row = begin % groups * cpu::kDotRows;
      cpu::write_dots(kernel, {.a = single.a.data + row * single.a.row_stride * size,
                               .a_stride = single.a.row_stride * size,
                               .rows = std::min(some * cpu::kDotRows, rows - row),
                               .b = single.b.data,
                               .count = steps,
                               .out = single.out.data + row * single.out.row_stride * size,
                               .out_stride = single.out.row_stride * size});
      begin += some;
    }
  });
  return true;
}

}  // namespace

void matmul(const Array& a, const Array& b, Array& out) {
  check(a, b, out);
  if (out.element_count() == 0) return;
  Products products = products_of(a, b, out.layout(), out.writable_data());
  if (run_dots(products.rows == 1 ? products.transposed() : products)) return;
  const bool is_row = products.rows == 1 || products.columns == 1;
  if (!is_worth_library(products.dtype, products.work(), is_row)) {
    return Run(products).run(false);
  }
  // Operands whose layout the library does not support are copied.
  if (!fits_library(products.a)) return matmul(a.copy(), b, out);
  if (!fits_library(products.b)) return matmul(a, b.copy(), out);
  if (!fits_library(products.out)) {
    Array dense = Array::empty(out.dtype(), out.sizes());
    matmul(a, b, dense);
    return copy_elements(dense, out);
  }
  const bool is_transposed = products.out.column_stride != 1;
  if (is_transposed) products = products.transposed();
  const Array& right = is_transposed ? a : b;
  if (products.dtype == DType::bf16 &&
      is_worth_bf16_kernels(products.rows, products.columns, products.steps)) {
    for (int64_t i = 0; i < products.count; ++i) {
      const Products::Single single = products.single(i);
      bf16_product(single.a, {single.b, products.dtype, right.buffer()}, single.out);
    }
    return;
  }
  if (run_packed(products, right.buffer())) return;
  Run run(products);
  run.run(run.prepare_library());
}

}  // namespace plait
