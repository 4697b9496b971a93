// Fused functions on the CPU: LLVM compiles their nests, and the thread team runs them.
#include "plait/compile/inside/plans/planned_kernel.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/cpu/inside/codegen/nest_compiler.h"
#include "plait/cpu/inside/fused/product_epilogue.h"
#include "plait/cpu/inside/fused/row_chain.h"
#include "plait/cpu/inside/fused/run_nest.h"

namespace plait::cpu {
namespace {

using compile::FusedKernel;
using compile::Nest;
using compile::PlannedKernel;

class CpuKernel final : public FusedKernel {
 public:
  CpuKernel(const PlannedKernel& planned, const CompiledNest& compiled)
      : nest_(planned.nest, compiled), chain_(planned) {}

  void run(const compile::KernelSizes& sizes, std::span<const Array> operands,
           std::span<Array> results) const override {
    if (!chain_.trailing.empty()) return run_row_chain(nest_, chain_, sizes, operands, results);
    NestCall call(nest_, sizes, addresses_of(chain_.parameters, operands), results);
    if (chain_.products.empty()) return run_nest(call);
    run_with_product(call, chain_.products[0], operands);
  }

  std::unique_ptr<compile::FusedCall> bind(const compile::KernelSizes& sizes,
                                           std::span<const Array> operands,
                                           std::span<Array> results) const override {
    if (!chain_.trailing.empty() || !chain_.products.empty()) {
      return FusedKernel::bind(sizes, operands, results);
    }
    return bound_nest(NestCall(nest_, sizes, addresses_of(chain_.parameters, operands), results));
  }

 private:
  const FusedNest nest_;
  const RowChain chain_;
};

class CpuTarget final : public compile::Target {
 public:
  Device::Kind device() const override { return Device::Kind::cpu; }
  bool holds(DType dtype) const override { return is_emitted(dtype); }
  bool computes(const ir::Primitive& primitive, std::span<const DType> operands,
                DType result) const override {
    return is_emitted(primitive, operands, result);
  }
  bool is_costly(const ir::Primitive& primitive, DType operand) const override {
    return cpu::is_costly(primitive, operand);
  }

  std::vector<std::shared_ptr<const FusedKernel>> compile(
      std::span<const PlannedKernel> kernels) const override {
    std::vector<const Nest*> nests;
    for (const PlannedKernel& kernel : kernels) nests.push_back(&kernel.nest);
    const std::vector<CompiledNest> compiled = compiled_nests(nests);
    std::vector<std::shared_ptr<const FusedKernel>> result;
    for (size_t i = 0; i < kernels.size(); ++i) {
      result.push_back(std::make_shared<const CpuKernel>(kernels[i], compiled[i]));
    }
    return result;
  }
};

std::unique_ptr<const compile::Target> open_target() {
  return has_nest_compiler() ? std::make_unique<const CpuTarget>() : nullptr;
}

}  // namespace
}  // namespace plait::cpu

void plait::compile::register_cpu_target() { register_target(Device::Kind::cpu, cpu::open_target); }
