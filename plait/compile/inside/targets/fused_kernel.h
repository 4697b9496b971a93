// A fused function that a target has compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait::compile {

// The sizes of one call.
struct KernelSizes {
  std::vector<int64_t> values;  // values of Nest::sizes()
  std::vector<int64_t> outer;
  int64_t columns = 1;
};

// A call whose arrays stay the same, and which may be run many times.
class FusedCall {
 public:
  virtual ~FusedCall() = default;
  virtual void run() = 0;
};

class FusedKernel {
 public:
  virtual ~FusedKernel() = default;

  // Operands and results are those of the function, on the device of the target. Operands that the
  // nest reads are contiguous; those of a product may have any strides. Results are contiguous, and
  // their elements are not initialised; one may be in the memory of an operand, as
  // PlannedKernel::overwrites says. They do not depend on the number of threads. Several threads
  // may call this concurrently.
  virtual void run(const KernelSizes& sizes, std::span<const Array> operands,
                   std::span<Array> results) const = 0;
  // The call with these arguments, to all of which it refers. Elements of the arrays may change
  // between two runs.
  virtual std::unique_ptr<FusedCall> bind(const KernelSizes& sizes, std::span<const Array> operands,
                                          std::span<Array> results) const;
};

}  // namespace plait::compile
