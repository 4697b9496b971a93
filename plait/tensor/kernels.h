// Kernels: functions that compute a primitive on concrete arrays. Declared here; registered by
// `ops` (reference kernels) and by the backends.
#pragma once

#include <span>

#include "plait/ir/primitive.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// The type of an array of known sizes.
struct ArrayType {
  DType dtype = DType::f32;
  Sizes sizes = {};  // -1 for a data-dependent size
};

struct KernelCall {
  const ir::Primitive& primitive;
  std::span<Array> operands;         // may be moved from
  const ir::Attributes& attributes;  // with numbers for all sizes
  std::span<const ArrayType> types;  // types of the results; empty if the kernel infers them
  // To be filled. If one is not empty, the result may be written there.
  std::span<Array> results;
  Device device = {};  // for the results

  // Allocates result i: in the array given for it; else in place of an operand of the same dtype
  // and sizes that has no other owner; else in new memory.
  Array& make_result(size_t i);
  // The same, but never in place of an operand.
  Array& new_result(size_t i) const;
};

// A call of an elementwise primitive on one row: contiguous elements, or one element that is
// broadcast (step 0). Steps are in bytes.
struct RowCall {
  DType dtype = DType::f32;   // dtype of the operands
  DType result = DType::f32;  // dtype of `out`
  std::byte* out = nullptr;
  int64_t out_step = 0;
  std::span<const std::byte* const> operands;
  std::span<const int64_t> steps;
  int64_t count = 0;
};

struct Kernel {
  void (*run)(KernelCall& call, const void* data) = nullptr;
  const void* data = nullptr;  // one kernel may serve several primitives
  // For elementwise primitives; false if the dtype is not supported.
  bool (*run_row)(const RowCall& call, const void* data) = nullptr;
  // True if the kernel checks its operands and infers the result sizes, so that an eager call needs
  // no type rule.
  bool finds_types = false;

  explicit operator bool() const { return run != nullptr; }
};

// The latest registration wins.
void register_kernel(const ir::Primitive& primitive, const Kernel& kernel,
                     Device::Kind device = Device::Kind::cpu);
// Falls back to the reference loops; KeyError if the primitive has no kernel at all.
const Kernel& kernel_of(const ir::Primitive& primitive);
// The kernel for another device than the CPU; null if the operation runs on the host
// (device_calls.h).
const Kernel* find_device_kernel(const ir::Primitive& primitive, Device::Kind device);

// Registers the CPU kernels; called before the first lookup. Defined in `cpu`.
void register_cpu_kernels();

// Reference kernel of a primitive with an index signature and a scalar body: computes one point of
// the loop nest after another, without any optimisation.
void run_reference_loops(KernelCall& call, const void* data);

}  // namespace plait
