// Operations on devices other than the CPU: where they compute, and what the host computes for
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/tensor/kernels.h"

namespace plait {

// Where an operation computes: on the device of its operands. Scalars on the host, and arrays that
// repeat one element there, meet any device; keys are always on the host. Without other operands:
// `otherwise`. DeviceError if operands are on different devices.
Device device_of_call(const ir::Primitive& primitive, std::span<const Array> operands,
                      Device otherwise);

// True if all operands are on the host, and not all are keys, so that device_of_call gives the CPU.
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
