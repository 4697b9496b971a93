#include "plait/tensor/kernels.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

constexpr size_t kMostPrimitives = 4096;

// Indexed by the primitive's number.
using KernelTable = std::array<std::atomic<const Kernel*>, kMostPrimitives>;
constinit KernelTable cpu_kernels{}, cuda_kernels{};

KernelTable& table_of(Device::Kind device) {
  return device == Device::Kind::cpu ? cpu_kernels : cuda_kernels;
}

// Replaced kernels are not freed, since they may be in use.
struct RegisteredKernels {
  std::mutex mutex;
  std::deque<Kernel> kernels;
};
RegisteredKernels& registered_kernels() {
  static Immortal<RegisteredKernels> registered;
  return *registered;
}

bool has_loops(const ir::Primitive& primitive) {
  const ir::ScalarBody& body = primitive.body;
  return (primitive.signature || primitive.elementwise != ir::Elementwise::no) &&
         (body.real || body.integer || body.natural || body.complex);
}

}  // namespace

Array& KernelCall::make_result(size_t i) {
  const ArrayType& type = types[i];
  if (results[i]) return results[i];
  for (Array& operand : operands) {
    if (operand && operand.device() == device && operand.dtype() == type.dtype &&
        operand.sizes() == type.sizes && operand.is_writable() && operand.is_contiguous()) {
      return results[i] = operand;
    }
  }
  return results[i] = Array::empty_on(device, type.dtype, type.sizes);
}

Array& KernelCall::new_result(size_t i) const {
  if (!results[i]) results[i] = Array::empty_on(device, types[i].dtype, types[i].sizes);
  return results[i];
}

void register_kernel(const ir::Primitive& primitive, const Kernel& kernel, Device::Kind device) {
  if (primitive.number >= kMostPrimitives) {
    throw ValueError("more than {} primitives", kMostPrimitives);
  }
  RegisteredKernels& registered = registered_kernels();
  const std::lock_guard lock(registered.mutex);
  table_of(device)[primitive.number] = &registered.kernels.emplace_back(kernel);
}

const Kernel& kernel_of(const ir::Primitive& primitive) {
  static const bool are_registered = (register_cpu_kernels(), true);
  (void)are_registered;
  if (primitive.number < kMostPrimitives) {
    const Kernel* kernel = cpu_kernels[primitive.number].load(std::memory_order_acquire);
    if (kernel != nullptr) return *kernel;
  }
  static constexpr Kernel kLoops{.run = run_reference_loops};
  if (has_loops(primitive)) return kLoops;
  throw KeyError("this build has no kernel for {}", primitive.name);
}

const Kernel* find_device_kernel(const ir::Primitive& primitive, Device::Kind device) {
  if (primitive.number >= kMostPrimitives) return nullptr;
  return table_of(device)[primitive.number].load(std::memory_order_acquire);
}

}  // namespace plait
