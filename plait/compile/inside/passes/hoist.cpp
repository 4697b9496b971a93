// Computes before a loop what is the same in all its rounds (loop-invariant code motion): products
// of constants of the loop, transposed and rounded weights. The body gets the values as further
// constants.
//
// What a kernel computes for nothing while it reads something else stays in the body: views,
// numbers, and elementwise results that are larger than what they are computed from.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/passes/loop_rewriter.h"
#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/compile/pass.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::Structure;
using ir::ValueId;

// More instructions than these are not computed again in each round.
constexpr size_t kMostRecomputed = 32;

size_t constants_of(const Instruction& loop) {
  if (loop.primitive().structure == Structure::while_) {
    return static_cast<size_t>(loop.attributes_as<ir::WhileAttributes>().constants);
  }
  return static_cast<size_t>(loop.attributes_as<ir::ScanAttributes>().constants);
}

ir::Attributes with_constants(const Instruction& loop, size_t constants) {
  if (loop.primitive().structure == Structure::while_) {
    return ir::Attributes::of(ir::WhileAttributes{static_cast<int64_t>(constants)});
  }
  ir::ScanAttributes attributes = loop.attributes_as<ir::ScanAttributes>();
  attributes.constants = static_cast<int64_t>(constants);
  return ir::Attributes::of(attributes);
}

// Values that a function of a loop computes of its constants alone.
class Invariants {
 public:
  Invariants(const ir::Function& function, size_t constants)
      : function_(function), roles_(function), is_invariant_(function.value_count()) {
    std::fill_n(is_invariant_.begin(), constants, true);
    for (const Instruction instruction : function.instructions()) visit(instruction);
    find_passed();
  }

  // The values that are computed before the loop, and that the function reads.
  const std::vector<ValueId>& passed() const { return passed_; }

  // Adds to the caller what the values need. The copier knows the parameters and sizes.
  void compute(ir::Copier& copier) const {
    std::vector<bool> is_needed(function_.value_count());
    for (const ValueId value : passed_) is_needed[value] = true;
    for (size_t i = function_.size(); i-- > 0;) {
      const Instruction instruction = function_.instruction(static_cast<uint32_t>(i));
      if (instruction.result_count() != 1 || !is_needed[instruction.result()]) continue;
      for (const ValueId operand : instruction.operands()) is_needed[operand] = true;
    }
    for (const Instruction instruction : function_.instructions()) {
      const bool copies = instruction.result_count() == 1 && is_needed[instruction.result()];
      if (copies) copier.copy(instruction);
    }
  }

 private:
  void visit(const Instruction& instruction) {
    const Structure structure = instruction.primitive().structure;
    const bool is_known = structure == Structure::machine || structure == Structure::literal ||
                          structure == Structure::size;
    if (!is_known || instruction.result_count() != 1 || !instruction.size_results().empty()) return;
    const auto& effects = instruction.primitive().effects;
    if (effects != nullptr && !effects(instruction).pure()) return;
    const auto operands = instruction.operands();
    if (!std::ranges::all_of(operands, [&](ValueId each) { return is_invariant_[each]; })) return;
    is_invariant_[instruction.result()] = true;
    if (is_worth(instruction)) hoisted_.insert(instruction.result());
  }

  bool is_worth(const Instruction& instruction) const {
    switch (roles_.of(instruction)) {
      case Role::number:
      case Role::view: return false;
      case Role::reduction:
      case Role::product:
      case Role::draw:
      case Role::other: return instruction.primitive().structure == Structure::machine;
      case Role::pointwise: break;
    }
    const auto bytes = bytes_of_sources(instruction);
    return !bytes || (*bytes > 0 && usual_bytes(instruction.result_types()[0]) <= *bytes);
  }

  // Bytes of the arrays that a kernel would read to compute it in the body; nothing if that takes
  // many instructions.
  std::optional<int64_t> bytes_of_sources(const Instruction& instruction) const {
    std::vector<ValueId> waiting(instruction.operands().begin(), instruction.operands().end());
    std::unordered_set<ValueId> seen;
    int64_t bytes = 0;
    while (!waiting.empty()) {
      const ValueId value = roles_.seen_through(waiting.back());
      waiting.pop_back();
      if (!seen.insert(value).second || roles_.is_number(value)) continue;
      if (seen.size() > kMostRecomputed) return std::nullopt;
      const auto definition = function_.definition(value);
      if (!definition || hoisted_.contains(value)) {
        bytes += usual_bytes(function_.type_of(value));
      } else {
        for (const ValueId operand : definition->operands()) waiting.push_back(operand);
      }
    }
    return bytes;
  }

  void find_passed() {
    std::vector<bool> is_read(function_.value_count());
    const auto read = [&](ValueId value) { is_read[value] = true; };
    for (const ValueId result : function_.results()) read(result);
    for (size_t i = function_.size(); i-- > 0;) {
      const Instruction instruction = function_.instruction(static_cast<uint32_t>(i));
      const bool is_hoisted =
          instruction.result_count() == 1 && hoisted_.contains(instruction.result());
      if (is_hoisted) continue;
      // A value that only hoisted ones read is not computed in the body any more.
      const bool is_dead = instruction.result_count() == 1 && is_invariant_[instruction.result()] &&
                           !is_read[instruction.result()];
      if (!is_dead) std::ranges::for_each(instruction.operands(), read);
    }
    for (const Instruction instruction : function_.instructions()) {
      if (instruction.result_count() != 1) continue;
      const ValueId value = instruction.result();
      if (hoisted_.contains(value) && is_read[value]) passed_.push_back(value);
    }
  }

  const ir::Function& function_;
  const Roles roles_;
  std::vector<bool> is_invariant_;  // by value
  std::unordered_set<ValueId> hoisted_;
  std::vector<ValueId> passed_;
};

class Hoisting final : public LoopRewriter {
 public:
  using LoopRewriter::LoopRewriter;

 private:
  struct Callee {
    FunctionPointer function;
    Invariants invariants;
    size_t first;  // the place of its values among the new constants
  };
  // The loop's functions, which get the same new constants.
  struct Loop {
    const Instruction& instruction;
    size_t constants;
    std::vector<Callee> callees = {};
    size_t added = 0;
  };

  bool rewrite(const Instruction& instruction, const Caller& caller) override {
    const std::optional<Loop> loop = analysed(instruction, caller);
    if (loop) add_before_and_within(*loop, caller);
    return loop.has_value();
  }

  // Nothing if no value is the same in all its rounds.
  std::optional<Loop> analysed(const Instruction& instruction, const Caller& caller) const {
    Loop loop{instruction, constants_of(instruction)};
    for (FunctionPointer& function : functions_of(caller.index, instruction)) {
      loop.callees.push_back({function, Invariants(*function, loop.constants), loop.added});
      loop.added += loop.callees.back().invariants.passed().size();
    }
    const auto callees = instruction.callees();
    const bool same_sizes = std::ranges::all_of(
        callees, [&](const ir::Callee& each) { return each.sizes == callees[0].sizes; });
    return loop.added > 0 && same_sizes ? std::optional(std::move(loop)) : std::nullopt;
  }

  void add_before_and_within(const Loop& loop, const Caller& caller) {
    ir::Draft draft = caller.copier.draft(loop.instruction);
    std::vector<ValueId> values;
    for (size_t i = 0; i < loop.callees.size(); ++i) {
      const Callee& callee = loop.callees[i];
      ir::Copier before(*callee.function, caller.builder);
      for (ValueId p = 0; p < loop.constants; ++p) before.set(p, draft.operands[p]);
      const auto& parameters = callee.function->signature().size_parameters;
      for (size_t s = 0; s < parameters.size(); ++s) {
        before.set_size(parameters[s], draft.callees[i].sizes[s]);
      }
      callee.invariants.compute(before);
      for (const ValueId value : callee.invariants.passed()) values.push_back(before.value(value));
      draft.callees[i].name = with_added_constants(loop, i);
    }
    draft.operands.insert(draft.operands.begin() + static_cast<std::ptrdiff_t>(loop.constants),
                          values.begin(), values.end());
    draft.attributes = with_constants(loop.instruction, loop.constants + loop.added);
    caller.copier.set_results(loop.instruction, caller.copier.add(draft));
  }

  // Returns the name of the loop's function that reads them.
  std::string with_added_constants(const Loop& loop, size_t which) {
    const ir::Function& function = *loop.callees[which].function;
    ir::Signature signature = function.signature();
    std::vector<std::string> labels = ir::parameter_labels(function);
    const auto place = static_cast<std::ptrdiff_t>(loop.constants);
    const std::vector<ir::Type> types = types_within(loop, function);
    signature.parameters.insert(signature.parameters.begin() + place, types.begin(), types.end());
    labels.insert(labels.begin() + place, loop.added, "");

    ir::FunctionBuilder builder = new_function(function, signature, labels);
    ir::Copier copier(function, builder);
    for (ValueId p = 0; p < function.parameter_count(); ++p) {
      copier.set(p, p < loop.constants ? p : p + static_cast<ValueId>(loop.added));
    }
    const std::vector<ValueId>& passed = loop.callees[which].invariants.passed();
    for (size_t i = 0; i < passed.size(); ++i) {
      copier.set(passed[i], static_cast<ValueId>(loop.constants + loop.callees[which].first + i));
    }
    for (const Instruction instruction : function.instructions()) {
      const bool is_passed = instruction.result_count() == 1 &&
                             std::ranges::find(passed, instruction.result()) != passed.end();
      if (!is_passed) copier.copy(instruction);
    }
    return finish(copier);
  }

  // Types of the new constants, in terms of the function's sizes.
  static std::vector<ir::Type> types_within(const Loop& loop, const ir::Function& function) {
    const std::vector<Dim>& to = function.signature().size_parameters;
    std::vector<ir::Type> types;
    for (const Callee& callee : loop.callees) {
      const std::vector<Dim>& from = callee.function->signature().size_parameters;
      SymbolMap<Dim> sizes;
      for (size_t i = 0; i < from.size(); ++i) sizes.set(from[i], to[i]);
      for (const ValueId value : callee.invariants.passed()) {
        types.push_back(callee.function->type_of(value).substitute(sizes));
      }
    }
    return types;
  }
};

}  // namespace

ir::Program hoisted(const ir::Program& program) { return Hoisting(program).run(); }

}  // namespace plait::compile
