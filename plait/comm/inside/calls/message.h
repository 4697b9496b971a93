// A message from one rank of a group to another, as either of them calls it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/core/location.h"
#include "plait/core/numbers/dtype.h"

namespace plait::dist {

inline constexpr int kAnyRank = -1;

struct Message {
  bool is_sent = true;  // else it is received
  int peer = kAnyRank;  // kAnyRank: whoever sends first
  int tag = 0;          // messages of other tags are left for other calls
  DType dtype = DType::f32;
  int64_t count = 0;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::shared_ptr<const void> keeps = {};         // owns the buffer
  std::shared_ptr<std::atomic<int>> source = {};  // set to the rank that has sent it
  Location where = {};
};

}  // namespace plait::dist
