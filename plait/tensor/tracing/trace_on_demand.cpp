// Traces whose values are computed when they are read: of what was recorded, only the instructions
// that they need.
#include <algorithm>
#include <set>
#include <utility>

#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {

// Also if it may fail: then host code that follows must not run.
bool Trace::has_effects(const ir::Instruction& instruction) const {
  const ir::Primitive& primitive = instruction.primitive();
  const bool is_size = primitive.structure == ir::Structure::as_size;
  if (is_size || ir::is_guard(instruction)) return false;  // its outcome is known
  if (primitive.effects != nullptr && !primitive.effects(instruction).pure()) return true;
  return !std::ranges::all_of(instruction.callees(), [&](const ir::Callee& callee) {
    return program_->is_pure(callee.name);
  });
}

// The instructions that some values need, with those before them that have effects, if one of them
// has.
class Trace::Slice {
 public:
  explicit Slice(const Trace& trace) : trace_(trace), function_(trace.builder_->so_far()) {}

  void add_all_effects() {
    std::vector<ir::ValueId> waiting;
    for (uint32_t i = trace_.effects_until_; i < function_.size(); ++i) {
      if (trace_.has_effects(function_.instruction(i))) add(i, waiting);
    }
    add(std::move(waiting));
  }

  void add(std::vector<ir::ValueId> waiting) {
    while (!waiting.empty()) {
      const ir::ValueId value = waiting.back();
      waiting.pop_back();
      if (is_known(value)) {
        known_.insert(value);
      } else {
        add(function_.definition(value)->index(), waiting);
      }
    }
  }

  // Ascending.
  const std::set<uint32_t>& instructions() const { return instructions_; }
  // Makes parameters of the values that are known, and returns these.
  std::vector<Tensor> declare_known(ir::FunctionBuilder& part, ir::Copier& copier) const {
    std::vector<Tensor> values;
    for (const ir::ValueId known : known_) {
      const Tensor* const capture = trace_.captures_.find_tensor(known);
      values.push_back(capture != nullptr ? underived(Trace::actual(*capture))
                                          : *trace_.pending_.find_computed(known));
      copier.set(known, part.parameter(values.back().type()));
    }
    return values;
  }
  // One after the last instruction with effects.
  uint32_t effects_until() const { return effects_until_; }

 private:
  bool is_known(ir::ValueId value) const {
    return trace_.pending_.find_computed(value) || trace_.captures_.find_tensor(value) != nullptr;
  }

  void add(uint32_t index, std::vector<ir::ValueId>& waiting) {
    if (!instructions_.insert(index).second) return;
    const ir::Instruction instruction = function_.instruction(index);
    for (const ir::ValueId operand : instruction.operands()) waiting.push_back(operand);
    if (index < effects_until_ || !trace_.has_effects(instruction)) return;
    for (uint32_t i = std::exchange(effects_until_, index + 1); i < index; ++i) {
      if (trace_.has_effects(function_.instruction(i))) add(i, waiting);
    }
  }

  const Trace& trace_;
  const ir::Function& function_;
  std::set<uint32_t> instructions_;
  std::set<ir::ValueId> known_;
  uint32_t effects_until_ = trace_.effects_until_;
};

void Trace::compute_on_read(ir::ValueId value) {
  Slice slice(*this);
  slice.add({value});
  slice.add_all_effects();  // they come before what host code does with the value
  compute(slice);
}

void Trace::compute(const Slice& slice) {
  const ir::Function& function = builder_->so_far();
  ir::FunctionBuilder part = program_->builder().function(free_name("part"));
  part.set_location(function.location());
  ir::Copier copier(function, part);
  for (const auto& [symbol, number] : sizes_.numbers()) copier.set_size(symbol, Dim(number));
  const std::vector<Tensor> operands = slice.declare_known(part, copier);
  std::vector<ir::ValueId> wanted;
  std::vector<std::shared_ptr<Tensor>> places;
  std::vector<ir::Type> types;
  for (const uint32_t index : slice.instructions()) {
    const ir::Instruction instruction = function.instruction(index);
    copier.copy(instruction);
    for (size_t i = 0; i < instruction.result_count(); ++i) {
      const ir::ValueId result = instruction.result(i);
      if (has_effects(instruction)) pending_.hold(result);
      auto place = pending_.find(result);
      if (!place) continue;
      wanted.push_back(copier.value(result));
      places.push_back(std::move(place));
      types.push_back(function.type_of(result));
    }
  }
  const ir::Program program = program_->with_entry(part.finish(wanted));
  const Instead alone(nullptr);
  const LevelPause::Break followed(levels_.pause());
  effects_until_ = slice.effects_until();
  std::vector<Tensor> results = companion_->run(program, operands);
  sizes_.learn(types, results);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
}

void Trace::compute_referenced(std::span<const Tensor> except) {
  std::vector<ir::ValueId> missing = pending_.missing();
  for (const Tensor& tensor : except) {
    if (tensor && tensor.is_traced()) std::erase(missing, tensor.traced().value);
  }
  if (missing.empty()) return;
  Slice slice(*this);
  slice.add(std::move(missing));
  compute(slice);
}

void Trace::compute_effects() {
  Slice slice(*this);
  slice.add_all_effects();
  if (!slice.instructions().empty()) compute(slice);
}

}  // namespace plait
