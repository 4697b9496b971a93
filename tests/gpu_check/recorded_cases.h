// Programs with operands, as record_cases.py writes them, run on a GPU and on the CPU.
#pragma once

#include <cstdint>
#include <string>

namespace plait::gpu_check {

struct Replayed {
  int64_t cases = 0, failures = 0;
  int64_t mixed = 0;  // recorded on the CPU with arrays of constants, which do not meet a device
};

// Prints each case that differs, or fails, before the next one runs. Starts with the case number
// `first`. An error after which the device is lost is thrown, once "lost at N" was printed.
Replayed replay(const std::string& file, int64_t first);

}  // namespace plait::gpu_check
