// The ranges of a loop, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "plait/core/system/thread_team.h"

namespace plait {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

inline Ranges ranges_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace plait
