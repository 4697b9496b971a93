// Compiler of loop nests to machine code, implemented by a backend. In a build without one, every
// instruction runs its own kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

// Arguments of a kernel call, for a range of rows (counted over all outer loops) and of columns:
// all columns, or, if the nest may be split there, ranges that end at multiples of kColumnStep.
inline constexpr int64_t kColumnStep = 64;
struct KernelArguments {
  const void* const* parameters;
  // One for each result. For an accumulated result: memory of this call alone, without strides for
  // the rows that are accumulated, which the call initialises with the identity of the reduction.
  // With groups (grouped > 0), a call processes whole groups and initialises each at its first row.
  // A result may alias a parameter if every load of that parameter is at the place of the store,
  // and in no loop after the store.
  void* const* results;
  const int64_t* sizes;  // the values of Nest::sizes()
  int64_t first_row, end_row;
  int64_t first_column, end_column;
  std::byte* scratch;  // 64-byte aligned
};

struct CompiledKernel {
  void (*run)(const KernelArguments*) = nullptr;
  // Scratch bytes a column, and in addition to that.
  int64_t scratch_bytes_per_column = 0, scratch_bytes = 0;

  int64_t scratch_for(int64_t columns) const {
    return columns * scratch_bytes_per_column + scratch_bytes;
  }
};

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;

  virtual bool holds(DType dtype) const = 0;
  // True for the supported elementwise primitives and casts.
  virtual bool computes(const ir::Primitive& primitive, std::span<const DType> operands,
                        DType result) const = 0;
  // The code lives as long as the process; equal nests share it.
  virtual std::vector<CompiledKernel> compile(std::span<const Nest> nests) = 0;
};

// Null if this build has none, or its library is missing.
KernelCompiler* kernel_compiler();
void register_kernel_compiler(std::unique_ptr<KernelCompiler> compiler);

// Registers the compiler of the CPU; called before the first use. Defined in `cpu`.
void register_cpu_compiler();

}  // namespace plait::compile
