// Who makes machine code of loops. Declared here, filled in by a backend; a build without one runs
// every instruction by its own kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/nest.h"

namespace plait::compile {

// What a kernel is called with, for a range of rows (counted over all outer loops) and of columns:
// all of them, or where the nest may be cut so, parts that end at multiples of kColumnStep.
inline constexpr int64_t kColumnStep = 64;
struct KernelArguments {
  const void* const* parameters;
  // One for each. Of an accumulated result: the memory of this call's own, without steps for rows
  // that are accumulated, which it begins with what the reduction begins with; in groups (grouped >
  // 0) a call does whole ones, and begins each with its first row. A result may lie where a
  // parameter lies if every load of that is at its place, and in no loop after the one that stores.
  void* const* results;
  const int64_t* sizes;  // the values of Nest::sizes()
  int64_t first_row, end_row;
  int64_t first_column, end_column;
  std::byte* scratch;  // 64-byte aligned
};

struct CompiledKernel {
  void (*run)(const KernelArguments*) = nullptr;
  // Of the nest's columns, and how many more.
  int64_t scratch_bytes_per_column = 0, scratch_bytes = 0;

  int64_t scratch_for(int64_t columns) const {
    return columns * scratch_bytes_per_column + scratch_bytes;
  }
};

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;

  virtual bool holds(DType dtype) const = 0;
  // Of elementwise primitives and of casts.
  virtual bool computes(const ir::Primitive& primitive, std::span<const DType> operands,
                        DType result) const = 0;
  // The code stays for the life of the process; equal nests share it.
  virtual std::vector<CompiledKernel> compile(std::span<const Nest> nests) = 0;
};

// Null where this build has none, or its library is missing.
KernelCompiler* kernel_compiler();
void register_kernel_compiler(std::unique_ptr<KernelCompiler> compiler);

// Registers the one of the CPU; called before it is first asked for. Declared here, defined in
// `cpu`.
void register_cpu_compiler();

}  // namespace plait::compile
