// Reduces memory: a cheap instruction whose results are larger than its operands moves down to its
// first use.
#include <algorithm>
#include <limits>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/pass.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::compile {
namespace {

using ir::Instruction;

class Scheduling {
 public:
  Scheduling(const ir::EffectAnalysis& effects, size_t index)
      : effects_(effects), index_(index), function_(effects.program().function(index)) {}

  std::shared_ptr<const ir::Function> run(const ir::Declarations& declarations) {
    find_first_uses();
    if (sinking_.empty()) return nullptr;
    ir::FunctionBuilder builder(function_.name(), declarations);
    ir::Copier copier(function_, builder);
    copier.begin();
    for (const Instruction instruction : function_.instructions()) {
      if (!is_sinking_[instruction.index()]) place(instruction, copier);
    }
    for (const uint32_t index : sinking_) {
      if (!copier.has(function_.instruction(index).result()))
        place(function_.instruction(index), copier);
    }
    return copier.finish();
  }

 private:
  // Numbers and views take no memory themselves, but a kernel that reads them from memory makes
  // them take it.
  bool is_cheap(const Instruction& instruction) const {
    const Role role = role_of(instruction);
    return (role == Role::number || role == Role::view) && effects_.of(index_, instruction).pure();
  }

  void find_first_uses() {
    is_sinking_.resize(function_.size());
    for (const Instruction instruction : function_.instructions()) {
      if (!is_cheap(instruction)) continue;
      is_sinking_[instruction.index()] = true;
      sinking_.push_back(instruction.index());
    }
  }

  // Places it after the held-back instructions that it needs.
  void place(const Instruction& instruction, ir::Copier& copier) const {
    std::vector<uint32_t> waiting{instruction.index()};
    while (!waiting.empty()) {
      const Instruction next = function_.instruction(waiting.back());
      bool is_ready = true;
      for (const ir::ValueId operand : next.operands()) {
        if (copier.has(operand)) continue;
        waiting.push_back(function_.definition(operand)->index());
        is_ready = false;
        break;
      }
      if (!is_ready) continue;
      if (next.result_count() == 0 || !copier.has(next.result())) copier.copy(next);
      waiting.pop_back();
    }
  }

  const ir::EffectAnalysis& effects_;
  const size_t index_;
  const ir::Function& function_;
  std::vector<bool> is_sinking_;
  std::vector<uint32_t> sinking_;
};

}  // namespace

ir::Program scheduled(const ir::Program& program) {
  const ir::EffectAnalysis effects(program);
  const ir::Declarations declarations = ir::declarations_of(program);
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end());
  for (size_t i = 0; i < functions.size(); ++i) {
    if (auto whole = Scheduling(effects, i).run(declarations)) functions[i] = std::move(whole);
  }
  return ir::Program::of(std::move(functions),
                         {program.records().begin(), program.records().end()});
}

}  // namespace plait::compile
