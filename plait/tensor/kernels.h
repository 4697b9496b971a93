// What computes a primitive on concrete arrays. Declared here, filled in by `ops` (reference
// evaluators) and the backends.
#pragma once

#include <span>

#include "plait/ir/primitive.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// The type of one array of known sizes.
struct ArrayType {
  DType dtype = DType::f32;
  Sizes sizes = {};  // -1 for one that is born in the computation
};

struct KernelCall {
  const ir::Primitive& primitive;
  std::span<Array> operands;         // may be moved out of
  const ir::Attributes& attributes;  // whose sizes are numbers
  std::span<const ArrayType> types;  // of the results; none for a kernel that finds them itself
  // To be filled. One that is there already is the place where the result may be written.
  std::span<Array> results;

  // Memory for a result: its place; else that of an operand of its dtype and sizes which nobody
  // else needs; else new.
  Array& make_result(size_t i);
  // The same for one that must not lie where an operand does.
  Array& new_result(size_t i) const;
};

// What an elementwise primitive computes as one row: elements that lie without gaps, or (a step of
// 0) a single one that repeats. Steps are in bytes.
struct RowCall {
  DType dtype = DType::f32;   // of the operands
  DType result = DType::f32;  // of `out`
  std::byte* out = nullptr;
  int64_t out_step = 0;
  std::span<const std::byte* const> operands;
  std::span<const int64_t> steps;
  int64_t count = 0;
};

struct Kernel {
  void (*run)(KernelCall& call, const void* data) = nullptr;
  const void* data = nullptr;  // the same kernel serves many primitives
  // Of an elementwise primitive; false where there is nothing for that dtype.
  bool (*run_row)(const RowCall& call, const void* data) = nullptr;
  // It checks its operands and finds its results' sizes itself, so that an eager call needs no type
  // rule.
  bool finds_types = false;

  explicit operator bool() const { return run != nullptr; }
};

// The one registered last serves.
void register_kernel(const ir::Primitive& primitive, const Kernel& kernel);
// The reference loops when nothing better is there; KeyError for a primitive that nothing computes.
const Kernel& kernel_of(const ir::Primitive& primitive);

// Registers the kernels of the CPU; called before the first one is asked for. Declared here,
// defined in `cpu`.
void register_cpu_kernels();

// Computes a primitive that has an index signature and a scalar body, point after point: what it
// means, with nothing in it that could be fast or clever.
void run_reference_loops(KernelCall& call, const void* data);

}  // namespace plait
