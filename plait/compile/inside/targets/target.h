// Targets compile fused functions, each for one kind of device, and say what they can compile.
// Implemented by the backends. Without a target, every instruction runs its own kernel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plait/compile/inside/targets/fused_kernel.h"
#include "plait/core/device.h"
#include "plait/core/numbers/dtype.h"
#include "plait/ir/primitive.h"

namespace plait::compile {

struct PlannedKernel;  // inside/plans/planned_kernel.h

class Target {
 public:
  virtual ~Target() = default;

  virtual Device::Kind device() const = 0;
  // True if kernels may read, compute and store elements of the dtype.
  virtual bool holds(DType dtype) const = 0;
  // True for the supported elementwise primitives and casts.
  virtual bool computes(const ir::Primitive& primitive, std::span<const DType> operands,
                        DType result) const = 0;
  // True if computing it takes much longer than an addition. `operand` is the dtype of the last
  // one.
  virtual bool is_costly(const ir::Primitive& primitive, DType operand) const = 0;
  // One for each; they keep no reference to it. Several threads may compile concurrently.
  virtual std::vector<std::shared_ptr<const FusedKernel>> compile(
      std::span<const PlannedKernel> kernels) const = 0;
};

// The target of a kind of device. Null if this build has none, or a library that it needs is
// missing.
const Target* find_target(Device::Kind device);

// `open` makes the target when it is first asked for; it returns null if a library is missing.
// ValueError once it was asked for.
void register_target(Device::Kind device, std::unique_ptr<const Target> (*open)());

// Registers the target of the CPU; called before the first use. Defined in `cpu`.
void register_cpu_target();

}  // namespace plait::compile
