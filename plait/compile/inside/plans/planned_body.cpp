#include "plait/compile/inside/plans/planned_body.h"

#include <algorithm>

namespace plait::compile {

using ir::Instruction;

PlannedBody::PlannedBody(const ir::Function& function, uint32_t index, uint32_t name,
                         std::span<const Register> arguments)
    : index_(index), name_(name), registers_(function.value_count()) {
  std::ranges::copy(arguments, registers_.begin());
}

ir::Attributes PlannedBody::attributes(const Instruction& instruction) const {
  if (sizes_.empty()) return instruction.attributes();
  return instruction.attributes().map_sizes([&](Dim dim) { return size(dim); });
}

std::vector<ir::Type> PlannedBody::result_types(const Instruction& instruction) const {
  std::vector<ir::Type> types;
  for (const ir::Type& each : instruction.result_types()) types.push_back(type(each));
  return types;
}

std::vector<Dim> PlannedBody::callee_sizes(const Instruction& instruction, size_t callee) const {
  std::vector<Dim> sizes;
  for (const Dim each : instruction.callees()[callee].sizes) sizes.push_back(size(each));
  return sizes;
}

std::vector<Dim> PlannedBody::define_sizes(const Instruction& instruction, StepWriter& writer) {
  std::vector<Dim> new_sizes;
  for (const Dim each : instruction.size_results()) {
    new_sizes.push_back(writer.fresh(each));
    if (!same(each, new_sizes.back()) || !sizes_.empty()) sizes_.set(each, new_sizes.back());
  }
  return new_sizes;
}

std::vector<Register> PlannedBody::operands_of(const Instruction& instruction) const {
  std::vector<Register> operands;
  for (const ir::ValueId operand : instruction.operands()) operands.push_back(registers_[operand]);
  return operands;
}

std::vector<Register> PlannedBody::new_results(const Instruction& instruction, StepWriter& writer) {
  std::vector<Register> made;
  for (const ir::Type& each : instruction.result_types()) {
    made.push_back(writer.new_register(type(each)));
  }
  set_results(instruction, made);
  return made;
}

void PlannedBody::set_results(const Instruction& instruction, std::span<const Register> results) {
  for (size_t i = 0; i < results.size(); ++i) registers_[instruction.result(i)] = results[i];
}

Step PlannedBody::step(const Instruction& instruction, Step::Kind kind) const {
  return {.kind = std::move(kind), .location = instruction.location(), .function = name_};
}

SymbolMap<Dim> named_sizes(const ir::Signature& signature, std::span<const Dim> sizes) {
  SymbolMap<Dim> named;
  for (size_t i = 0; i < sizes.size(); ++i) named.set(signature.size_parameters[i], sizes[i]);
  return named;
}

}  // namespace plait::compile
