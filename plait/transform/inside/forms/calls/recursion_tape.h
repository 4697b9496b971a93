// Reverse derivatives of recursive functions when no further derivative follows: what the backward
// pass needs is stored in a record, the tape.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/transform/inside/forms/calls/recursive_function.h"

namespace plait {

// Two functions, recorded together: `forward` also returns a tape, and `backward` takes it with the
// cotangents of the inexact results, and returns those of the wanted parameters. The tape of a call
// contains the tapes of the calls that it made.
class RecursionTape {
 public:
  RecursionTape(const RecursiveFunction& function, std::vector<bool> wanted)
      : function_(function), wanted_(std::move(wanted)) {}

  // Returns the results and the tape.
  std::vector<Tensor> forward(std::span<const Tensor> operands) const;
  std::vector<Tensor> backward(std::span<const Tensor> tape_and_cotangents) const;

 private:
  Derived forward_function() const;
  std::string backward_name() const;
  ir::Signature backward_signature() const;
  ir::Type type() const;
  std::vector<Tensor> record(std::span<const Tensor> operands) const;
  void record_backward(const StagedFunction& backward) const;

  const RecursiveFunction function_;
  const std::vector<bool> wanted_;
};

// The reverse derivative that a `pull` names, by a tape. `all`: operands and cotangents.
std::vector<Tensor> pull_by_tape(const RecursiveFunction& of, std::span<const int64_t> wanted,
                                 std::span<const Tensor> all);

}  // namespace plait
