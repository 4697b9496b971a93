#include "plait/transform/inside/running/run_instruction.h"

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {
namespace {

Tensor literal_tensor(const Literal& literal) {
  if (Trace* trace = Trace::current()) return trace->constant(literal);
  return Tensor(Array::of(literal));
}

Tensor refined(const Tensor& x, const Shape& shape) {
  Trace* const trace = Trace::current();
  return trace == nullptr || same(x.shape(), shape) ? x : trace->refine(x, shape);
}

// Instructions on tuples, records and optional values, which exist in traces only.
std::vector<Tensor> recorded(const ir::Instruction& instruction, std::span<const Tensor> operands,
                             const SymbolMap<Dim>& sizes) {
  Trace* const trace = Trace::current();
  if (trace == nullptr || is_followed(operands)) {
    throw TypeError("{} cannot be {} yet", ir::print(instruction),
                    trace == nullptr ? "run on tensors" : "differentiated")
        .at(instruction.location())
        .hint("take all derivatives in one trace, of the function that was traced here");
  }
  std::vector<Dim> held;
  for (const Dim size : instruction.size_arguments()) held.push_back(size.substitute(sizes));
  std::vector<ir::Type> types;
  if (instruction.size_results().empty()) {
    for (const ir::Type& type : instruction.result_types()) {
      types.push_back(type.substitute(sizes));
    }
  }
  return trace->record({.primitive = instruction.primitive(),
                        .operands = operands,
                        .attributes = instruction.attributes(),
                        .size_arguments = held,
                        .stated_types = types});
}

// In a trace it is recorded as a guard.
std::vector<Tensor> guarded(const ir::Instruction& instruction, std::span<const Tensor> operands,
                            const SymbolMap<Dim>& sizes) {
  const bool is_of_sizes = instruction.primitive().structure == ir::Structure::size_guard;
  if (Trace* const trace = Trace::current()) {
    ir::Attributes attributes = instruction.attributes();
    if (is_of_sizes) {
      const SizeFact& fact = attributes.as<ir::SizeGuardAttributes>().fact;
      attributes = ir::Attributes::of(ir::SizeGuardAttributes{fact.substitute(sizes)});
    }
    return trace->record(
        {.primitive = instruction.primitive(), .operands = operands, .attributes = attributes});
  }
  const bool holds =
      is_of_sizes
          ? instruction.attributes_as<ir::SizeGuardAttributes>().fact.substitute(sizes).evaluate({})
          : operands[0].truth() == instruction.attributes_as<ir::GuardAttributes>().expect;
  if (holds) return {};
  throw CheckError("{} does not hold", ir::print(instruction))
      .at(instruction.location())
      .hint("this held for the traced arguments; trace the program again for the present ones");
}

}  // namespace

Dim as_size(const Tensor& count, bool at_least) {
  Trace* const trace = Trace::current();
  return count.is_traced() ? trace->as_size(count, at_least) : Dim(count.item<int64_t>());
}

std::vector<Tensor> run_instruction(const ir::Instruction& instruction,
                                    std::span<const Tensor> operands, const SymbolMap<Dim>& sizes) {
  const auto here = [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); };
  switch (instruction.primitive().structure) {
    case ir::Structure::machine:
      return apply_all(instruction.primitive(), operands, instruction.attributes().map_sizes(here));
    case ir::Structure::literal:
      return {literal_tensor(instruction.attributes_as<ir::LiteralAttributes>().value)};
    case ir::Structure::size: {
      const auto& size = instruction.attributes_as<ir::SizeAttributes>();
      return {scalar_tensor(here(size.value), size.dtype)};
    }
    case ir::Structure::vary:
      return {vary_along(operands[0], instruction.attributes_as<ir::VaryAttributes>().axes)};
    case ir::Structure::refine:
      return {refined(operands[0], instruction.result_types()[0].substitute(sizes).shape())};
    case ir::Structure::guard:
    case ir::Structure::size_guard: return guarded(instruction, operands, sizes);
    case ir::Structure::tuple:
    case ir::Structure::element:
    case ir::Structure::pack:
    case ir::Structure::unpack:
    case ir::Structure::absent:
    case ir::Structure::present:
    case ir::Structure::is_present:
    case ir::Structure::unwrap: return recorded(instruction, operands, sizes);
    default:
      throw TypeError("{} cannot be run on tensors yet", ir::print(instruction))
          .at(instruction.location());
  }
}

}  // namespace plait
