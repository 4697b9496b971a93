#include "plait/cpu/inside/fused/row_chain.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "plait/cpu/inside/fused/nest_call.h"
#include "plait/cpu/inside/fused/row_blocks.h"
#include "plait/cpu/inside/fused/row_sums.h"
#include "plait/cpu/inside/fused/run_nest.h"
#include "plait/cpu/inside/products/matmul.h"
#include "plait/cpu/inside/products/row_product.h"
#include "plait/cpu/inside/random/cpu_random.h"
#include "plait/cpu/inside/repeated_products/repeated_product.h"

namespace plait::cpu {
namespace {

using compile::NeededColumns;
using compile::PlannedKernel;
using Kind = compile::TrailingProduct::Kind;

const void* moved(const void* address, int64_t bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) +
                                       static_cast<uintptr_t>(bytes));
}
void* moved(void* address, int64_t bytes) {
  return const_cast<void*>(moved(static_cast<const void*>(address), bytes));
}

// A product that the loops read.
struct Leading {
  Matrices a, b;
  uint32_t parameter;
  NeededColumns needed;

  DType dtype() const { return a.dtype(); }
};

struct Trailing {
  Kind kind;
  uint32_t rows;  // a result of the nest
  Matrices other;
  std::byte* result;

  DType dtype() const { return other.dtype(); }
  bool is_sum() const { return kind != Kind::rows; }
};

class ChainRun {
 public:
  ChainRun(const FusedNest& nest, const RowChain& chain, const compile::KernelSizes& sizes,
           std::span<const Array> operands, std::span<Array> results)
      : nest_(nest), chain_(chain), sizes_(sizes), operands_(operands), results_(results) {}

  // False if the products must be computed one after another.
  bool prepare();
  void run();
  void run_separately();

 private:
  friend class PartRun;

  // The number of results that are rows; there may be one more.
  uint32_t row_results() const {
    const auto count = static_cast<uint32_t>(nest_.results.size());
    return chain_.needs.maximum ? count - 1 : count;
  }
  DType dtype_of(uint32_t nest_result) const { return nest_.results[nest_result].dtype; }
  const KeyBits& key_of(const PlannedKernel::Draw& draw) const {
    return operands_[draw.key].elements<KeyBits>()[0];
  }
  RowNeeds needs() const;
  NestCall nest_call(std::span<Array> results) const;

  const FusedNest& nest_;
  const RowChain& chain_;
  const compile::KernelSizes& sizes_;
  const std::span<const Array> operands_;
  const std::span<Array> results_;
  RowBlocks blocks_;
  std::vector<Leading> leading_;
  std::vector<Trailing> trailing_;
  std::optional<MaskRows> mask_;
};

// The blocks of one part of a matrix, on one thread.
class PartRun {
 public:
  PartRun(const ChainRun& chain, const NestCall& call, const NestRunner& runner)
      : chain_(chain),
        blocks_(chain.blocks_),
        runner_(runner),
        read_(call.operands),
        written_(call.results) {
    for (const Leading& product : chain.leading_) {
      leading_.push_back(repeated_product(product.dtype()));
      leading_rows_.push_back(block_of(product.dtype()));
    }
    for (size_t i = 0; i < chain.chain_.draws.size(); ++i)
      drawn_rows_.push_back(block_of(DType::f32));
    for (const Trailing& product : chain.trailing_) {
      trailing_.push_back(repeated_product(product.dtype()));
    }
    for (uint32_t r = chain.chain_.result_count; r < chain.row_results(); ++r) {
      result_rows_.push_back(block_of(chain.dtype_of(r)));
    }
    if (chain.row_results() < written_.size()) {
      memory_.push_back(Buffer::allocate_work(blocks_.size * size_of(maximum_dtype())));
      maxima_ = memory_.back().data();
    }
  }

  // `sums` are those of the part, null for trailing products that are not sums.
  void run(int64_t matrix, int64_t part, std::vector<std::byte*> sums) {
    matrix_ = matrix;
    sums_ = std::move(sums);
    set_matrices();
    if (chain_.mask_) find_tame();
    const int64_t count = blocks_.of_matrix(), parts = blocks_.parts;
    for (int64_t block = count * part / parts; block < count * (part + 1) / parts; ++block) {
      place(block);
      const ColumnRange range = needed_columns();
      are_only_in_range_ = compute_range(range);
      if (!are_only_in_range_ && !compute_rows(range)) compute_rows(blocks_.all_columns());
      for (size_t i = 0; i < chain_.trailing_.size(); ++i) run_trailing(i, range);
    }
  }

 private:
  std::byte* block_of(DType dtype) {
    memory_.push_back(Buffer::allocate_work(blocks_.size * blocks_.columns * size_of(dtype)));
    return memory_.back().data();
  }

  // Those that are the same for all blocks. A sum of other · rows has other rows for each.
  void set_matrices() {
    for (size_t i = 0; i < leading_.size(); ++i) {
      leading_[i]->set_b(chain_.leading_[i].b.matrix(matrix_));
    }
    for (size_t i = 0; i < trailing_.size(); ++i) {
      const Trailing& product = chain_.trailing_[i];
      if (product.kind != Kind::sum_right) trailing_[i]->set_b(product.other.matrix(matrix_));
    }
  }

  // The nest counts rows from the first row of all.
  void place(int64_t block) {
    first_ = block * blocks_.size;
    rows_ = blocks_.rows_of(block);
    const int64_t before = -first_row() * blocks_.columns;
    for (size_t i = 0; i < leading_rows_.size(); ++i) {
      const Leading& product = chain_.leading_[i];
      read_[product.parameter] =
          moved(static_cast<const void*>(leading_rows_[i]), before * size_of(product.dtype()));
    }
    for (size_t i = 0; i < drawn_rows_.size(); ++i) {
      read_[chain_.chain_.draws[i].parameter] =
          moved(static_cast<const void*>(drawn_rows_[i]), before * int64_t{sizeof(float)});
    }
    for (size_t i = 0; i < result_rows_.size(); ++i) {
      const uint32_t r = chain_.chain_.result_count + static_cast<uint32_t>(i);
      written_[r] =
          moved(static_cast<void*>(result_rows_[i]), before * size_of(chain_.dtype_of(r)));
    }
    if (maxima_ != nullptr) {
      written_.back() = moved(static_cast<void*>(maxima_), -first_row() * size_of(maximum_dtype()));
    }
  }

  DType maximum_dtype() const { return chain_.dtype_of(chain_.row_results()); }

  int64_t first_row() const { return matrix_ * blocks_.rows + first_; }

  // The rows of this block that a result of the nest is.
  Matrix rows_of(uint32_t result) const {
    const int64_t before = first_row() * blocks_.columns * size_of(chain_.dtype_of(result));
    const void* const data = moved(static_cast<const void*>(written_[result]), before);
    return {static_cast<const std::byte*>(data), rows_, blocks_.columns, blocks_.columns, 1};
  }

  // ---- Columns.

  void find_tame() {
    is_tame_.clear();
    for (const Leading& product : chain_.leading_) {
      is_tame_.push_back(product.needed.by == NeededColumns::By::factor &&
                         product.a.are_tame(matrix_) && product.b.are_tame(matrix_));
    }
    for (const Trailing& product : chain_.trailing_) {
      is_tame_.push_back(product.other.are_tame(matrix_));
    }
  }

  ColumnRange needed_columns() const {
    if (!chain_.mask_) return blocks_.all_columns();
    return chain_.mask_->columns_of_block(first_row(), rows_);
  }

  bool are_zero_outside(const ColumnRange& range, uint32_t result) {
    auto& known = are_zero_[result];
    if (!known || known->first != range) {
      known = {range, cpu::are_zero_outside(range, chain_.dtype_of(result), rows_of(result))};
    }
    return known->second;
  }

  // ---- Products, and the nest.

  // Computes the range alone: other columns are 0, and add nothing. False if that is not so.
  bool compute_range(const ColumnRange& range) {
    const auto& maximum = chain_.chain_.needs.maximum;
    if (!maximum || range == blocks_.all_columns() || range.count() == 0) return false;
    for (size_t i = 0; i < leading_rows_.size(); ++i) {
      const auto by = chain_.leading_[i].needed.by;
      if (by == NeededColumns::By::none) return false;
      if (by == NeededColumns::By::factor && !is_tame_[i]) return false;
    }
    for (size_t i = leading_rows_.size(); i < is_tame_.size(); ++i) {
      if (!is_tame_[i]) return false;
    }
    for (size_t i = 0; i < leading_rows_.size(); ++i) run_leading(i, range);
    draw(range);
    runner_.run(read_, written_, {first_row(), first_row() + rows_, range.first, range.end});
    return are_above(maxima_, maximum_dtype(), rows_, maximum->masked + compile::kVanishing);
  }

  // Products are computed in the range only where the loops need no other columns. False if a
  // factor turns out not to be 0 there.
  bool compute_rows(const ColumnRange& range) {
    const bool is_partial = range != blocks_.all_columns();
    std::vector<uint32_t> factors;
    for (size_t i = 0; i < leading_rows_.size(); ++i) {
      const NeededColumns needed = chain_.leading_[i].needed;
      bool is_limited = is_partial && needed.by == NeededColumns::By::mask;
      if (is_partial && needed.by == NeededColumns::By::factor && is_tame_[i]) {
        is_limited = true;
        factors.push_back(needed.result);
        fill_with_zeros_outside(range, i);
      }
      run_leading(i, is_limited ? range : blocks_.all_columns());
    }
    draw(blocks_.all_columns());
    are_zero_.assign(written_.size(), std::nullopt);
    runner_.run(read_, written_, {first_row(), first_row() + rows_, 0, blocks_.columns});
    return std::ranges::all_of(factors,
                               [&](uint32_t each) { return are_zero_outside(range, each); });
  }

  void fill_with_zeros_outside(const ColumnRange& range, size_t i) const {
    const int64_t size = size_of(chain_.leading_[i].dtype()), columns = blocks_.columns;
    for (int64_t r = 0; r < rows_; ++r) {
      std::byte* const row = leading_rows_[i] + r * columns * size;
      std::memset(row, 0, static_cast<size_t>(range.first * size));
      std::memset(row + range.end * size, 0, static_cast<size_t>((columns - range.end) * size));
    }
  }

  void run_leading(size_t i, const ColumnRange& range) {
    if (range.count() == 0) return;
    const Leading& product = chain_.leading_[i];
    const int64_t size = size_of(product.dtype());
    const Matrix a = product.a.matrix(matrix_);
    const TargetMatrix out{leading_rows_[i] + range.first * size, rows_, range.count(),
                           blocks_.columns, 1};
    leading_[i]->multiply(a.block(first_, 0, rows_, a.columns, size), 0, range.first, out, false);
  }

  void draw(const ColumnRange& range) {
    const int64_t columns = blocks_.columns;
    const bool is_whole = range == blocks_.all_columns();
    for (size_t i = 0; i < drawn_rows_.size(); ++i) {
      const KeyBits& key = chain_.key_of(chain_.chain_.draws[i]);
      auto* const out = reinterpret_cast<float*>(drawn_rows_[i]);
      if (is_whole) {
        draw_uniform(key, first_row() * columns, rows_ * columns, out);
        continue;
      }
      for (int64_t r = 0; r < rows_; ++r) {
        draw_uniform(key, (first_row() + r) * columns + range.first, range.count(),
                     out + r * columns + range.first);
      }
    }
  }

  void run_trailing(size_t i, ColumnRange range) {
    const Trailing& product = chain_.trailing_[i];
    const ColumnRange all = blocks_.all_columns();
    const bool is_tame = range == all || is_tame_[chain_.leading_.size() + i];
    if (range != all && !are_only_in_range_ &&
        !(is_tame && are_zero_outside(range, product.rows))) {
      range = all;
    }
    if (range.count() == 0 && product.is_sum()) return;
    const int64_t size = size_of(product.dtype()), sum_size = size_of(sum_dtype(product.dtype()));
    const Matrix rows = rows_of(product.rows).block(0, range.first, rows_, range.count(), size);
    const Matrix other = product.other.matrix(matrix_);
    RepeatedProduct& multiplied = *trailing_[i];
    switch (product.kind) {
      case Kind::rows: {
        const TargetMatrix out{product.result + first_row() * other.columns * size, rows_,
                               other.columns, other.columns, 1};
        if (range.count() > 0) return multiplied.multiply(rows, range.first, 0, out, false);
        std::memset(out.data, 0, static_cast<size_t>(rows_ * other.columns * size));
        return;
      }
      case Kind::sum_left:
        return multiplied.multiply(rows.transposed(), first_, 0,
                                   {sums_[i] + range.first * other.columns * sum_size,
                                    range.count(), other.columns, other.columns, 1},
                                   true);
      case Kind::sum_right:
        multiplied.set_b(rows);
        return multiplied.multiply(
            other.block(0, first_, other.rows, rows_, size), 0, 0,
            {sums_[i] + range.first * sum_size, other.rows, range.count(), blocks_.columns, 1},
            true);
    }
  }

  const ChainRun& chain_;
  const RowBlocks& blocks_;
  const NestRunner& runner_;
  std::vector<const void*> read_;
  std::vector<void*> written_;
  std::vector<Buffer> memory_;
  std::vector<std::byte*> leading_rows_, drawn_rows_, result_rows_;  // the block
  std::vector<std::unique_ptr<RepeatedProduct>> leading_, trailing_;
  std::vector<std::optional<std::pair<ColumnRange, bool>>> are_zero_;  // by result
  std::vector<bool> is_tame_;  // by product, the leading ones first
  std::vector<std::byte*> sums_;
  std::byte* maxima_ = nullptr;     // a number for each row of a block
  bool are_only_in_range_ = false;  // no other columns of this block were computed
  int64_t matrix_ = 0;
  int64_t first_ = 0, rows_ = 0;  // the block within the matrix
};

RowNeeds ChainRun::needs() const {
  RowNeeds needs{.has_mask = chain_.needs.mask.has_value()};
  for (const PlannedKernel::Product& product : chain_.products) {
    needs.row_bytes += size_of(product.dtype);
  }
  needs.row_bytes += static_cast<int64_t>(chain_.draws.size() * sizeof(float));
  for (uint32_t r = 0; r < row_results(); ++r) needs.row_bytes += size_of(dtype_of(r));
  for (const PlannedKernel::Trailing& product : chain_.trailing) {
    const Array& result = results_[product.result];
    if (product.kind == Kind::rows) continue;
    needs.sum_bytes += result.element_count() * size_of(sum_dtype(result.dtype()));
  }
  return needs;
}

bool ChainRun::prepare() {
  const PlannedKernel::Product& first = chain_.products[0];
  blocks_ = RowBlocks::of(operands_[first.a], operands_[first.b], needs());
  if (blocks_.size == 0) return false;
  for (size_t i = 0; i < chain_.products.size(); ++i) {
    const PlannedKernel::Product& product = chain_.products[i];
    const Array& a = operands_[product.a];
    if (a.sizes().back() == 0 || repeated_product(product.dtype) == nullptr) return false;
    leading_.push_back({Matrices(a, blocks_.batch),
                        Matrices(rounded(operands_[product.b], product.dtype), blocks_.batch),
                        product.parameter, chain_.needs.products[i]});
  }
  for (const PlannedKernel::Trailing& product : chain_.trailing) {
    Array& result = results_[product.result];
    if (result.element_count() == 0) return false;
    trailing_.push_back({product.kind, product.rows,
                         Matrices(operands_[product.other], blocks_.batch),
                         result.writable_data()});
  }
  if (const auto& mask = chain_.needs.mask) {
    const Array& array = operands_[chain_.parameters[mask->parameter]];
    mask_.emplace(*mask, array.data(), chain_.sizes, sizes_, blocks_);
  }
  return true;
}

NestCall ChainRun::nest_call(std::span<Array> results) const {
  return NestCall(nest_, sizes_, addresses_of(chain_.parameters, operands_), results);
}

void ChainRun::run() {
  NestCall call = nest_call(results_.first(chain_.result_count));
  call.results.resize(nest_.results.size());
  const NestRunner runner(call);
  std::vector<std::optional<RowSums>> sums(trailing_.size());
  for (size_t i = 0; i < trailing_.size(); ++i) {
    if (trailing_[i].is_sum()) sums[i].emplace(results_[chain_.trailing[i].result], blocks_);
  }
  const auto for_sums = [&](auto&& visit) {
    for (const auto& each : sums) {
      if (each) visit(*each);
    }
  };
  parallel_for(blocks_.matrices * blocks_.parts, 1, [&](int64_t begin, int64_t end) {
    PartRun part(*this, call, runner);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t matrix = unit / blocks_.parts, number = unit % blocks_.parts;
      std::vector<std::byte*> places;
      for (const auto& each : sums) places.push_back(each ? each->begin(matrix, number) : nullptr);
      part.run(matrix, number, std::move(places));
      for_sums([&](const RowSums& each) { each.end(matrix); });
    }
  });
  if (blocks_.parts == 1) return;
  parallel_for(blocks_.matrices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t matrix = begin; matrix < end; ++matrix) {
      for_sums([&](const RowSums& each) { each.join(matrix); });
    }
  });
}

Array transposed(const Array& array) { return array.view(array.layout().transposed()); }

void ChainRun::run_separately() {
  const PlannedKernel::Product& first = chain_.products[0];
  const Sizes sizes = sizes_of_product(operands_[first.a].layout(), operands_[first.b].layout());
  std::vector<Array> all(results_.begin(), results_.begin() + chain_.result_count);
  for (uint32_t r = chain_.result_count; r < row_results(); ++r) {
    all.push_back(Array::empty(dtype_of(r), sizes));
  }
  if (row_results() < nest_.results.size()) {
    const Sizes rows(std::span(sizes.data(), sizes.size() - 1));
    all.push_back(Array::empty(dtype_of(row_results()), rows));
  }
  NestCall call = nest_call(all);
  std::vector<Array> products;
  for (const PlannedKernel::Product& product : chain_.products) {
    products.push_back(whole_product(operands_[product.a], operands_[product.b]));
    call.operands[product.parameter] = products.back().data();
  }
  std::vector<Array> drawn;
  for (const PlannedKernel::Draw& draw : chain_.draws) {
    drawn.push_back(Array::empty(DType::f32, sizes));
    draw_uniform(key_of(draw), 0, drawn.back().element_count(),
                 drawn.back().writable_elements<float>().data());
    call.operands[draw.parameter] = drawn.back().data();
  }
  run_nest(call);
  for (const PlannedKernel::Trailing& product : chain_.trailing) {
    const Array &rows = all[product.rows], &other = operands_[product.other];
    Array& result = results_[product.result];
    switch (product.kind) {
      case Kind::rows: matmul(rows, other, result); break;
      case Kind::sum_left: matmul(transposed(rows), other, result); break;
      case Kind::sum_right: matmul(other, rows, result); break;
    }
  }
}

}  // namespace

void run_row_chain(const FusedNest& nest, const RowChain& chain, const compile::KernelSizes& sizes,
                   std::span<const Array> operands, std::span<Array> results) {
  ChainRun run(nest, chain, sizes, operands, results);
  run.prepare() ? run.run() : run.run_separately();
}

}  // namespace plait::cpu
