// A call as a program of one rank: transfers, and what is done with the bytes between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/comm/inside/calls/collective_call.h"

namespace plait::dist {

enum class WireStepKind : uint8_t { send, receive, wait, reduce, copy };

struct WireStep {
  WireStepKind kind = WireStepKind::wait;
  int rank = 0;      // the other side
  int64_t size = 0;  // bytes; elements of a reduction
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  size_t transfer = 0;  // which one to wait for, counted from 0 in the order of the program
  std::vector<const std::byte*> parts = {};  // operands of a reduction, by rank
};

// Steps run in order. Transfers are begun, and go on beside the steps that follow.
struct WireProgram {
  std::vector<WireStep> steps;
  std::shared_ptr<std::byte[]> scratch;
};

// Reductions add in the order of the ranks. Each rank sends 2 (size - 1) / size of the bytes of a
// long all_reduce.
WireProgram wire_program_of(const Call& call, int rank, int size);

}  // namespace plait::dist
