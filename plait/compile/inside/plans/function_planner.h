// Plans one function: turns its instructions, with the bodies of branches and loops, into steps.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "plait/compile/inside/plans/plan_builder.h"

namespace plait::compile {

class FunctionPlanner {
 public:
  FunctionPlanner(PlanBuilder& plan, uint32_t index);
  PlannedFunction run();

 private:
  // A function whose instructions become steps here, with their registers and sizes in the plan.
  struct Body {
    uint32_t index;
    const ir::Function& function;
    std::vector<Register> registers;
    SymbolMap<Dim> sizes;

    Dim size(Dim dim) const { return sizes.empty() ? dim : dim.substitute(sizes); }
    ir::Type type(const ir::Type& type) const {
      return sizes.empty() ? type : type.substitute(sizes);
    }
  };
  struct Given {
    std::vector<Register> values;
    std::vector<Dim> sizes;
  };

  Given add_body(uint32_t index, std::span<const Register> arguments, std::span<const Dim> sizes);
  void add(Body& body, const ir::Instruction& instruction);
  void add_call(Body& body, const ir::Instruction& instruction);
  void add_kernel(Body& body, const ir::Instruction& instruction);
  void add_branches(Body& body, const ir::Instruction& instruction);
  void add_while(Body& body, const ir::Instruction& instruction);
  void add_scan(Body& body, const ir::Instruction& instruction);
  void add_unwind(Body& body, const ir::Instruction& instruction);

  // Inlines the callee's steps, or calls it if there would be too many.
  Given add_callee(Body& body, const ir::Instruction& instruction, size_t callee,
                   std::span<const Register> arguments, std::span<const Dim> sizes);
  Given call(uint32_t index, const std::vector<Register>& arguments, std::span<const Dim> sizes,
             const Step& like);

  Step step(const Body& body, const ir::Instruction& instruction, Step::Kind kind);
  uint32_t emit(Step step);
  uint32_t here() const { return static_cast<uint32_t>(planned_.steps.size()); }
  void move(const std::vector<Register>& from, const std::vector<Register>& to, Location location,
            bool is_loop_carry = false);
  // `leaving` is the step that exits the loop.
  void end_loop(PlannedFunction::Loop loop, uint32_t leaving);

  Register new_register(const ir::Type& type);
  std::vector<Register> new_registers(const Body& body, const ir::Instruction& instruction);
  std::vector<Register> operands_of(const Body& body, const ir::Instruction& instruction) const;
  std::vector<Dim> callee_sizes(const Body& body, const ir::Instruction& instruction,
                                size_t callee) const;
  // New symbols in the plan for the data-dependent sizes of an instruction.
  std::vector<Dim> define_sizes(Body& body, const ir::Instruction& instruction);
  Dim fresh(Dim symbol);
  void set_results(Body& body, const ir::Instruction& instruction,
                   std::span<const Register> results) const;

  PlanBuilder& plan_;
  const ir::Program& program_;
  const uint32_t index_;
  PlannedFunction planned_;
  std::vector<uint32_t> within_;  // the functions whose bodies are being added
  std::unordered_set<Dim> taken_;
};

}  // namespace plait::compile
