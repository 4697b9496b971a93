// Instruction set level of the kernels in this process.
#pragma once

#include <cstdint>

#include "plait/core/settings.h"

namespace plait {

enum class CpuLevel : uint8_t { best, sse4, avx2, avx512 };

namespace setting {
extern Setting<CpuLevel> kCpu;
}

inline constexpr int kCpuLevelCount = 3;  // sse4, avx2, avx512

// The most capable level of this machine; never `best`. Throws DeviceError if there is none.
CpuLevel best_cpu_level();

// The level in use: the best one, unless the setting `cpu` caps it. Never `best`.
CpuLevel cpu_level();

}  // namespace plait
