// Loaded modules: the shared objects that the emulated NVRTC makes, and the kernels in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/abi/cuda.h"
#include "tests/cuda_emulator/abi/kernel.h"
#include "tests/cuda_emulator/device/block.h"

namespace emulator {

struct Module;

struct Function {
  Module* module = nullptr;
  const EmulatedKernel* kernel = nullptr;
  size_t most_dynamic_shared = 0;

  size_t static_shared() const;
  int most_threads() const { return kernel->most_threads ? kernel->most_threads : kMostThreads; }
};

struct Module {
  int device = 0;
  int file = -1;
  void* library = nullptr;
  std::string path;
  const char* begin = nullptr;  // where it is mapped
  const char* end = nullptr;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<std::string, std::pair<char*, size_t>> variables;   // that the image exports
  std::map<std::string, std::pair<uint64_t, size_t>> globals;  // those asked for: address and bytes

  Module() = default;
  Module(const Module&) = delete;
  ~Module();
};

// Loads an image for a device; throws Failure.
std::unique_ptr<Module> load_module(const void* image, int device);
// The kernel with this name in the image; null: none.
Function* find_function(const Module& module, const char* name);
std::pair<uint64_t, size_t> global_of(Module& module, const std::string& name);

// A launch: the parameters are copied when it is made.
struct Launch {
  Function* function = nullptr;
  Sizes grid, block;
  size_t dynamic_shared = 0;
  std::vector<std::vector<char>> parameters;
};

// Checks the limits of a launch, and copies its parameters; throws Failure.
Launch made_launch(Function& function, Sizes grid, Sizes block, size_t dynamic_shared,
                   void** parameters, void** extra);
CUresult run_launch(const Launch& launch);

}  // namespace emulator
