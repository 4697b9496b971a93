// A message from one rank of a group to another, as either of them calls it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
  bool moves_nothing = false;              // ranks only compare it: the data goes another way
  std::shared_ptr<const void> keeps = {};  // owns the buffer
  std::shared_ptr<std::atomic<int>> source = {};  // set to the rank that has sent it
  Location where = {};

  int64_t bytes() const { return moves_nothing ? 0 : count * size_of(dtype); }
};

std::string type_text(DType dtype, int64_t count);  // "f32[4]"
std::string text_of(const Message& message);        // "send of f32[4] to rank 1 at train.py:12"

}  // namespace plait::dist
