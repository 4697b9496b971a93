// A function whose instructions become steps: the register of each value, and its sizes as sizes of
// the planned function.
#pragma once

#include <span>
#include <vector>

#include "plait/compile/inside/plans/step_writer.h"

namespace plait::compile {

class PlannedBody {
 public:
  // `index` is the function in the program, `name` in Plan::names.
  PlannedBody(const ir::Function& function, uint32_t index, uint32_t name,
              std::span<const Register> arguments);

  uint32_t index() const { return index_; }

  // Sizes of the function. Those without another name in the plan keep theirs.
  void set_size(Dim symbol, Dim size) { sizes_.set(symbol, size); }
  Dim size(Dim dim) const { return sizes_.empty() ? dim : dim.substitute(sizes_); }
  ir::Type type(const ir::Type& type) const {
    return sizes_.empty() ? type : type.substitute(sizes_);
  }
  SizeFact fact(const SizeFact& fact) const { return fact.substitute(sizes_); }
  ir::Attributes attributes(const ir::Instruction& instruction) const;
  std::vector<ir::Type> result_types(const ir::Instruction& instruction) const;
  std::vector<Dim> callee_sizes(const ir::Instruction& instruction, size_t callee) const;
  // New symbols in the plan for the data-dependent sizes of an instruction.
  std::vector<Dim> define_sizes(const ir::Instruction& instruction, StepWriter& writer);

  // Registers.
  std::vector<Register> operands_of(const ir::Instruction& instruction) const;
  std::vector<Register> new_results(const ir::Instruction& instruction, StepWriter& writer);
  void set_results(const ir::Instruction& instruction, std::span<const Register> results);
  Register register_of(ir::ValueId value) const { return registers_[value]; }

  // A step for the instruction, or for a part of what it does.
  Step step(const ir::Instruction& instruction, Step::Kind kind) const;

 private:
  const uint32_t index_, name_;
  std::vector<Register> registers_;
  SymbolMap<Dim> sizes_;
};

// Results of a body for its caller.
struct BodyResults {
  std::vector<Register> values;
  std::vector<Dim> sizes;
};

// The sizes of a function by the names of its size parameters.
SymbolMap<Dim> named_sizes(const ir::Signature& signature, std::span<const Dim> sizes);

}  // namespace plait::compile
