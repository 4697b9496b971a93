// Decomposes operations on rows (softmax, normalisation, sums of squares) and concatenations into
// primitives that kernels can compute, by their rules (Rules::decomposition).
#include <algorithm>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/rules.h"

namespace plait::compile {
namespace {

using ir::Instruction;

bool is_decomposable(const Instruction& instruction, const Target& target) {
  const Rules* const rules = find_rules(instruction.primitive());
  return rules != nullptr && rules->decomposition != nullptr &&
         target.holds(instruction.operand_type(0).dtype());
}

// An instruction that only moves elements is a plain copy, unless a kernel reads the result.
bool is_worth_it(const Instruction& instruction, std::span<const Instruction> users,
                 const Target& target) {
  if (&instruction.primitive() != &concat_primitive()) return true;
  return std::ranges::any_of(users, [&](const Instruction& user) {
    const Role role = role_of(user);
    return role == Role::pointwise || role == Role::reduction || is_decomposable(user, target);
  });
}

// The decomposition as a function of the operands; null if it does not pay.
std::shared_ptr<const ir::Function> decomposition_of(const Instruction& instruction) {
  Trace trace("decomposition", Trace::apart);
  std::vector<Tensor> operands;
  std::vector<OperandType> types;
  for (size_t i = 0; i < instruction.operands().size(); ++i) {
    operands.push_back(trace.parameter(instruction.operand_type(i)));
    types.emplace_back(operands.back());
  }
  const Rules& rules = *find_rules(instruction.primitive());
  const std::vector<Tensor> results =
      rules.decomposition({instruction.attributes(), operands, {}, types});
  return results.empty() ? nullptr : trace.finish(results).function;
}

void splice(const ir::Function& parts, const Instruction& instruction, ir::Copier& outer,
            ir::FunctionBuilder& builder) {
  ir::Copier copier(parts, builder);
  for (ir::ValueId i = 0; i < instruction.operands().size(); ++i) {
    copier.set(i, outer.value(instruction.operands()[i]));
  }
  for (const Instruction part : parts.instructions()) {
    ir::Draft draft = copier.draft(part);
    draft.location = instruction.location();
    copier.set_results(part, copier.add(draft));
  }
  outer.set_results(instruction, {copier.values(parts.results()), {}});
}

std::shared_ptr<const ir::Function> expanded_function(const ir::Function& function,
                                                      const ir::Declarations& declarations,
                                                      const Target& target) {
  std::vector<std::vector<Instruction>> users(function.value_count());
  for (const Instruction instruction : function.instructions()) {
    for (const ir::ValueId operand : instruction.operands()) users[operand].push_back(instruction);
  }
  bool is_changed = false;
  ir::FunctionBuilder builder(function.name(), declarations);
  ir::Copier copier(function, builder);
  copier.begin();
  for (const Instruction instruction : function.instructions()) {
    const bool is_expanded = is_decomposable(instruction, target) &&
                             is_worth_it(instruction, users[instruction.result()], target);
    const auto parts = is_expanded ? decomposition_of(instruction) : nullptr;
    if (parts == nullptr) {
      copier.copy(instruction);
      continue;
    }
    splice(*parts, instruction, copier, builder);
    is_changed = true;
  }
  return is_changed ? copier.finish() : nullptr;
}

// permute(round(weights)) becomes round(permute(weights)), so that a product can round them while
// it packs them.
std::optional<ir::Replacement> permute_before_rounding(const ir::Candidate& c) {
  const auto rounding = c.definition(0);
  if (!rounding || !is_rounding(*rounding)) return std::nullopt;
  const ir::ValueId weights = rounding->operands()[0];
  if (c.function.definition(weights)) return std::nullopt;
  ir::Replacement replacement;
  const auto turned =
      replacement.add(*c.instruction.primitive, {weights}, c.instruction.attributes);
  replacement.give({replacement.add(rounding->primitive(), {turned}, rounding->attributes())});
  return replacement;
}

}  // namespace

ir::Program expanded(const ir::Program& given, const Target* target) {
  if (target == nullptr) return given;
  const ir::Program program =
      ir::prune(ir::Rewriter({{"permuted before it is rounded", &permute_primitive(),
                               permute_before_rounding}})
                    .rewrite(given));
  const ir::Declarations declarations = ir::declarations_of(program);
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end());
  for (auto& function : functions) {
    if (auto whole = expanded_function(*function, declarations, *target))
      function = std::move(whole);
  }
  return ir::Program::of(std::move(functions),
                         {program.records().begin(), program.records().end()});
}

}  // namespace plait::compile
