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

// Indexed by the primitive's number. Replaced kernels are not freed, since they may be in use.
struct KernelTable {
  std::mutex mutex;
  std::deque<Kernel> kernels;
  using ByNumber = std::array<std::atomic<const Kernel*>, kMostPrimitives>;
  ByNumber cpu{}, cuda{};

  ByNumber& of(Device::Kind device) { return device == Device::Kind::cpu ? cpu : cuda; }
};
KernelTable& kernel_table() {
  static Immortal<KernelTable> table;
  return *table;
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
  const std::lock_guard lock(kernel_table().mutex);
  KernelTable& table = kernel_table();
  table.of(device)[primitive.number] = &table.kernels.emplace_back(kernel);
}

const Kernel& kernel_of(const ir::Primitive& primitive) {
  static const bool are_registered = (register_cpu_kernels(), true);
  (void)are_registered;
  if (primitive.number < kMostPrimitives) {
    const Kernel* kernel = kernel_table().cpu[primitive.number].load(std::memory_order_acquire);
    if (kernel != nullptr) return *kernel;
  }
  static constexpr Kernel kLoops{.run = run_reference_loops};
  if (has_loops(primitive)) return kLoops;
  throw KeyError("this build has no kernel for {}", primitive.name);
}

const Kernel* find_device_kernel(const ir::Primitive& primitive, Device::Kind device) {
  if (primitive.number >= kMostPrimitives) return nullptr;
  return kernel_table().of(device)[primitive.number].load(std::memory_order_acquire);
}

}  // namespace plait
