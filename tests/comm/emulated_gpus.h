// The emulated GPUs of tests of the engine nccl (tests/cuda_emulator).
#pragma once

#include <cstdlib>
#include <string>

#include <dlfcn.h>

#include "plait/core/settings.h"
#include "plait/tensor/tensor.h"

namespace plait::dist {

#ifdef PLAIT_EMULATOR_LIBRARY
inline const std::string kEmulatedGpus = PLAIT_EMULATOR_LIBRARY;
#else
inline const std::string kEmulatedGpus;  // they were not built
#endif

// Before the first use of a GPU in the process. The emulator reserves 90 times the bytes of memory.
inline void use_emulated_gpus(int devices, int64_t bytes) {
  setenv("PLAIT_EMULATED_DEVICES", std::to_string(devices).c_str(), 0);
  setenv("PLAIT_EMULATED_MEMORY", std::to_string(bytes).c_str(), 0);
  set_setting("cuda", kEmulatedGpus);
}

// All that the emulator has found to be wrong in this process.
inline std::string emulator_findings() {
  if (kEmulatedGpus.empty()) return {};
  void* const library = dlopen(kEmulatedGpus.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return {};
  const auto findings =
      reinterpret_cast<const char* (*)()>(dlsym(library, "plait_emulator_findings"));
  return findings();
}

// Where the tensors of the rank of this thread are.
inline Device& rank_device() {
  static thread_local Device device;
  return device;
}
inline Tensor placed(const Tensor& x) { return Tensor(x.array().on(rank_device())); }

}  // namespace plait::dist
