#include "plait/compile/inside/plans/control_steps.h"

#include <algorithm>

#include "plait/ir/structure.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using Registers = std::vector<Register>;

Registers joined(std::span<const Register> first, std::span<const Register> second) {
  Registers all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}
Registers some(std::span<const Register> list) { return {list.begin(), list.end()}; }

void set_sizes(const Instruction& instruction, const PlannedBody& body, StepWriter& writer,
               const std::vector<Dim>& symbols, std::span<const Dim> values) {
  if (symbols.empty()) return;
  writer.emit(body.step(
      instruction, SetSizesStep{.symbols = symbols, .values = {values.begin(), values.end()}}));
}

}  // namespace

void add_branches(const Instruction& instruction, PlannedBody& body, StepWriter& writer,
                  AddCallee add_callee) {
  const bool is_cond = instruction.primitive().structure == ir::Structure::cond;
  const Registers operands = body.operands_of(instruction);
  const std::vector<Dim> new_sizes = body.define_sizes(instruction, writer);
  const Registers results = body.new_results(instruction, writer);
  Step choice = body.step(instruction, BranchStep{});
  if (!is_cond) choice.kind = ChooseStep{};
  choice.operands = {operands[0]};
  const uint32_t choice_at = writer.emit(std::move(choice));
  std::vector<uint32_t> begins, ends;
  for (size_t i = 0; i < instruction.callees().size(); ++i) {
    begins.push_back(writer.here());
    const BodyResults given =
        add_callee(i, std::span(operands).subspan(1), body.callee_sizes(instruction, i));
    writer.move(given.values, results, instruction.location());
    set_sizes(instruction, body, writer, new_sizes, given.sizes);
    ends.push_back(writer.emit(body.step(instruction, JumpStep{})));
  }
  for (const uint32_t end : ends) writer.lead(end, writer.here());
  if (is_cond) {
    writer.lead(choice_at, begins[1]);
  } else {
    writer.lead(choice_at, begins);
  }
  writer.end_branches(std::move(begins));
}

void add_while(const Instruction& instruction, PlannedBody& body, StepWriter& writer,
               AddCallee add_callee) {
  const auto constants =
      static_cast<size_t>(instruction.attributes_as<ir::WhileAttributes>().constants);
  const Registers operands = body.operands_of(instruction);
  std::vector<Dim> sizes = body.callee_sizes(instruction, 1);
  // Sizes that change are symbols of the plan; the body's size arguments are their initial values.
  const std::vector<Dim> changing = body.define_sizes(instruction, writer);
  set_sizes(instruction, body, writer, changing, std::span(sizes).first(changing.size()));
  std::ranges::copy(changing, sizes.begin());
  const Registers carries = body.new_results(instruction, writer);
  writer.move(some(std::span(operands).subspan(constants)), carries, instruction.location());
  const Registers arguments = joined(std::span(operands).first(constants), carries);
  PlannedFunction::Loop loop{.begin = writer.here(), .carries = carries};
  const BodyResults test = add_callee(0, arguments, sizes);
  Step out = body.step(instruction, BranchStep{});
  out.operands = {test.values[0]};
  const uint32_t out_at = writer.emit(std::move(out));
  loop.body = writer.here();
  const BodyResults next = add_callee(1, arguments, sizes);
  loop.moves = writer.here();
  writer.move(next.values, carries, instruction.location(), true);
  set_sizes(instruction, body, writer, changing, next.sizes);
  writer.end_loop(std::move(loop), out_at);
}

void add_scan(const Instruction& instruction, PlannedBody& body, StepWriter& writer,
              const ir::Signature& signature, AddCallee add_callee) {
  const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
  const auto constants = static_cast<size_t>(attributes.constants);
  const auto carried = static_cast<size_t>(attributes.carries);
  const Registers operands = body.operands_of(instruction);
  const Registers results = body.new_results(instruction, writer);
  const Registers carries = some(std::span(results).first(carried));
  const Registers stacked = some(std::span(results).subspan(carried));
  const ScanLoop rounds{.counter = writer.new_counter(),
                        .length = body.size(attributes.length),
                        .is_reversed = attributes.reverse};
  BeginScanStep begins{.loop = rounds, .results = {}};
  for (const Register each : stacked) begins.results.push_back(writer.type_of(each));
  Step begin = body.step(instruction, std::move(begins));
  begin.results = stacked;
  writer.emit(std::move(begin));
  writer.move(some(std::span(operands).subspan(constants, carried)), carries,
              instruction.location());
  PlannedFunction::Loop loop{.begin = writer.here(), .carries = carries};
  const std::vector<Dim> sizes = body.callee_sizes(instruction, 0);
  const SymbolMap<Dim> names = named_sizes(signature, sizes);
  Step slices = body.step(instruction, NextSliceStep{.loop = rounds});
  slices.operands = some(std::span(operands).subspan(constants + carried));
  for (size_t i = constants + carried; i < operands.size(); ++i) {
    slices.results.push_back(writer.new_register(signature.parameters[i].substitute(names)));
  }
  const Registers arguments =
      joined(joined(std::span(operands).first(constants), carries), slices.results);
  const uint32_t slices_at = writer.emit(std::move(slices));
  loop.body = writer.here();
  const BodyResults next = add_callee(0, arguments, sizes);
  Step put = body.step(instruction, PutSliceStep{.loop = rounds});
  put.operands = joined(std::span(next.values).subspan(carried), stacked);
  writer.emit(std::move(put));
  loop.moves = writer.here();
  writer.move(some(std::span(next.values).first(carried)), carries, instruction.location(), true);
  writer.end_loop(std::move(loop), slices_at);
}

void add_unwind(const Instruction& instruction, PlannedBody& body, StepWriter& writer,
                const ir::Signature& signature, AddCallee add_callee) {
  const Registers operands = body.operands_of(instruction);
  const Registers carries = body.new_results(instruction, writer);
  const Register list = writer.new_register(writer.type_of(operands[0]));
  writer.move(operands, joined({&list, 1}, carries), instruction.location());
  PlannedFunction::Loop loop{.begin = writer.here(), .carries = carries};
  // The first sizes of the callee are those that the node holds.
  const std::vector<Dim> written = body.callee_sizes(instruction, 0);
  const size_t held = signature.size_parameters.size() - written.size();
  NextNodeStep node;
  for (size_t i = 0; i < held; ++i) node.held.push_back(writer.fresh(signature.size_parameters[i]));
  std::vector<Dim> sizes = node.held;
  sizes.insert(sizes.end(), written.begin(), written.end());
  const SymbolMap<Dim> names = named_sizes(signature, sizes);
  Registers fields;
  for (size_t i = 0; i + carries.size() < signature.parameters.size(); ++i) {
    fields.push_back(writer.new_register(signature.parameters[i].substitute(names)));
  }
  Step next_node = body.step(instruction, std::move(node));
  next_node.operands = {list};
  next_node.results = joined(fields, {&list, 1});
  const uint32_t node_at = writer.emit(std::move(next_node));
  loop.body = writer.here();
  const BodyResults next = add_callee(0, joined(fields, carries), sizes);
  loop.moves = writer.here();
  writer.move(next.values, carries, instruction.location(), true);
  writer.end_loop(std::move(loop), node_at);
}

}  // namespace plait::compile
