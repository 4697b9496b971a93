#include "plait/cpu/inside/products/packed_products.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr int64_t kLeastRows = 128, kLeastWork = int64_t{1} << 22;
// Size of the rows of a that stay in the second-level cache while b passes through.
constexpr int64_t kBlockBytes = 1 << 19;
constexpr int64_t kLeastBlock = 64, kMostBlock = 256, kRowUnit = 8;

// Blocks that fit in the cache, if the thread with most rows does not get more of them than with
// larger blocks.
int64_t rows_of_block(int64_t rows, int64_t row_bytes) {
  const int64_t threads = planned_thread_count();
  const int64_t most = std::clamp(kBlockBytes / row_bytes, kLeastBlock, kMostBlock);
  const auto divided = [&](int64_t blocks_of_thread) {
    const int64_t each = quotient_up(rows, blocks_of_thread * threads);
    return std::max(quotient_up(each, kRowUnit) * kRowUnit, kLeastBlock);
  };
  const auto most_of_thread = [&](int64_t block) {
    return quotient_up(quotient_up(rows, block), threads) * block;
  };
  const int64_t count = quotient_up(quotient_up(rows, most), threads);
  const int64_t fitting = divided(count), larger = divided(std::max(count - 1, int64_t{1}));
  const bool is_better = larger <= kMostBlock && most_of_thread(larger) < most_of_thread(fitting);
  return is_better ? larger : fitting;
}

// A contiguous, row-major copy.
Buffer dense_copy(DType dtype, const Matrix& m) {
  const Layout layout{Sizes{m.rows, m.columns}, Sizes{m.row_stride, m.column_stride}};
  Buffer memory = Buffer::allocate_work(m.rows * m.columns * size_of(dtype));
  Array copy(dtype, Layout::contiguous(layout.sizes), memory);
  copy_elements(Array(dtype, layout, Buffer::borrow(m.data, [] {})), copy);
  return memory;
}

}  // namespace

std::unique_ptr<PackedProducts> PackedProducts::of(DType dtype, const Matrix& a,
                                                   const RightMatrix& b) {
  if (!library_has_product(dtype) ||
      a.rows < std::max(kLeastRows, kLeastBlock * planned_thread_count())) {
    return nullptr;
  }
  if (a.rows * a.columns * b.matrix.columns < kLeastWork) return nullptr;
  std::unique_ptr<PackedProducts> products(new PackedProducts(dtype, a));
  if (!products->prepare(b)) return nullptr;
  products->pack(b);
  return products;
}

PackedProducts::PackedProducts(DType dtype, const Matrix& a)
    : dtype_(dtype), a_(a), rows_(rows_of_block(a.rows, a.columns * size_of(dtype))) {}

int64_t PackedProducts::row_blocks() const { return quotient_up(a_.rows, rows_); }

bool PackedProducts::prepare(const RightMatrix& b) {
  const int64_t a_row = a_.column_stride == 1 ? a_.row_stride : a_.columns;
  product_ = packed_library_product({dtype_, b.dtype, rows_, a_.rows - (row_blocks() - 1) * rows_,
                                     b.matrix.columns, a_.columns, a_row, b.matrix.row_stride,
                                     b.matrix.column_stride, planned_thread_count()});
  return product_ != nullptr;
}

void PackedProducts::pack(const RightMatrix& b) {
  packed_ =
      packed_matrix(b, product_->packed_layout(), product_->packed_bytes(), [&](std::byte* packed) {
        parallel_for(product_->parts(), 1, [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            product_->pack(part, b.matrix.data, packed);
          }
        });
      });
}

void PackedProducts::run(int64_t block, std::byte* out) const {
  const int64_t first = first_row(block), rows = first_row(block + 1) - first;
  const Matrix a = a_.block(first, 0, rows, a_.columns, size_of(dtype_));
  if (a.column_stride == 1) return product_->run(rows, a.data, packed_.data(), out);
  const ThreadLimit alone(1);
  const Buffer dense = dense_copy(dtype_, a);
  product_->run(rows, dense.data(), packed_.data(), out);
}

}  // namespace plait
