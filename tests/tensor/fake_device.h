// Devices "cuda:0" and "cuda:1" for tests of what all devices share. They have no kernels, so the
// host computes for them. Their memory is the host's under addresses at which any access faults.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/device_memory.h"

namespace plait {

// Registers them, once.
void use_fake_devices();

// The bytes that an address on a fake device stands for.
std::byte* fake_device_bytes(std::byte* data);

// The next allocations beyond this many bytes in all fail; -1 for none.
void limit_fake_devices(int64_t bytes);

}  // namespace plait
