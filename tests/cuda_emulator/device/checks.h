// The checks of memory accesses of kernels, and how findings of a launch are reported.
#pragma once

#include <string>

#include "tests/cuda_emulator/abi/cuda.h"
#include "tests/cuda_emulator/device/block.h"
#include "tests/cuda_emulator/device/shadow.h"

namespace emulator {

// Reports a finding of the kernel that runs; each kind once for a place in the code. The launch
// ends with `result`.
void report(const char* kind, const std::string& text, const void* code, CUresult result);
void forget_reported();

// Checks an access of the thread that runs. A bad address stops the kernel.
void check_access(void* address, size_t bytes, AccessKind kind, const void* code);
void check_alignment(void* address, size_t alignment, const void* code);

// The state of shared memory at the start of a block: nothing written, a pattern in all bytes.
void clear_shared();

// Host memory that kernels may access: what was allocated or registered for copies.
void add_mapped_host(char* address, size_t bytes);
void remove_mapped_host(char* address);
bool is_mapped_host(const void* address, size_t bytes);

}  // namespace emulator
