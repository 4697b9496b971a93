// Dispatch of structural instructions, calls and branches.
#include "plait/ir/inside/evaluation/evaluation.h"
#include "plait/ir/structure.h"

namespace plait::ir {

bool Evaluation::start(const Instruction& instruction) {
  switch (instruction.primitive().structure) {
    case Structure::machine: run_machine(instruction); return true;
    case Structure::literal:
      results.push_back(machine_.literal(instruction.attributes_as<LiteralAttributes>().value));
      return true;
    case Structure::size: give_size(instruction); return true;
    case Structure::as_size: take_as_size(instruction); return true;
    case Structure::refine: refine(instruction); return true;
    case Structure::size_guard: check_size_guard(instruction); return true;
    case Structure::guard: check_guard(instruction); return true;
    case Structure::vary: results.push_back(std::move(operands_[0])); return true;
    case Structure::tuple: results.push_back(Value::aggregate(std::move(operands_))); return true;
    case Structure::element: take_element(instruction); return true;
    case Structure::pack: pack(instruction); return true;
    case Structure::unpack: unpack(); return true;
    case Structure::absent: results.push_back(Value::absent()); return true;
    case Structure::present:
      results.push_back(Value::present(std::move(operands_[0])));
      return true;
    case Structure::is_present: test_presence(); return true;
    case Structure::unwrap: results.push_back(std::move(operands_[0]).unwrapped()); return true;
    case Structure::call:
    case Structure::fused:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: enter_callee(instruction, 0, 0); return false;
    case Structure::cond:
    case Structure::switch_: enter_branch(instruction); return false;
    case Structure::while_: return begin(make_while_loop(loop_start(instruction)));
    case Structure::scan: return begin(make_scan_loop(loop_start(instruction), *this));
    case Structure::unwind: return begin(make_unwind_loop(loop_start(instruction)));
  }
  throw CompileError("{}: not a structure that can be evaluated", instruction.primitive().name);
}

void Evaluation::enter_callee(const Instruction& instruction, size_t callee, size_t first_operand) {
  uint32_t function = program_.callees_of(frames_.back().function, instruction)[callee];
  enter(function, sizes(instruction.callees()[callee].sizes),
        std::span(operands_).subspan(first_operand));
}

void Evaluation::enter_branch(const Instruction& instruction) {
  if (instruction.primitive().structure == Structure::cond) {
    enter_callee(instruction, machine_.to_boolean(operands_[0]) ? 0 : 1, 1);
    return;
  }
  int64_t index = machine_.to_integer(operands_[0]);
  size_t count = instruction.callees().size();
  if (index < 0 || index >= static_cast<int64_t>(count)) {
    throw IndexError("switch: index {} is out of range for {} functions", index, count);
  }
  enter_callee(instruction, static_cast<size_t>(index), 1);
}

LoopStart Evaluation::loop_start(const Instruction& instruction) {
  return {.instruction = instruction,
          .callees = program_.callees_of(frames_.back().function, instruction),
          .sizes = sizes(instruction.callees()[0].sizes),
          .operands = operands_};
}

bool Evaluation::begin(std::unique_ptr<Loop> loop) {
  Loop& begun = *loop;
  frames_.back().loop = std::move(loop);
  return begun.advance(*this);
}

}  // namespace plait::ir
