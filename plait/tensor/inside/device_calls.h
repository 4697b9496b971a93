// Operations on devices other than the CPU: where they compute, and what the host computes for
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/tensor/kernels.h"

namespace plait {

// Where an operation computes: on the device of the operands that are placed, to which it moves the
// unplaced ones. Without placed ones: on that of the first unplaced one that is not on the host,
// else on the host. Keys are always on the host; without other operands: `otherwise`. DeviceError
// if placed operands are on different devices.
Device meet(const ir::Primitive& primitive, std::span<Array> operands, Device otherwise);

// True if the results are unplaced: all operands are, or an attribute says so.
inline bool gives_unplaced(const ir::Primitive& primitive, std::span<const Array> operands,
                           const ir::Attributes& attributes) {
  if (primitive.result_place != nullptr) [[unlikely]] {
    return primitive.result_place(attributes).is_unplaced;
  }
  for (const Array& operand : operands) {
    if (!operand.is_unplaced() && operand && operand.dtype() != DType::key) return false;
  }
  return true;
}
inline void set_unplaced(std::span<Array> results, bool is_unplaced) {
  for (Array& result : results) result.set_unplaced(is_unplaced);
}

// True if all operands are on the host, and not all are keys, so that they meet on the CPU.
inline bool is_host_call(std::span<const Array> operands) {
  bool has_arrays = false;
  for (const Array& operand : operands) {
    if (!operand) continue;
    if (!operand.is_on_host()) return false;
    has_arrays = has_arrays || operand.dtype() != DType::key;
  }
  return has_arrays;
}

// Runs the kernel of call.device; if it has none, run_on_host.
void run_on_device(KernelCall& call);
// Runs the kernel of the host on copies of the operands, for a kernel of a device that does not
// support this call. Counted and logged.
void run_on_host(KernelCall& call);

// How often the host has computed an operation for a device, since the process started.
struct HostCalls {
  const ir::Primitive* primitive;
  int64_t count;
};
std::vector<HostCalls> host_calls();

}  // namespace plait
