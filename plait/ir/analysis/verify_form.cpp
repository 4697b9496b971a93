// The verifier's rules about the form of a program: names, values, counts, attributes, callees.
#include <unordered_set>

#include "plait/ir/inside/analysis/verify_rules.h"
#include "plait/ir/primitive.h"

namespace plait::ir {
namespace {

std::string text_of(const Count& count) {
  if (count.least == count.most) return std::to_string(count.least);
  if (count.most == Count::kAny) return fmt::format("at least {}", count.least);
  return fmt::format("{} to {}", count.least, count.most);
}

void check_count(const Instruction& instruction, const Count& takes, size_t given,
                 std::string_view what, Findings& findings) {
  if (takes.holds(given)) return;
  findings.add(instruction, "{} takes {} {}, but has {}", instruction.primitive().name,
               text_of(takes), what, given);
}

// The number of size arguments of a body that the instruction provides itself, before those that
// are written.
size_t leading_sizes(const Subject& subject, const Instruction& instruction) {
  if (instruction.primitive().structure != Structure::unwind) return 0;
  const Type& list = instruction.operand_type(0);
  if (!list.is_optional() || !list.element().is_record()) return 0;  // the type rule reports it
  const RecordType* record = subject.declarations.find_record(list.element().record_name());
  return record ? record->held.size() : 0;
}

}  // namespace

void check_names(const Subject& subject, Findings& findings) {
  std::unordered_set<std::string_view> functions, records;
  for (const auto& function : subject.functions)
    if (!functions.insert(function->name()).second)
      findings.add("two functions are named @{}", function->name());
  for (const RecordType& record : subject.records)
    if (!records.insert(record.name).second) findings.add("two records are named @{}", record.name);
}

void check_values(const Subject&, const Function& function, Findings& findings) {
  if (function.value_count() < function.parameter_count())
    return findings.add(function, "has {} values and {} parameters", function.value_count(),
                        function.parameter_count());
  for (ValueId value = 0; value < function.parameter_count(); ++value) {
    const Type& said = function.signature().parameters[value];
    if (function.definition(value) || function.type_of(value) != said)
      findings.add(function, "value {} is not parameter {} of type {}", value, value, said.text());
  }
  size_t next = function.parameter_count();
  for (Instruction instruction : function.instructions()) {
    size_t after = next + instruction.result_count();
    if (instruction.result() != next || after > function.value_count())
      return findings.add(function, "the results of instruction {} are not values {} to {}",
                          instruction.index(), next, after);
    for (; next < after; ++next) {
      auto definition = function.definition(static_cast<ValueId>(next));
      if (!definition || definition->index() != instruction.index())
        return findings.add(function, "value {} is not marked as defined by instruction {}", next,
                            instruction.index());
    }
  }
  if (next != function.value_count())
    findings.add(function, "has {} values, but its instructions define {}", function.value_count(),
                 next);
}

void check_operands(const Subject&, const Function& function, Findings& findings) {
  for (Instruction instruction : function.instructions())
    for (ValueId operand : instruction.operands())
      if (operand >= instruction.result())
        findings.add(function, "instruction {} ({}) uses value {}, which is not defined before it",
                     instruction.index(), instruction.primitive().name, operand);
  for (ValueId result : function.results())
    if (result >= function.value_count())
      findings.add(function, "returns value {} of {}", result, function.value_count());
}

void check_counts(const Subject&, const Function& function, Findings& findings) {
  for (Instruction instruction : function.instructions()) {
    const Primitive& primitive = instruction.primitive();
    check_count(instruction, primitive.operands, instruction.operands().size(), "operands",
                findings);
    check_count(instruction, primitive.callees, instruction.callees().size(), "callees", findings);
    check_count(instruction, primitive.size_arguments, instruction.size_arguments().size(), "sizes",
                findings);
  }
}

void check_attributes(const Subject&, const Function& function, Findings& findings) {
  for (Instruction instruction : function.instructions()) {
    const AttributeSchema* declared = instruction.primitive().attributes;
    const AttributeSchema* given = instruction.attributes().schema();
    if (declared == given) continue;
    findings.add(instruction, "{} declares {}, but has {}", instruction.primitive().name,
                 declared ? declared->name : "no attributes", given ? given->name : "none");
  }
}

void check_callees(const Subject& subject, const Function& function, Findings& findings) {
  for (Instruction instruction : function.instructions()) {
    for (const Callee& callee : instruction.callees()) {
      const Signature* signature = subject.declarations.find_function(callee.name);
      if (!signature) {
        findings.add(instruction, "unknown function @{}", callee.name);
        continue;
      }
      size_t given = leading_sizes(subject, instruction) + callee.sizes.size();
      if (given != signature->size_parameters.size())
        findings.add(instruction, "@{} takes {} sizes, but {} are given", callee.name,
                     signature->size_parameters.size(), given);
    }
  }
}

}  // namespace plait::ir
