#include "plait/ir/rewriting/prune.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "plait/ir/analysis/verify.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::ir {
namespace {

// Goes backward through a function and marks the values and data-dependent sizes that are needed.
class Needs {
 public:
  explicit Needs(const Function& function)
      : needed_values_(function.value_count(), false), bears_sizes_(bears_sizes(function)) {
    need_values(function.results());
    need_sizes(function.result_sizes());
  }

  bool are_met_by(const Instruction& instruction) const {
    for (size_t i = 0; i < instruction.result_count(); ++i)
      if (needed_values_[instruction.result(i)]) return true;
    return std::ranges::any_of(instruction.size_results(),
                               [&](Dim size) { return needed_sizes_.contains(size); });
  }

  void add(const Instruction& instruction) {
    need_values(instruction.operands());
    if (!bears_sizes_) return;
    need_sizes(instruction.size_arguments());
    for (const Callee& callee : instruction.callees()) need_sizes(callee.sizes);
    instruction.attributes().for_each_dim([&](Dim size) { need_size(size); });
    for (const Type& type : instruction.result_types())
      type.for_each_dim([&](Dim size) { need_size(size); });
  }

 private:
  static bool bears_sizes(const Function& function) {
    for (Instruction instruction : function.instructions())
      if (!instruction.size_results().empty()) return true;
    return false;
  }
  void need_values(std::span<const ValueId> values) {
    for (ValueId value : values) needed_values_[value] = true;
  }
  void need_sizes(std::span<const Dim> sizes) {
    for (Dim size : sizes) need_size(size);
  }
  void need_size(Dim size) {
    if (size.is_number()) return;
    size.for_each_symbol([&](Dim symbol) { needed_sizes_.insert(symbol); });
  }

  std::vector<bool> needed_values_;
  std::unordered_set<Dim> needed_sizes_;
  bool bears_sizes_;
};

std::vector<bool> kept_instructions(const EffectAnalysis& effects, size_t index) {
  const Function& function = effects.program().function(index);
  Needs needs(function);
  std::vector<bool> kept(function.size());
  for (size_t i = function.size(); i-- > 0;) {
    Instruction instruction = function.instruction(i);
    kept[i] = needs.are_met_by(instruction) || !effects.of(index, instruction).removable();
    if (kept[i]) needs.add(instruction);
  }
  return kept;
}

std::shared_ptr<const Function> prune(const EffectAnalysis& effects, size_t index,
                                      const Declarations& declarations) {
  std::vector<bool> kept = kept_instructions(effects, index);
  const std::shared_ptr<const Function>& function = effects.program().functions()[index];
  if (std::ranges::find(kept, false) == kept.end()) return function;
  FunctionBuilder builder(function->name(), declarations);
  Copier copier(*function, builder);
  copier.begin();
  for (Instruction instruction : function->instructions())
    if (kept[instruction.index()]) copier.copy(instruction);
  return copier.finish();
}

}  // namespace

std::shared_ptr<const Function> prune(const EffectAnalysis& effects, size_t function) {
  return prune(effects, function, declarations_of(effects.program()));
}

Program prune(const Program& program) {
  if (program.empty()) return program;
  EffectAnalysis effects(program);
  Declarations declarations = declarations_of(program);
  std::vector<std::shared_ptr<const Function>> functions(program.functions().size());
  for (size_t i = 0; i < functions.size(); ++i) functions[i] = prune(effects, i, declarations);
  std::vector<RecordType> records(program.records().begin(), program.records().end());
  Program pruned = Program::of(std::move(functions), records);
  std::vector<std::shared_ptr<const Function>> reached;
  for (uint32_t i : CallGraph(pruned).reachable_from(0)) reached.push_back(pruned.functions()[i]);
  pruned = Program::of(std::move(reached), std::move(records));
  verify_pass(pruned, "prune");
  return pruned;
}

}  // namespace plait::ir
