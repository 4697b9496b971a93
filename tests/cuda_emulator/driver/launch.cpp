// Launches of kernels: their limits, their parameters, and their blocks one after another.
#include <cstring>

#include "tests/cuda_emulator/device/checks.h"
#include "tests/cuda_emulator/device/fibers.h"
#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/driver/module.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

void check_limits(const Function& function, Sizes grid, Sizes block, size_t dynamic_shared) {
  const bool grid_fits =
      grid.x && grid.y && grid.z && grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
  const bool block_fits = block.x && block.y && block.z && block.x <= 1024 && block.y <= 1024 &&
                          block.z <= 64 && block.count() <= kMostThreads;
  if (!grid_fits || !block_fits) throw Failure{CUDA_ERROR_INVALID_VALUE};
  // The driver does not start a kernel with more threads than its __launch_bounds__.
  if (block.count() > static_cast<uint64_t>(function.most_threads()))
    throw Failure{CUDA_ERROR_INVALID_VALUE};
  if (dynamic_shared > function.most_dynamic_shared) throw Failure{CUDA_ERROR_INVALID_VALUE};
}

struct PackedParameters {
  const char* bytes = nullptr;
  const size_t* size = nullptr;
};

// The list of CU_LAUNCH_PARAM_BUFFER_POINTER (1) and CU_LAUNCH_PARAM_BUFFER_SIZE (2), which ends
// with 0.
PackedParameters packed_parameters(void** extra) {
  PackedParameters packed;
  for (; *extra; extra += 2) {
    const auto key = reinterpret_cast<uintptr_t>(*extra);
    if (key == 1) packed.bytes = static_cast<const char*>(extra[1]);
    if (key == 2) packed.size = static_cast<const size_t*>(extra[1]);
    if (key > 2) throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
  if (!packed.bytes || !packed.size) throw Failure{CUDA_ERROR_INVALID_VALUE};
  return packed;
}

std::vector<std::vector<char>> unpacked(const EmulatedKernel& kernel, void** extra) {
  const PackedParameters packed = packed_parameters(extra);
  std::vector<std::vector<char>> parameters;
  size_t offset = 0;
  for (int k = 0; k < kernel.parameters; ++k) {
    offset = (offset + kernel.alignments[k] - 1) / kernel.alignments[k] * kernel.alignments[k];
    if (offset + kernel.sizes[k] > *packed.size) throw Failure{CUDA_ERROR_INVALID_VALUE};
    parameters.emplace_back(packed.bytes + offset, packed.bytes + offset + kernel.sizes[k]);
    offset += kernel.sizes[k];
  }
  if (offset != *packed.size) throw Failure{CUDA_ERROR_INVALID_VALUE};
  return parameters;
}

// Kernels get the addresses of the mapping that they may touch: in pointers, and in structures that
// hold some.
void translate_addresses(std::vector<char>& parameter) {
  for (size_t at = 0; at + 8 <= parameter.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, parameter.data() + at, 8);
    // Past the end of the last allocation is still an address of the device.
    const int device = device_with(word);
    size_t following = 0;
    char* target = device >= 0 ? memory_of(device).access(word) : alias_target(word, following);
    if (target) std::memcpy(parameter.data() + at, &target, 8);
  }
}

void prepare(const KernelRun& run) {
  running.run = &run;
  running.checks = settings().check;
  running.memory = &memory_of(run.device);
  running.access_begin = running.memory->access_begin();
  running.access_space = running.memory->space();
  running.threads = static_cast<int>(run.block.count());
  running.result = CUDA_SUCCESS;
  running.clock.launch_start = ++running.clock.now;
  forget_reported();
}

void run_blocks(const KernelRun& run) {
  const uint64_t count = run.grid.count();
  // An order of more blocks than these would take memory: they come in groups, each in its order.
  constexpr uint64_t kGroup = 1 << 16;
  const int order = settings().order;
  const uint64_t groups = (count + kGroup - 1) / kGroup;
  for (uint64_t g = 0; g < groups; ++g) {
    const uint64_t first = (order == 1 ? groups - 1 - g : g) * kGroup;
    for (const int k : chosen_order(static_cast<int>(std::min(kGroup, count - first)), count)) {
      const uint64_t index = first + static_cast<uint64_t>(k);
      running.index = {static_cast<unsigned>(index % run.grid.x),
                       static_cast<unsigned>(index / run.grid.x % run.grid.y),
                       static_cast<unsigned>(index / run.grid.x / run.grid.y)};
      run_block();
      // After a race, the rest is run for further findings; after a bad address it is not.
      if (running.result != CUDA_SUCCESS && running.is_stopped) return;
    }
  }
}

}  // namespace

Launch made_launch(Function& function, Sizes grid, Sizes block, size_t dynamic_shared,
                   void** parameters, void** extra) {
  check_limits(function, grid, block, dynamic_shared);
  Launch launch{&function, grid, block, dynamic_shared, {}};
  const EmulatedKernel& kernel = *function.kernel;
  if (parameters && extra) throw Failure{CUDA_ERROR_INVALID_VALUE};
  if (extra) {
    launch.parameters = unpacked(kernel, extra);
    return launch;
  }
  if (kernel.parameters && !parameters) throw Failure{CUDA_ERROR_INVALID_VALUE};
  for (int k = 0; k < kernel.parameters; ++k) {
    const char* const bytes = static_cast<const char*>(parameters[k]);
    if (!bytes) throw Failure{CUDA_ERROR_INVALID_VALUE};
    launch.parameters.emplace_back(bytes, bytes + kernel.sizes[k]);
  }
  return launch;
}

CUresult run_launch(const Launch& launch) {
  if (!state().functions.count(launch.function)) {
    note_finding("a graph launches a kernel of a module that was unloaded");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  std::vector<std::vector<char>> copies = launch.parameters;
  std::vector<void*> pointers;
  for (auto& copy : copies) {
    translate_addresses(copy);
    pointers.push_back(copy.data());
  }
  const Module& module = *launch.function->module;
  KernelRun run;
  run.kernel = launch.function->kernel;
  run.parameters = pointers.data();
  run.grid = launch.grid;
  run.block = launch.block;
  run.dynamic_shared = launch.dynamic_shared;
  run.device = module.device;
  run.image = module.path;
  run.image_begin = module.begin;
  run.image_end = module.end;
  prepare(run);
  run_blocks(run);
  running.checks = false;
  return running.result;
}

}  // namespace emulator
