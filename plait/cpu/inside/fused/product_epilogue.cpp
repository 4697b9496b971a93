#include "plait/cpu/inside/fused/product_epilogue.h"

#include "plait/cpu/inside/fused/run_nest.h"
#include "plait/cpu/inside/products/row_product.h"

namespace plait::cpu {
namespace {

using Product = compile::PlannedKernel::Product;

// A product by rows, as an operand of the nest.
struct ProductRows {
  const RowProduct& rows;
  int64_t columns, row_bytes;
  uint32_t parameter;
  std::byte* result;  // null unless the whole product is a result
};

// Blocks within a single row of the nest must end at multiples of kColumnStep.
bool can_run_blocks(const NestCall& call, const ProductRows& product) {
  if (!call.sizes.outer.empty()) return true;
  for (int64_t i = 0; i < product.rows.blocks(); ++i) {
    if (product.rows.rows(i).first * product.columns % kColumnStep != 0) return false;
  }
  return true;
}

// Computes blocks of the product, one after the other, and the nest on each while it is in the
// cache.
class BlockRun {
 public:
  BlockRun(const NestCall& call, const NestRunner& runner, const ProductRows& product)
      : call_(call), runner_(runner), product_(product), operands_(call.operands) {}

  void run(int64_t number) {
    const auto [first, end] = product_.rows.rows(number);
    std::byte* const block = place(first, end);
    product_.rows.compute(number, block);
    // The nest counts rows from the first row of all.
    operands_[product_.parameter] = reinterpret_cast<const void*>(
        reinterpret_cast<uintptr_t>(block) - static_cast<uintptr_t>(first * product_.row_bytes));
    const int64_t columns = product_.columns;
    const NestRange range = call_.sizes.outer.empty()
                                ? NestRange{0, 1, first * columns, end * columns}
                                : NestRange{first, end, 0, call_.columns()};
    runner_.run(operands_, call_.results, range);
  }

 private:
  std::byte* place(int64_t first, int64_t end) {
    if (product_.result != nullptr) return product_.result + first * product_.row_bytes;
    const int64_t bytes = (end - first) * product_.row_bytes;
    if (bytes > block_bytes_) {
      block_bytes_ = bytes;
      block_ = Buffer::allocate_work(bytes);
    }
    return block_.data();
  }

  const NestCall& call_;
  const NestRunner& runner_;
  const ProductRows& product_;
  std::vector<const void*> operands_;
  Buffer block_;
  int64_t block_bytes_ = 0;
};

void run_blocks(const NestCall& call, const ProductRows& product) {
  const NestRunner runner(call);
  parallel_for(product.rows.blocks(), 1, [&](int64_t begin, int64_t end) {
    BlockRun blocks(call, runner, product);
    for (int64_t i = begin; i < end; ++i) blocks.run(i);
  });
}

}  // namespace

void run_with_product(NestCall& call, const Product& product, std::span<const Array> operands) {
  const Array &a = operands[product.a], &b = operands[product.b];
  if (const auto rows = row_product(a, b)) {
    const int64_t columns = b.sizes()[b.rank() - 1];
    void* const result = product.is_result ? call.results.back() : nullptr;
    const ProductRows along{*rows, columns, columns * size_of(product.dtype), product.parameter,
                            static_cast<std::byte*>(result)};
    if (can_run_blocks(call, along)) return run_blocks(call, along);
  }
  const Array whole = whole_product(a, b, product.is_result ? call.arrays.back() : Array());
  call.operands[product.parameter] = whole.data();
  run_nest(call);
}

}  // namespace plait::cpu
