#include "plait/compile/inside/plans/single_steps.h"

#include "plait/ir/structure.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::Structure;

// True if the result may be a view of the operand.
bool is_view(const Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  if (primitive.index_map == nullptr) return false;
  const auto map = primitive.index_map(instruction);
  return !map || !map->guarded;
}

Step::Kind kind_of_primitive(const Instruction& instruction, const PlannedBody& body,
                             std::vector<Dim> new_sizes) {
  const ir::Primitive& primitive = instruction.primitive();
  Operation operation{.primitive = &primitive,
                      .attributes = body.attributes(instruction),
                      .results = body.result_types(instruction),
                      .new_sizes = std::move(new_sizes)};
  if (is_view(instruction)) return ViewStep{std::move(operation)};
  const bool keeps_operands = primitive.effects && primitive.effects(instruction).observable;
  return PrimitiveStep{std::move(operation), keeps_operands};
}

PackStep pack(const Instruction& instruction, const PlannedBody& body) {
  PackStep step;
  for (const Dim size : instruction.size_arguments()) step.held.push_back(body.size(size));
  return step;
}

// `new_sizes` are the plan's symbols for data-dependent sizes of the instruction.
Step::Kind kind_of(const Instruction& instruction, const PlannedBody& body,
                   std::vector<Dim> new_sizes, PlanParts& parts) {
  switch (instruction.primitive().structure) {
    case Structure::literal:
      return ConstantStep{
          parts.constant_of(instruction.attributes_as<ir::LiteralAttributes>().value)};
    case Structure::size:
      return SizeStep{.size = body.size(instruction.attributes_as<ir::SizeAttributes>().value),
                      .dtype = instruction.result_types()[0].dtype()};
    case Structure::as_size: return AsSizeStep{new_sizes[0]};
    case Structure::refine:
      return RefineStep{.to = body.type(instruction.result_types()[0]),
                        .from = body.type(instruction.operand_type(0))};
    case Structure::guard:
      return GuardStep{instruction.attributes_as<ir::GuardAttributes>().expect};
    case Structure::size_guard:
      return SizeGuardStep{body.fact(instruction.attributes_as<ir::SizeGuardAttributes>().fact)};
    case Structure::vary: return MoveStep{};
    case Structure::tuple: return TupleStep{};
    case Structure::element:
      return ElementStep{
          static_cast<uint32_t>(instruction.attributes_as<ir::ElementAttributes>().index)};
    case Structure::pack: return pack(instruction, body);
    case Structure::unpack: return UnpackStep{std::move(new_sizes)};
    case Structure::absent: return AbsentStep{};
    case Structure::present: return PresentStep{};
    case Structure::is_present: return IsPresentStep{};
    case Structure::unwrap: return UnwrapStep{};
    case Structure::machine:
    case Structure::call:
    case Structure::fused:
    case Structure::cond:
    case Structure::switch_:
    case Structure::while_:
    case Structure::scan:
    case Structure::unwind:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: break;
  }
  return kind_of_primitive(instruction, body, std::move(new_sizes));
}

}  // namespace

void add_single_step(const Instruction& instruction, PlannedBody& body, StepWriter& writer,
                     PlanParts& parts) {
  const std::vector<Register> operands = body.operands_of(instruction);
  Step step = body.step(instruction,
                        kind_of(instruction, body, body.define_sizes(instruction, writer), parts));
  step.operands = operands;
  step.results = body.new_results(instruction, writer);
  writer.emit(std::move(step));
}

}  // namespace plait::compile
