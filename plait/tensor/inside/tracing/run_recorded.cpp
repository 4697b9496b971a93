#include "plait/tensor/inside/tracing/run_recorded.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"

namespace plait {
namespace {

ir::Attributes with_numbers(const ir::Attributes& attributes, const SymbolMap<int64_t>& sizes) {
  return attributes.map_sizes([&](Dim dim) { return Dim(dim.evaluate(sizes)); });
}

// Runs it as a program of its own, with its callees.
std::vector<Tensor> run_alone(Companion& companion, const TracedInstruction& instruction,
                              const ir::Instruction& recorded, std::span<const Tensor> operands,
                              const SymbolMap<int64_t>& sizes, TraceProgram& program) {
  const auto at_present = [&](Dim dim) { return Dim(dim.evaluate(sizes)); };
  SymbolMap<Dim> numbers;
  for (const auto& [symbol, number] : sizes) numbers.set(symbol, number);
  ir::FunctionBuilder step = program.builder().function(program.free_name("step"));
  std::vector<ir::ValueId> values;
  for (const Tensor& operand : operands) values.push_back(step.parameter(operand.type()));
  std::vector<ir::Callee> callees(instruction.callees.begin(), instruction.callees.end());
  for (ir::Callee& callee : callees) {
    for (Dim& size : callee.sizes) size = at_present(size);
  }
  std::vector<Dim> size_arguments;
  for (const Dim size : instruction.size_arguments) size_arguments.push_back(at_present(size));
  std::vector<ir::Type> stated;
  for (const ir::Type& type : instruction.stated_types) stated.push_back(type.substitute(numbers));
  const ir::Added added = step.add({.primitive = recorded.primitive(),
                                    .operands = values,
                                    .attributes = with_numbers(recorded.attributes(), sizes),
                                    .callees = callees,
                                    .size_arguments = size_arguments,
                                    .stated_types = stated,
                                    .location = recorded.location()});
  std::vector<ir::ValueId> results;
  for (size_t i = 0; i < added.count; ++i) results.push_back(added[i]);
  return companion.run(program.with_entry(step.finish(results)), operands);
}

}  // namespace

bool may_be_observed(const TracedInstruction& instruction, const ir::Declarations& declarations) {
  if (!instruction.callees.empty()) return true;
  const ir::Primitive& primitive = instruction.primitive;
  if (primitive.effects == nullptr || primitive.structure == ir::Structure::refine) return false;
  ir::FunctionBuilder alone("alone", declarations);
  std::vector<ir::ValueId> operands;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(alone.parameter(operand.type()));
  }
  const ir::Added added = alone.add({.primitive = primitive,
                                     .operands = operands,
                                     .attributes = instruction.attributes,
                                     .size_arguments = instruction.size_arguments,
                                     .stated_types = instruction.stated_types,
                                     .location = Location::of_caller()});
  return !primitive.effects(alone.so_far().instruction(added.instruction)).pure();
}

std::vector<Tensor> run_recorded(Companion& companion, const TracedInstruction& instruction,
                                 const ir::Instruction& recorded, std::span<const Tensor> operands,
                                 const SymbolMap<int64_t>& sizes, TraceProgram& program) {
  const ir::Structure structure = recorded.primitive().structure;
  if (structure == ir::Structure::machine) {
    return companion.apply(recorded.primitive(), operands,
                           with_numbers(recorded.attributes(), sizes));
  }
  if (structure == ir::Structure::literal) {
    return {Tensor(Array::of(recorded.attributes_as<ir::LiteralAttributes>().value))};
  }
  if (structure == ir::Structure::size) {
    const auto& size = recorded.attributes_as<ir::SizeAttributes>();
    const int64_t number = size.value.evaluate(sizes);
    ir::expect_holds(size.dtype, number);
    return {Tensor(Array::filled(size.dtype, {}, Element::of_signed(number)))};
  }
  return run_alone(companion, instruction, recorded, operands, sizes, program);
}

bool is_right_for(Companion& companion, const TracedInstruction& instruction,
                  std::span<const Tensor> operands, const SymbolMap<int64_t>& sizes) {
  try {
    companion.apply(instruction.primitive, operands, with_numbers(instruction.attributes, sizes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void expect_right_sizes(const TracedInstruction& instruction, const OpenFunction& function) {
  if (instruction.primitive.structure != ir::Structure::machine) return;
  SymbolMap<Dim> numbers;
  for (const auto& [symbol, number] : function.sizes().numbers()) numbers.set(symbol, Dim(number));
  bool has_symbols = false, has_unknown = false;
  const auto with_numbers = [&](const ir::Type& type) {
    ir::Type found = type.substitute(numbers);
    type.for_each_dim([&](Dim dim) { has_symbols = has_symbols || !dim.is_number(); });
    found.for_each_dim([&](Dim dim) { has_unknown = has_unknown || !dim.is_number(); });
    return found;
  };
  std::vector<ir::Type> operands, stated;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(with_numbers(operand.type()));
  }
  for (const ir::Type& type : instruction.stated_types) stated.push_back(with_numbers(type));
  if (!has_symbols || has_unknown) return;
  const ir::Attributes given = instruction.attributes
                                   ? instruction.attributes
                                   : ir::Attributes::defaults(instruction.primitive.attributes);
  const ir::Attributes attributes =
      given.map_sizes([&](Dim dim) { return dim.substitute(numbers); });
  int count = 0;
  ir::Inference inference{.primitive = instruction.primitive,
                          .operands = operands,
                          .attributes = attributes,
                          .callees = {},
                          .size_arguments = {},
                          .stated = stated,
                          .declarations = function.program()->declarations(),
                          .axes = function.so_far().signature().axes,
                          .name_size = [&](std::string_view hint) {
                            return Dim::symbol(fmt::format("{}.{}", hint, count++));
                          }};
  inference.run();
}

}  // namespace plait
