// An operation among the ranks of a group, as one rank calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plait/comm/reduce_op.h"
#include "plait/core/location.h"
#include "plait/core/numbers/dtype.h"

namespace plait::dist {

enum class CallKind : uint8_t {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  gather,
  scatter,
  all_gather,
  reduce_scatter,
  all_to_all,
  new_group,  // a barrier at which ranks agree on the ranks of a new group
};

std::string_view name_of(CallKind kind);

// Buffers are contiguous, and distinct. Parts are those of the ranks, in their order.
struct Call {
  CallKind kind = CallKind::barrier;
  ReduceOp reduction = ReduceOp::sum;
  DType dtype = DType::f32;
  int root = -1;  // for broadcast, reduce, gather and scatter
  // Elements of one part: of the whole buffer where it has no parts.
  int64_t count = 0;
  // Elements of each part where they differ: those of the result of all_gather and gather, those of
  // the operand of scatter and reduce_scatter, the same on all ranks.
  std::vector<int64_t> counts = {};
  std::vector<int> ranks = {};  // those of a new group
  // For all_to_all: elements for each rank, and from each.
  std::vector<int64_t> send_counts = {}, receive_counts = {};
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::shared_ptr<const void> keeps = {};  // owns the buffers
  bool moves_nothing = false;              // ranks only compare it: the data goes another way
  Location where = {};

  int64_t count_of(int rank) const {
    return counts.empty() ? count : counts[static_cast<size_t>(rank)];
  }
};

// The part of a call that all ranks must agree on.
struct CallSummary {
  CallKind kind = CallKind::barrier;
  ReduceOp reduction = ReduceOp::sum;
  DType dtype = DType::f32;
  int32_t root = -1;
  int64_t count = 0;
  uint64_t counts = 0;  // a hash of all counts; 0 without them

  friend bool operator==(const CallSummary&, const CallSummary&) = default;
};

CallSummary summary_of(const Call& call);
uint64_t fingerprint_of(const CallSummary& summary);
// "all_reduce(sum) of f32[4]", "broadcast from rank 1 of f32[4]"
std::string text_of(const CallSummary& summary);
std::string text_of(const Call& call);  // "all_reduce(sum) of f32[4] at train.py:12"

}  // namespace plait::dist
