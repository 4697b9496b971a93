#include "plait/cuda/inside/kernels/kernel_function.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "plait/core/device.h"
#include "plait/core/hash.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/system/thread_team.h"

namespace plait::cuda {
namespace {

constexpr int kDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kStaticSharedBytes = 1;   // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES

// A kernel of a device: made by the first thread that asks, under a lock of its own.
struct Entry {
  std::mutex making;
  std::unique_ptr<const KernelFunction> made;
};

struct LoadedKernels {
  std::mutex mutex;
  std::unordered_map<Hash128, std::unique_ptr<Entry>> entries;
};

LoadedKernels& loaded_kernels(const CudaDevice& device) {
  static Immortal<LoadedKernels> of_devices[Device::kMost];
  return *of_devices[static_cast<size_t>(device.index())];
}

Hash128 loaded_key(std::string_view name, std::string_view text) {
  Hasher hasher;
  hasher.update(name.size());
  hasher.update(name);
  hasher.update(text);
  return hasher.finish();
}

Entry& entry_of(const CudaDevice& device, std::string_view name, std::string_view text) {
  LoadedKernels& loaded = loaded_kernels(device);
  const Hash128 key = loaded_key(name, text);
  const std::lock_guard lock(loaded.mutex);
  std::unique_ptr<Entry>& entry = loaded.entries[key];
  if (entry == nullptr) entry = std::make_unique<Entry>();
  return *entry;
}

// Shared memory that a launch asks for is allowed up to what the device has.
std::unique_ptr<const KernelFunction> loaded(CudaDevice& device, const KernelText& text,
                                             std::string name) {
  const std::string code = cached_code(text, device.architecture());
  const Driver& d = driver();
  device.enter();
  Module module = nullptr;
  check(d.module_load(&module, code.data()), "cuModuleLoadData");
  Function function = nullptr;
  int own_shared = 0;
  try {
    check(d.module_get_function(&function, module, name.c_str()), "cuModuleGetFunction");
    check(d.function_get_attribute(&own_shared, kStaticSharedBytes, function),
          "cuFuncGetAttribute");
    const int most = device.most_shared_bytes() - own_shared;
    check(d.function_set_attribute(function, kDynamicSharedBytes, most), "cuFuncSetAttribute");
    return std::make_unique<KernelFunction>(std::move(name), function, most);
  } catch (...) {
    d.module_unload(module);
    throw;
  }
}

}  // namespace

const KernelFunction& kernel(CudaDevice& device, std::string_view name, std::string_view text,
                             std::string_view file) {
  Entry& entry = entry_of(device, name, text);
  const std::lock_guard lock(entry.making);
  if (entry.made == nullptr) {
    const std::string_view title = file.empty() ? name : file;
    entry.made = loaded(device, {std::string(title), std::string(text)}, std::string(name));
  }
  return *entry.made;
}

std::vector<const KernelFunction*> kernels(CudaDevice& device, std::span<const KernelText> texts) {
  std::vector<const KernelFunction*> found(texts.size());
  parallel_chunks(static_cast<int64_t>(texts.size()), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    found[at] = &kernel(device, texts[at].name, texts[at].text);
  });
  return found;
}

}  // namespace plait::cuda
