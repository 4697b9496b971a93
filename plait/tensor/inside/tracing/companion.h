// Executes recorded instructions while a trace is open, so that traced tensors have values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

// A sequence of recorded instructions as a program, with its inputs.
struct TracedPiece {
  ir::Program program;
  std::vector<Tensor> operands;   // concrete
  std::vector<bool> is_constant;  // true for an operand that host code put in as a number
};

// When recorded instructions are executed.
enum class Execution : uint8_t {
  eagerly,    // each instruction as soon as it is recorded
  in_pieces,  // many together, when a result is read; then the next piece begins. Instructions that
              // may fail or have visible effects are executed when they are recorded.
  on_demand,  // those that a value needs, when it is read; the record stays whole
};

class Companion {
 public:
  virtual ~Companion() = default;
  virtual Execution execution() const { return Execution::eagerly; }
  // Executes an instruction without callees, a program, or a piece. No trace is open meanwhile.
  // Sizes are numbers, except in a piece.
  virtual std::vector<Tensor> apply(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes) = 0;
  virtual std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) = 0;
  virtual std::vector<Tensor> run(const TracedPiece& piece) {
    return run(piece.program, piece.operands);
  }
  virtual void on_read(const Tensor&) {}  // host code reads the value
  // True if some parameter represents a tensor that this level follows.
  virtual bool has_parameter_of(const Level&) const { return false; }
  // A guard was recorded: the record is valid only for this outcome.
  virtual void on_guard(bool /*outcome*/, Location) {}
  // True if the caller handles other outcomes of this bool[]; then no guard is recorded.
  virtual bool handles_decision(const Tensor& /*truth*/, Location) { return false; }
};

}  // namespace plait
