// Simplifies algebraically and merges common subexpressions. Results stay bitwise the same.
#include <algorithm>
#include <unordered_map>

#include "plait/compile/inside/passes/rewrite_rules.h"
#include "plait/compile/pass.h"
#include "plait/core/hash.h"
#include "plait/core/numbers/element.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using ir::Candidate;
using ir::Instruction;
using ir::Replacement;

std::optional<Replacement> replaced_by(ir::ValueId value) {
  Replacement replacement;
  replacement.give({value});
  return replacement;
}

// The instruction that defines an operand, if it is of that primitive.
std::optional<Instruction> operand_by(const Candidate& c, size_t operand,
                                      const ir::Primitive& primitive) {
  const auto definition = c.definition(operand);
  return definition && &definition->primitive() == &primitive ? definition : std::nullopt;
}

// The number, if the operand is the same number everywhere.
std::optional<Element> number_in(const Candidate& c, size_t operand) {
  auto definition = c.definition(operand);
  while (definition && &definition->primitive() == &broadcast_primitive()) {
    definition = c.function.definition(definition->operands()[0]);
  }
  if (!definition || definition->primitive().structure != ir::Structure::literal) return {};
  const Literal& value = definition->attributes_as<ir::LiteralAttributes>().value;
  if (value.element_count() != 1 && !value.is_splat()) return {};
  return load_element(value.dtype(), value.bytes().data());
}

// Real numbers only: a complex number times 1 may change the sign of a zero.
bool is_one(const Candidate& c, size_t operand) {
  const auto number = number_in(c, operand);
  if (!number || number->kind == DTypeKind::complex) return false;
  return number->kind == DTypeKind::integer ? number->integer == 1
                                            : number->number == std::complex<double>(1);
}

std::optional<Replacement> without_factor_one(const Candidate& c) {
  for (const size_t operand : {1, 0}) {
    if (is_one(c, operand)) return replaced_by(c.instruction.operands[1 - operand]);
  }
  return std::nullopt;
}

std::optional<Replacement> without_divisor_one(const Candidate& c) {
  if (!is_one(c, 1)) return std::nullopt;
  return replaced_by(c.instruction.operands[0]);
}

std::optional<Replacement> without_two_signs(const Candidate& c) {
  const auto inner = operand_by(c, 0, negative_primitive());
  return inner ? replaced_by(inner->operands()[0]) : std::nullopt;
}

// A view that is the identity.
std::optional<Replacement> without_identity_view(const Candidate& c) {
  const ir::Primitive& primitive = *c.instruction.primitive;
  const bool is_convert = &primitive == &convert_primitive();
  if (!primitive.index_map && !is_convert) return std::nullopt;
  const ir::Type& from = c.operand_type(0);
  if (!(c.result_types()[0] == from)) return std::nullopt;
  const bool moves_nothing = &primitive == &broadcast_primitive() ||
                             &primitive == &reshape_primitive() || is_convert ||
                             primitive.index_map == ir::identity_map;
  return moves_nothing ? replaced_by(c.instruction.operands[0]) : std::nullopt;
}

// reshape(reshape(x)), broadcast(broadcast(x)): the outer one alone.
std::optional<Replacement> without_inner(const Candidate& c) {
  const auto inner = operand_by(c, 0, *c.instruction.primitive);
  if (!inner) return std::nullopt;
  Replacement replacement;
  replacement.give({replacement.add(*c.instruction.primitive, {inner->operands()[0]},
                                    c.instruction.attributes)});
  return replacement;
}

// permute(permute(x)) is one permute, or x itself.
std::optional<Replacement> one_permute(const Candidate& c) {
  const auto inner = operand_by(c, 0, permute_primitive());
  if (!inner) return std::nullopt;
  const auto& first = inner->attributes_as<PermuteAttributes>().axes;
  const auto& second = c.instruction.attributes.as<PermuteAttributes>().axes;
  std::vector<int64_t> axes;
  for (const int64_t axis : second) axes.push_back(first[static_cast<size_t>(axis)]);
  if (std::ranges::is_sorted(axes)) return replaced_by(inner->operands()[0]);
  Replacement replacement;
  replacement.give({replacement.add(*c.instruction.primitive, {inner->operands()[0]},
                                    ir::Attributes::of(PermuteAttributes{std::move(axes)}))});
  return replacement;
}

}  // namespace

std::vector<ir::RewriteRule> simplifying_rules() {
  return {
      {"factor one", &multiply_primitive(), without_factor_one},
      {"divisor one", &divide_primitive(), without_divisor_one},
      {"two signs", &negative_primitive(), without_two_signs},
      {"identity view", nullptr, without_identity_view},
      {"reshape of reshape", &reshape_primitive(), without_inner},
      {"broadcast of broadcast", &broadcast_primitive(), without_inner},
      {"permute of permute", &permute_primitive(), one_permute},
  };
}

namespace {

// Common subexpression elimination, with a cheap hash.
class CommonParts {
 public:
  CommonParts(const ir::EffectAnalysis& effects, size_t index, const ir::Declarations& declarations)
      : effects_(effects),
        index_(index),
        function_(effects.program().function(index)),
        builder_(function_.name(), declarations),
        copier_(function_, builder_) {}

  std::shared_ptr<const ir::Function> merged() {
    copier_.begin();
    for (const Instruction instruction : function_.instructions()) add(instruction);
    return is_changed_ ? copier_.finish() : nullptr;
  }

 private:
  // Data-dependent sizes are distinct symbols even if they are equal.
  bool can_merge(const Instruction& instruction) const {
    const ir::Effects effects = effects_.of(index_, instruction);
    return !effects.observable && effects.collective.empty() &&
           instruction.size_results().empty() && instruction.result_count() > 0;
  }

  void add(const Instruction& instruction) {
    if (!can_merge(instruction)) return copier_.copy(instruction);
    const uint64_t key = hash_of(instruction);
    const auto [first, last] = earlier_.equal_range(key);
    for (auto i = first; i != last; ++i) {
      const Instruction other = function_.instruction(i->second);
      if (!have_same_type(instruction, other)) continue;
      for (size_t k = 0; k < instruction.result_count(); ++k) {
        copier_.set(instruction.result(k), copier_.value(other.result(k)));
      }
      is_changed_ = true;
      return;
    }
    earlier_.emplace(key, instruction.index());
    copier_.copy(instruction);
  }

  uint64_t hash_of(const Instruction& instruction) const {
    uint64_t hash = instruction.primitive().number;
    for (const ir::ValueId operand : instruction.operands()) {
      hash = hash_combine(hash, copier_.value(operand));
    }
    hash = hash_combine(hash, instruction.result_types()[0].hash());
    if (instruction.primitive().structure == ir::Structure::literal) {
      hash = hash_combine(hash,
                          instruction.attributes_as<ir::LiteralAttributes>().value.content_hash());
    }
    return hash;
  }

  bool have_same_type(const Instruction& a, const Instruction& b) const {
    const auto is_same_value = [&](ir::ValueId x, ir::ValueId y) {
      return copier_.value(x) == copier_.value(y);
    };
    return &a.primitive() == &b.primitive() && a.attributes() == b.attributes() &&
           std::ranges::equal(a.operands(), b.operands(), is_same_value) &&
           std::ranges::equal(a.callees(), b.callees()) &&
           std::ranges::equal(a.size_arguments(), b.size_arguments(), kSame) &&
           std::ranges::equal(a.result_types(), b.result_types());
  }

  const ir::EffectAnalysis& effects_;
  const size_t index_;
  const ir::Function& function_;
  ir::FunctionBuilder builder_;
  ir::Copier copier_;
  std::unordered_multimap<uint64_t, uint32_t> earlier_;
  bool is_changed_ = false;
};

ir::Program with_common_parts_merged(const ir::Program& program) {
  const ir::EffectAnalysis effects(program);
  const ir::Declarations declarations = ir::declarations_of(program);
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end());
  for (size_t i = 0; i < functions.size(); ++i) {
    if (auto merged = CommonParts(effects, i, declarations).merged()) functions[i] = merged;
  }
  return ir::Program::of(std::move(functions),
                         {program.records().begin(), program.records().end()});
}

}  // namespace

ir::Program simplified(const ir::Program& program) {
  ir::Program simpler = ir::prune(program);
  simpler = ir::Rewriter(simplifying_rules()).rewrite(simpler);
  return ir::prune(with_common_parts_merged(simpler));
}

}  // namespace plait::compile
