// Indexing within planes on the device (ops/neural/window.h).
#pragma once

#include <cstdint>
#include <string>

#include "plait/tensor/kernels.h"

namespace plait::cuda {

// Index −1 reads a zero, and drops what is put there; an index out of range is noted.
void run_plane_take(KernelCall& call, const void*);
// Adds by scatter_add, in an order that depends on the indices only.
void run_plane_put(KernelCall& call, const void*);

// Kernel plane_take, for elements of so many bytes; kernel check_planes, which notes bad indices.
std::string plane_take_text(int64_t element_bytes, bool narrow);
std::string check_planes_text();

}  // namespace plait::cuda
