// Kernels by a few numbers in place of their texts, which take longer to write than a launch.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/core/function_ref.h"
#include "plait/core/numbers/dtype.h"
#include "plait/cuda/inside/kernels/kernel_function.h"

namespace plait::cuda {

inline int64_t dtype_number(DType dtype) { return static_cast<int64_t>(dtype); }

// The variants of one text, whose name is `file`. Called by several threads concurrently.
class KernelVariants {
 public:
  explicit KernelVariants(std::string_view file) : file_(file) {}

  // The kernel of that name in the text for these numbers, which `make` writes when they are new.
  // The numbers are from 0 to 63, at most eight, and always as many; the first says which kernel of
  // the text it is.
  const KernelFunction& of(CudaDevice& device, std::string_view name,
                           std::initializer_list<int64_t> numbers,
                           FunctionRef<std::string()> make) {
    auto key = static_cast<uint64_t>(device.index());
    for (const int64_t number : numbers) key = key << 6 | static_cast<uint64_t>(number);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = kernels_.find(key); found != kernels_.end()) return *found->second;
    }
    const KernelFunction& made = kernel(device, name, make(), file_);
    const std::lock_guard lock(mutex_);
    kernels_.emplace(key, &made);
    return made;
  }

 private:
  std::string_view file_;
  std::shared_mutex mutex_;
  std::unordered_map<uint64_t, const KernelFunction*> kernels_;
};

}  // namespace plait::cuda
