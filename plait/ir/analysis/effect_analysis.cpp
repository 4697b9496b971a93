#include "plait/ir/analysis/effect_analysis.h"

#include "plait/ir/primitive.h"

namespace plait::ir {
namespace {

// A use of a function: its caller, and the axes that decide whether it runs.
struct Use {
  uint32_t caller;
  AxisSet deciding;
};

// The uses of each function; consecutive equal uses count once.
std::vector<std::vector<Use>> uses_of_functions(const Program& program) {
  std::vector<std::vector<Use>> uses(program.functions().size());
  for (uint32_t caller = 0; caller < uses.size(); ++caller) {
    for_each_callee(program, caller,
                    [&](const Instruction& instruction, size_t i, uint32_t callee) {
                      if (i >= running_callee_count(instruction)) return;
                      Use use{caller, deciding_axes(program, caller, instruction)};
                      std::vector<Use>& known = uses[callee];
                      if (!known.empty() && known.back().caller == caller &&
                          known.back().deciding == use.deciding)
                        return;
                      known.push_back(std::move(use));
                    });
  }
  return uses;
}

}  // namespace

size_t running_callee_count(const Instruction& instruction) {
  switch (instruction.primitive().structure) {
    case Structure::custom_vjp:
    case Structure::custom_jvp: return 1;
    case Structure::machine:
    case Structure::literal:
    case Structure::size:
    case Structure::as_size:
    case Structure::refine:
    case Structure::size_guard:
    case Structure::guard:
    case Structure::vary:
    case Structure::tuple:
    case Structure::element:
    case Structure::pack:
    case Structure::unpack:
    case Structure::absent:
    case Structure::present:
    case Structure::is_present:
    case Structure::unwrap:
    case Structure::call:
    case Structure::fused:
    case Structure::cond:
    case Structure::switch_:
    case Structure::while_:
    case Structure::scan:
    case Structure::unwind:
    case Structure::pull:
    case Structure::remat: break;
  }
  return instruction.callees().size();
}

bool is_guard(const Instruction& instruction) {
  Structure structure = instruction.primitive().structure;
  return structure == Structure::guard || structure == Structure::size_guard;
}

AxisSet deciding_axes(const Program& program, size_t function, const Instruction& instruction) {
  switch (instruction.primitive().structure) {
    case Structure::cond:
    case Structure::switch_: return instruction.operand_type(0).all_varying();
    case Structure::while_: {
      size_t test = program.callees_of(function, instruction)[0];
      return program.function(test).signature().results.at(0).all_varying();
    }
    case Structure::machine:
    case Structure::literal:
    case Structure::size:
    case Structure::as_size:
    case Structure::refine:
    case Structure::size_guard:
    case Structure::guard:
    case Structure::vary:
    case Structure::tuple:
    case Structure::element:
    case Structure::pack:
    case Structure::unpack:
    case Structure::absent:
    case Structure::present:
    case Structure::is_present:
    case Structure::unwrap:
    case Structure::call:
    case Structure::fused:
    case Structure::scan:
    case Structure::unwind:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: break;
  }
  return {};
}

EffectAnalysis::EffectAnalysis(const Program& program)
    : program_(program), summaries_(program.functions().size()) {
  for (size_t function = 0; function < summaries_.size(); ++function)
    for (Instruction instruction : program_.function(function).instructions())
      include(summaries_[function], own(instruction), {});
  solve(CallGraph(program_));
}

EffectAnalysis::Summary EffectAnalysis::own(const Instruction& instruction) {
  Summary summary;
  const Primitive& primitive = instruction.primitive();
  if (primitive.effects) summary.effects = primitive.effects(instruction);
  summary.has_guard = is_guard(instruction);
  return summary;
}

void EffectAnalysis::include(Summary& caller, const Summary& callee, const AxisSet& deciding) {
  caller.effects.include(callee.effects);
  caller.has_guard |= callee.has_guard;
  if (callee.has_guard) caller.effects.guarded.insert(deciding);
}

// Worklist algorithm: changes of a function's summary are propagated to its callers until nothing
// changes. A summary can only grow, one bit or axis at a time, so each use is processed a bounded
// number of times.
void EffectAnalysis::solve(const CallGraph& graph) {
  std::vector<std::vector<Use>> uses = uses_of_functions(program_);
  std::vector<uint32_t> changed;
  std::vector<bool> waiting(summaries_.size(), true);
  for (size_t i = graph.component_count(); i-- > 0;)  // so that callees come first
    for (uint32_t function : graph.component(i)) changed.push_back(function);
  while (!changed.empty()) {
    uint32_t callee = changed.back();
    changed.pop_back();
    waiting[callee] = false;
    for (const Use& use : uses[callee]) {
      Summary before = summaries_[use.caller];
      include(summaries_[use.caller], summaries_[callee], use.deciding);
      if (summaries_[use.caller] == before || waiting[use.caller]) continue;
      waiting[use.caller] = true;
      changed.push_back(use.caller);
    }
  }
}

Effects EffectAnalysis::of(size_t function, const Instruction& instruction) const {
  Summary summary = own(instruction);
  if (instruction.callees().empty()) return std::move(summary.effects);
  AxisSet deciding = deciding_axes(program_, function, instruction);
  std::span<const uint32_t> callees = program_.callees_of(function, instruction);
  for (size_t i = 0; i < running_callee_count(instruction); ++i)
    include(summary, summaries_[callees[i]], deciding);
  return std::move(summary.effects);
}

}  // namespace plait::ir
