#include "plait/compile/inside/running/kernel_run.h"

#include <algorithm>
#include <cstring>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::compile {
namespace {

// Points, times the operations at each, that are worth a thread.
constexpr int64_t kGrain = 1 << 15;
// Maximum number of parts of an accumulation, each with memory of its own.
constexpr int64_t kMostParts = 64;
constexpr int64_t kAlign = 64;

int64_t cost_of(const Nest& nest) {
  int64_t cost = 1;
  for (const NestValue& value : nest.values) {
    if (!value.has_columns) continue;
    if (value.kind != NestValue::Kind::compute) continue;
    cost +=
        value.primitive->elementwise != ir::Elementwise::no && value.operands.size() == 1 ? 4 : 1;
  }
  return cost;
}

// The identity of the reduction.
Element identity_of(ir::Reduction reduction, DType dtype) {
  const bool is_greatest = reduction == ir::Reduction::maximum;
  switch (reduction) {
    case ir::Reduction::product: return Element::of(1.0);
    case ir::Reduction::all: return Element::of(true);
    case ir::Reduction::maximum:
    case ir::Reduction::minimum: {
      if (is_floating(dtype)) return Element::of(is_greatest ? -INFINITY : INFINITY);
      if (is_boolean(dtype)) return Element::of(!is_greatest);
      const int64_t bits = 8 * size_of(dtype);
      if (!is_signed(dtype)) return Element::of_unsigned(is_greatest ? 0 : ~uint64_t{0});
      const auto least = static_cast<int64_t>(uint64_t{1} << (bits - 1));
      return Element::of_signed(is_greatest ? (bits == 64 ? least : -least) : least - 1);
    }
    default: return Element::of(0.0);
  }
}

const ir::Primitive& joining(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::product: return multiply_primitive();
    case ir::Reduction::maximum: return maximum_primitive();
    case ir::Reduction::minimum: return minimum_primitive();
    case ir::Reduction::all: return bitwise_and_primitive();
    case ir::Reduction::any: return bitwise_or_primitive();
    default: return add_primitive();
  }
}

void join(ir::Reduction reduction, DType dtype, std::byte* into, const std::byte* more,
          int64_t count) {
  const Kernel& kernel = kernel_of(joining(reduction));
  const std::byte* const operands[] = {into, more};
  const int64_t step = size_of(dtype), steps[] = {step, step};
  kernel.run_row({.dtype = dtype,
                  .result = dtype,
                  .out = into,
                  .out_step = step,
                  .operands = operands,
                  .steps = steps,
                  .count = count},
                 kernel.data);
}

class KernelRun {
 public:
  KernelRun(const PlannedKernel& kernel, const KernelSizes& sizes,
            std::span<const std::byte* const> operands, std::span<std::byte* const> results,
            std::span<const int64_t> result_elements, std::span<const DType> result_dtypes,
            const ProductRun* product)
      : kernel_(kernel),
        nest_(kernel.nest),
        sizes_(sizes),
        operands_(operands.begin(), operands.end()),
        results_(results.begin(), results.end()),
        elements_(result_elements),
        dtypes_(result_dtypes),
        product_(product) {
    for (size_t i = 0; i < nest_.outer.size(); ++i) {
      (i < nest_.grouped ? groups_ : rows_in_group_) *= sizes_.outer[i];
    }
  }

  void run() {
    if (product_ != nullptr) return run_fused_with_product();
    if (!accumulates()) return run_rows();
    if (rows() * sizes_.columns == 0) return run_empty();
    groups_ == 1 ? run_chunks() : run_groups();
  }

 private:
  int64_t rows() const { return groups_ * rows_in_group_; }
  bool is_accumulated(size_t i) const { return nest_.results[i].reduction != ir::Reduction::none; }
  bool accumulates() const {
    for (size_t i = 0; i < nest_.results.size(); ++i) {
      if (is_accumulated(i)) return true;
    }
    return false;
  }
  // of the accumulation
  DType accumulated_dtype(size_t i) const { return nest_.values[nest_.results[i].value].dtype; }

  int64_t work() const { return rows() * sizes_.columns * cost_of(nest_); }
  int64_t scratch_bytes() const { return kernel_.code.scratch_for(sizes_.columns); }

  // Allocates scratch memory for each thread.
  void with_scratch(FunctionRef<void()> body) {
    const ThreadLimit limit(thread_count());
    const int64_t bytes = quotient_up(scratch_bytes(), kAlign) * kAlign;
    if (bytes > 0) scratch_ = Buffer::allocate_work(bytes * thread_count());
    scratch_step_ = bytes;
    body();
  }

  void call(std::span<void* const> results, int64_t first_row, int64_t end_row,
            int64_t first_column, int64_t end_column) const {
    call(operands_, results, first_row, end_row, first_column, end_column);
  }
  void call(std::span<const void* const> operands, std::span<void* const> results,
            int64_t first_row, int64_t end_row, int64_t first_column, int64_t end_column) const {
    std::byte* scratch = scratch_ ? scratch_.data() + scratch_step_ * thread_index() : nullptr;
    const KernelArguments arguments{.parameters = operands.data(),
                                    .results = results.data(),
                                    .sizes = sizes_.values.data(),
                                    .first_row = first_row,
                                    .end_row = end_row,
                                    .first_column = first_column,
                                    .end_column = end_column,
                                    .scratch = scratch};
    kernel_.code.run(&arguments);
  }

  void run_rows() {
    const int64_t per_row = std::max<int64_t>(sizes_.columns * cost_of(nest_), 1);
    const bool cuts_columns = nest_.may_cut_columns() && rows() < thread_count();
    with_scratch([&] {
      if (cuts_columns) {
        const int64_t grain = std::max<int64_t>(kGrain / cost_of(nest_) / kAlign, 1) * kAlign;
        for (int64_t row = 0; row < rows(); ++row) {
          parallel_for(sizes_.columns, grain, [&](int64_t begin, int64_t end) {
            call(results_, row, row + 1, begin, end);
          });
        }
        return;
      }
      parallel_for(rows(), quotient_up(kGrain, per_row), [&](int64_t begin, int64_t end) {
        call(results_, begin, end, 0, sizes_.columns);
      });
    });
  }

  // Computes a block of rows of the product, and then the kernel on it while it is in the cache.
  void run_fused_with_product() {
    const RowProduct& product = *product_->product;
    const DType dtype = kernel_.product->dtype;
    const int64_t row_bytes = product_->columns * size_of(dtype);
    with_scratch([&] {
      parallel_for(product.blocks(), 1, [&](int64_t begin, int64_t end) {
        std::vector<const void*> operands = operands_;
        Buffer block;
        int64_t block_bytes = 0;
        for (int64_t i = begin; i < end; ++i) {
          const auto [first, last] = product.rows(i);
          std::byte* out = nullptr;
          if (product_->result != nullptr) {
            out = product_->result + first * row_bytes;
          } else {
            if ((last - first) * row_bytes > block_bytes) {
              block_bytes = (last - first) * row_bytes;
              block = Buffer::allocate_work(block_bytes);
            }
            out = block.data();
          }
          product.compute(i, out);
          // The kernel counts rows from the first row of all.
          operands[kernel_.product->parameter] = reinterpret_cast<const void*>(
              reinterpret_cast<uintptr_t>(out) - static_cast<uintptr_t>(first * row_bytes));
          if (nest_.outer.empty()) {
            call(operands, results_, 0, 1, first * product_->columns, last * product_->columns);
          } else {
            call(operands, results_, first, last, 0, sizes_.columns);
          }
        }
      });
    });
  }

  // ---- Accumulated results.

  // Rows without columns can be accumulated: a reduction of nothing is its identity.
  void run_empty() {
    std::vector<Buffer> wide;
    std::vector<void*> results = results_;
    widen(wide, results);
    if (rows() == 0) return fill_with_identities();
    with_scratch([&] { call(results, 0, rows(), 0, sizes_.columns); });
    narrow(results);
  }

  void fill_with_identities() {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!is_accumulated(i)) continue;
      const Element identity = identity_of(nest_.results[i].reduction, dtypes_[i]);
      auto* out = static_cast<std::byte*>(results_[i]);
      for (int64_t k = 0; k < elements_[i]; ++k) {
        store_element(dtypes_[i], identity, out + k * size_of(dtypes_[i]));
      }
    }
  }

  // Allocates memory in the dtype of the accumulation for narrower results.
  void widen(std::vector<Buffer>& wide, std::vector<void*>& results) const {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!is_accumulated(i) || accumulated_dtype(i) == dtypes_[i]) continue;
      wide.push_back(Buffer::allocate_work(elements_[i] * size_of(accumulated_dtype(i))));
      results[i] = wide.back().data();
    }
  }
  void narrow(std::span<void* const> wide) const {
    for (size_t i = 0; i < wide.size(); ++i) {
      if (wide[i] == results_[i]) continue;
      convert(accumulated_dtype(i), static_cast<const std::byte*>(wide[i]), dtypes_[i],
              static_cast<std::byte*>(results_[i]), elements_[i]);
    }
  }

  void run_groups() {
    std::vector<Buffer> wide;
    std::vector<void*> results = results_;
    widen(wide, results);
    const int64_t per_group =
        std::max<int64_t>(rows_in_group_ * sizes_.columns * cost_of(nest_), 1);
    with_scratch([&] {
      parallel_for(groups_, quotient_up(kGrain, per_group), [&](int64_t begin, int64_t end) {
        call(results, begin * rows_in_group_, end * rows_in_group_, 0, sizes_.columns);
      });
    });
    narrow(results);
  }

  // Each part accumulates in its own memory; the parts are combined in order.
  void run_chunks() {
    const bool cuts_columns = rows() == 1 && nest_.may_cut_columns();
    const int64_t items = cuts_columns ? quotient_up(sizes_.columns, kAlign) : rows();
    const int64_t parts = std::clamp<int64_t>(work() / kGrain, 1, std::min(items, kMostParts));
    const int64_t each = quotient_up(items, parts);
    std::vector<Buffer> wide;
    std::vector<void*> results = results_;
    widen(wide, results);
    const int64_t used = quotient_up(items, each);
    std::vector<Buffer> memory = memory_for(used - 1);
    with_scratch([&] {
      parallel_chunks(used, [&](int64_t part) {
        std::vector<void*> own = results;
        for (size_t i = 0; i < own.size(); ++i) {
          if (is_accumulated(i) && part > 0) own[i] = memory[i].data() + (part - 1) * bytes_of(i);
        }
        const int64_t begin = part * each, end = std::min(begin + each, items);
        if (cuts_columns) {
          call(own, 0, 1, begin * kAlign, std::min(end * kAlign, sizes_.columns));
        } else {
          call(own, begin, end, 0, sizes_.columns);
        }
      });
    });
    for (size_t i = 0; i < results.size(); ++i) {
      for (int64_t part = 1; is_accumulated(i) && part < used; ++part) {
        join(nest_.results[i].reduction, accumulated_dtype(i), static_cast<std::byte*>(results[i]),
             memory[i].data() + (part - 1) * bytes_of(i), elements_[i]);
      }
    }
    narrow(results);
  }

  int64_t bytes_of(size_t i) const {
    return quotient_up(elements_[i] * size_of(accumulated_dtype(i)), kAlign) * kAlign;
  }
  std::vector<Buffer> memory_for(int64_t parts) const {
    std::vector<Buffer> memory(results_.size());
    for (size_t i = 0; i < memory.size(); ++i) {
      if (is_accumulated(i) && parts > 0) memory[i] = Buffer::allocate_work(parts * bytes_of(i));
    }
    return memory;
  }

  const PlannedKernel& kernel_;
  const Nest& nest_;
  const KernelSizes& sizes_;
  std::vector<const void*> operands_;
  std::vector<void*> results_;
  std::span<const int64_t> elements_;
  std::span<const DType> dtypes_;
  const ProductRun* product_;
  int64_t groups_ = 1, rows_in_group_ = 1;
  Buffer scratch_;
  int64_t scratch_step_ = 0;
};

}  // namespace

bool can_fuse_product(const PlannedKernel& kernel, const ProductRun& product) {
  if (!kernel.nest.outer.empty()) return true;
  for (int64_t i = 0; i < product.product->blocks(); ++i) {
    if (product.product->rows(i).first * product.columns % kColumnStep != 0) return false;
  }
  return true;
}

void run_kernel(const PlannedKernel& kernel, const KernelSizes& sizes,
                std::span<const std::byte* const> operands, std::span<std::byte* const> results,
                std::span<const int64_t> result_elements, std::span<const DType> result_dtypes,
                const ProductRun* product) {
  KernelRun(kernel, sizes, operands, results, result_elements, result_dtypes, product).run();
}

}  // namespace plait::compile
