#include "plait/compile/inside/targets/fused_kernel.h"

namespace plait::compile {
namespace {

class PlainCall final : public FusedCall {
 public:
  PlainCall(const FusedKernel& kernel, const KernelSizes& sizes, std::span<const Array> operands,
            std::span<Array> results)
      : kernel_(kernel), sizes_(sizes), operands_(operands), results_(results) {}

  void run() override { kernel_.run(sizes_, operands_, results_); }

 private:
  const FusedKernel& kernel_;
  const KernelSizes& sizes_;
  const std::span<const Array> operands_;
  const std::span<Array> results_;
};

}  // namespace

std::unique_ptr<FusedCall> FusedKernel::bind(const KernelSizes& sizes,
                                             std::span<const Array> operands,
                                             std::span<Array> results) const {
  return std::make_unique<PlainCall>(*this, sizes, operands, results);
}

}  // namespace plait::compile
