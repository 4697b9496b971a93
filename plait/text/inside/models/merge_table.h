// The merges of BPE: for a pair of tokens, the token that they become, and how early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::text {

class MergeTable {
 public:
  static constexpr uint32_t kNever = UINT32_MAX;
  struct Merge {
    uint32_t rank = kNever;  // merges of a lower rank are done first
    uint32_t id = 0;
  };

  explicit MergeTable(size_t merges = 0) {
    size_t slots = 16;
    while (slots < 2 * merges) slots *= 2;
    slots_.resize(slots);
  }

  // A pair that is added again takes the last merge. At most as many are added as announced.
  void add(uint32_t left, uint32_t right, Merge merge) {
    Slot& slot = slots_[place_of(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  Merge find(uint32_t left, uint32_t right) const {
    return slots_[place_of(key_of(left, right))].merge;
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;  // not a pair: ids are below 2^31
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };

  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  size_t place_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    size_t place = hash & mask;
    while (slots_[place].key != key && slots_[place].key != kEmpty) place = (place + 1) & mask;
    return place;
  }

  std::vector<Slot> slots_;
};

}  // namespace plait::text
