// A call of a group on one host as rounds of steps: in each, a rank writes to its slot, waits for
// others, and reads theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "plait/comm/inside/calls/collective_call.h"

namespace plait::dist {

// Which ranks a step waits for.
inline constexpr int kEveryRank = -1, kNoRank = -2;

class Rounds {
 public:
  virtual ~Rounds() = default;

  // True if a line holds all that a rank writes.
  virtual bool is_short() const = 0;
  // May grow until the first round is over.
  virtual int64_t round_count() const = 0;
  virtual int step_count() const { return 1; }
  virtual int waits_for(int step) const = 0;  // a rank, kEveryRank or kNoRank
  virtual void write(int64_t round, int step, std::byte* slot) = 0;
  // Slots of all ranks; those that it does not wait for are not to be read.
  virtual void read(int64_t round, int step, std::span<std::byte* const> slots) = 0;
};

// `slot_bytes` is the size of a slot, the same on all ranks.
std::unique_ptr<Rounds> rounds_of(const Call& call, int rank, int size, size_t slot_bytes);

}  // namespace plait::dist
