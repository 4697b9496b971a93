#include "plait/cpu/packed_products.h"

#include <algorithm>

#include "plait/core/thread_team.h"
#include "plait/core/whole_numbers.h"

namespace plait {
namespace {

constexpr int64_t kLeastRows = 128, kLeastWork = int64_t{1} << 22;
// Rows of a that stay in the second cache while the chunks of b pass through it.
constexpr int64_t kBlockBytes = 1 << 19;
constexpr int64_t kLeastBlock = 64, kMostBlock = 256, kRowUnit = 8;
constexpr int64_t kMostChunk = 1024, kColumnUnit = 64;
constexpr int64_t kAlign = 64;

}  // namespace

std::unique_ptr<PackedProducts> PackedProducts::of(DType dtype, const Matrix& a, const Matrix& b,
                                                   int64_t out_row) {
  if (!library_has_product(dtype) || a.rows < kLeastRows) return nullptr;
  if (a.rows * a.columns * b.columns < kLeastWork) return nullptr;
  std::unique_ptr<PackedProducts> products(new PackedProducts(dtype, a, b, out_row));
  if (!products->prepare()) return nullptr;
  products->pack();
  return products;
}

PackedProducts::PackedProducts(DType dtype, const Matrix& a, const Matrix& b, int64_t out_row)
    : dtype_(dtype), a_(a), b_(b), out_row_(out_row) {
  const int64_t threads = thread_count();
  const int64_t most =
      std::clamp(kBlockBytes / (a.columns * size_of(dtype)), kLeastBlock, kMostBlock);
  const int64_t blocks = quotient_up(quotient_up(a.rows, most), threads) * threads;
  rows_ = std::max(quotient_up(quotient_up(a.rows, blocks), kRowUnit) * kRowUnit, kLeastBlock);
  const int64_t chunks = quotient_up(b.columns, kMostChunk * threads) * threads;
  columns_ = quotient_up(quotient_up(b.columns, chunks), kColumnUnit) * kColumnUnit;
}

int64_t PackedProducts::row_blocks() const { return quotient_up(a_.rows, rows_); }
int64_t PackedProducts::column_chunks() const { return quotient_up(b_.columns, columns_); }
int64_t PackedProducts::columns_of(int64_t chunk) const {
  return std::min(columns_, b_.columns - chunk * columns_);
}

bool PackedProducts::prepare() {
  const int64_t last_rows = a_.rows - (row_blocks() - 1) * rows_;
  for (const int64_t chunk : {int64_t{0}, column_chunks() - 1}) {
    auto product = packed_library_product(
        {dtype_, dtype_, std::min(rows_, a_.rows), last_rows, columns_of(chunk), a_.columns,
         a_.row_stride, a_.column_stride, b_.row_stride, b_.column_stride, out_row_});
    if (!product) return false;
    packed_step_ = std::max(packed_step_, quotient_up(product->packed_bytes(), kAlign) * kAlign);
    products_[chunk == 0 ? 0 : 1] = std::move(product);
  }
  if (column_chunks() == 1) products_[1] = products_[0];
  return true;
}

void PackedProducts::pack() {
  packed_ = Buffer::allocate(column_chunks() * packed_step_);
  parallel_for(column_chunks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const bool is_last = chunk + 1 == column_chunks();
      products_[is_last ? 1 : 0]->pack(
          b_.data + chunk * columns_ * b_.column_stride * size_of(dtype_),
          packed_.data() + chunk * packed_step_);
    }
  });
}

void PackedProducts::run(int64_t block, int64_t chunk, std::byte* out) const {
  const int64_t size = size_of(dtype_);
  const int64_t rows = first_row(block + 1) - first_row(block);
  products_[chunk + 1 == column_chunks() ? 1 : 0]->run(
      rows, a_.data + first_row(block) * a_.row_stride * size,
      packed_.data() + chunk * packed_step_, out + chunk * columns_ * size);
}

}  // namespace plait
