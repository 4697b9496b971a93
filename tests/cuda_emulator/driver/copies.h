// Copies and fills, as work of streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda_emulator/driver/streams.h"

namespace emulator {

// One side of a copy: host memory, or an address of a device.
struct Place {
  char* host = nullptr;
  uint64_t device = 0;
  bool is_device() const { return host == nullptr; }
  Place plus(size_t bytes) const {
    return host ? Place{host + bytes, 0} : Place{nullptr, device + bytes};
  }
};

inline Place host_place(const void* address) {
  return {static_cast<char*>(const_cast<void*>(address)), 0};
}
inline Place device_place(uint64_t address) { return {nullptr, address}; }

// Refuses at the call what the driver refuses: addresses outside of every allocation.
void require_allocated(uint64_t address, size_t bytes);

// The bytes of a device, where all of them are allocated when the work runs; null, with a finding,
// else.
char* reachable_bytes(uint64_t address, size_t bytes, const char* user);
// Notes that a device's bytes were written, or asks whether they were.
void note_written(uint64_t address, size_t bytes);
bool are_written(uint64_t address, size_t bytes);

CUresult copy_bytes(Place to, Place from, size_t bytes);

}  // namespace emulator
