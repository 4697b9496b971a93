// One call of a nest, and the parts of it that threads run concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/compile/inside/targets/fused_kernel.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/fused/fused_nest.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::cpu {

// Points, times the operations at each, that are worth a thread.
inline constexpr int64_t kNestGrain = 1 << 15;

struct NestCall {
  NestCall(const FusedNest& fused, const compile::KernelSizes& numbers,
           std::vector<const void*> addresses, std::span<Array> given);

  int64_t rows() const { return groups * rows_in_group; }
  int64_t columns() const { return sizes.columns; }
  int64_t work() const { return rows() * columns() * nest.cost; }

  const FusedNest& nest;
  const compile::KernelSizes& sizes;
  std::vector<const void*> operands;  // addresses of the nest's parameters
  std::span<Array> arrays;            // the results
  std::vector<void*> results;         // their addresses
  int64_t groups = 1, rows_in_group = 1;
};

// The addresses of a nest's parameters; null for those that are not operands, as products.
std::vector<const void*> addresses_of(std::span<const uint32_t> parameters,
                                      std::span<const Array> operands);

struct NestRange {
  int64_t first_row, end_row;
  int64_t first_column, end_column;
};

// Runs parts of a call. Each thread of the team has scratch memory, as long as this exists.
class NestRunner {
 public:
  explicit NestRunner(const NestCall& call);

  void run(std::span<void* const> results, const NestRange& range) const {
    run(call_.operands, results, range);
  }
  void run(std::span<const void* const> operands, std::span<void* const> results,
           const NestRange& range) const;

 private:
  const NestCall& call_;
  const ThreadLimit limit_;
  int64_t scratch_bytes_ = 0;  // a thread
  Buffer scratch_;
};

}  // namespace plait::cpu
