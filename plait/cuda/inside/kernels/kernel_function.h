// Kernels in the memory of a device. Equal texts share one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/kernels/compile_text.h"

namespace plait::cuda {

// Lives as long as the process.
class KernelFunction {
 public:
  KernelFunction(std::string name, Function function, int most_shared_bytes)
      : name_(std::move(name)), function_(function), most_shared_bytes_(most_shared_bytes) {}

  const std::string& name() const { return name_; }
  Function function() const { return function_; }
  // Dynamic shared memory of a block, at most.
  int most_shared_bytes() const { return most_shared_bytes_; }

 private:
  std::string name_;
  Function function_;
  int most_shared_bytes_;
};

// Compiles the text and loads it into the device, unless this was done before. Called by several
// threads concurrently. CompileError as compile_text; an error is not kept: the next call tries
// again.
// `file` names a text of several kernels, which is compiled once for all of them.
const KernelFunction& kernel(CudaDevice& device, std::string_view name, std::string_view text,
                             std::string_view file = {});
// The same for several, which are compiled in parallel.
std::vector<const KernelFunction*> kernels(CudaDevice& device, std::span<const KernelText> texts);

}  // namespace plait::cuda
