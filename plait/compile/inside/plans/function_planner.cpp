#include "plait/compile/inside/plans/function_planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/structure.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::Structure;

// Beyond this many steps, callees are called instead of inlined.
constexpr size_t kMostSteps = 100'000;

// True if the result may be a view of the operand.
bool is_view_step(const Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  if (primitive.places == nullptr) return false;
  const auto places = primitive.places(instruction);
  return !places || !places->guarded;
}

Step::Kind kind_of(const Instruction& instruction) {
  switch (instruction.primitive().structure) {
    case Structure::literal: return Step::Kind::constant;
    case Structure::size: return Step::Kind::size;
    case Structure::as_size: return Step::Kind::as_size;
    case Structure::refine: return Step::Kind::refine;
    case Structure::size_guard: return Step::Kind::size_guard;
    case Structure::guard: return Step::Kind::guard;
    case Structure::vary: return Step::Kind::move;
    case Structure::tuple: return Step::Kind::tuple;
    case Structure::element: return Step::Kind::element;
    case Structure::pack: return Step::Kind::pack;
    case Structure::unpack: return Step::Kind::unpack;
    case Structure::absent: return Step::Kind::absent;
    case Structure::present: return Step::Kind::present;
    case Structure::is_present: return Step::Kind::is_present;
    case Structure::unwrap: return Step::Kind::unwrap;
    default: return is_view_step(instruction) ? Step::Kind::view : Step::Kind::primitive;
  }
}

}  // namespace

FunctionPlanner::FunctionPlanner(PlanBuilder& plan, uint32_t index)
    : plan_(plan), program_(plan.program_), index_(index) {}

PlannedFunction FunctionPlanner::run() {
  const ir::Function& function = program_.function(index_);
  planned_.name = function.name();
  planned_.size_parameters = function.signature().size_parameters;
  planned_.facts = function.signature().facts;
  for (const Dim size : planned_.size_parameters) taken_.insert(size);
  for (const ir::Type& type : function.signature().parameters) {
    planned_.parameters.push_back(new_register(type));
  }
  Given given = add_body(index_, planned_.parameters, planned_.size_parameters);
  planned_.results = std::move(given.values);
  planned_.result_sizes = std::move(given.sizes);
  assign_storage(planned_, plan_.shares_memory_);
  return std::move(planned_);
}

FunctionPlanner::Given FunctionPlanner::add_body(uint32_t index,
                                                 std::span<const Register> arguments,
                                                 std::span<const Dim> sizes) {
  const ir::Function& function = program_.function(index);
  Body body{index, function, std::vector<Register>(function.value_count()), {}};
  std::ranges::copy(arguments, body.registers.begin());
  const auto& names = function.signature().size_parameters;
  const bool renames = !std::ranges::equal(names, sizes, kSame) || !within_.empty();
  for (size_t i = 0; renames && i < names.size(); ++i) body.sizes.set(names[i], sizes[i]);
  within_.push_back(index);
  for (const Instruction instruction : function.instructions()) add(body, instruction);
  within_.pop_back();
  Given given;
  for (const ir::ValueId result : function.results()) {
    given.values.push_back(body.registers[result]);
  }
  for (const Dim size : function.result_sizes()) given.sizes.push_back(body.size(size));
  return given;
}

void FunctionPlanner::add(Body& body, const Instruction& instruction) {
  switch (instruction.primitive().structure) {
    case Structure::call:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: return add_call(body, instruction);
    case Structure::fused: return add_kernel(body, instruction);
    case Structure::cond:
    case Structure::switch_: return add_branches(body, instruction);
    case Structure::while_: return add_while(body, instruction);
    case Structure::scan: return add_scan(body, instruction);
    case Structure::unwind: return add_unwind(body, instruction);
    default: break;
  }
  Step made = step(body, instruction, kind_of(instruction));
  made.operands = operands_of(body, instruction);
  switch (made.kind) {
    case Step::Kind::constant:
      made.target = static_cast<uint32_t>(plan_.plan_.constants.size());
      plan_.plan_.constants.push_back(instruction.attributes_as<ir::LiteralAttributes>().value);
      break;
    case Step::Kind::size: {
      const auto& attributes = instruction.attributes_as<ir::SizeAttributes>();
      made.dims = {body.size(attributes.value)};
      break;
    }
    case Step::Kind::element:
      made.target = static_cast<uint32_t>(instruction.attributes_as<ir::ElementAttributes>().index);
      break;
    case Step::Kind::guard:
      made.expected = instruction.attributes_as<ir::GuardAttributes>().expect;
      break;
    case Step::Kind::size_guard:
      made.fact = instruction.attributes_as<ir::SizeGuardAttributes>().fact.substitute(body.sizes);
      break;
    case Step::Kind::pack:
      for (const Dim size : instruction.size_arguments()) made.dims.push_back(body.size(size));
      break;
    default: break;
  }
  const ir::Primitive& primitive = instruction.primitive();
  made.escapes = primitive.effects && primitive.effects(instruction).observable;
  made.symbols = define_sizes(body, instruction);
  made.results = new_registers(body, instruction);
  set_results(body, instruction, made.results);
  for (const ir::Type& type : instruction.result_types()) made.types.push_back(body.type(type));
  if (made.kind == Step::Kind::refine) {
    made.types.push_back(body.type(instruction.operand_type(0)));
  }
  emit(std::move(made));
}

// ---- Calls and kernels.

FunctionPlanner::Given FunctionPlanner::call(uint32_t index, const std::vector<Register>& arguments,
                                             std::span<const Dim> sizes, const Step& like) {
  const ir::Signature& signature = program_.function(index).signature();
  Step made{.kind = Step::Kind::call,
            .operands = arguments,
            .location = like.location,
            .function = like.function,
            .target = plan_.function_of(index),
            .dims = {sizes.begin(), sizes.end()}};
  SymbolMap<Dim> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.set(signature.size_parameters[i], sizes[i]);
  for (const Dim born : signature.result_sizes) {
    made.symbols.push_back(fresh(born));
    names.set(born, made.symbols.back());
  }
  for (const ir::Type& type : signature.results) {
    made.results.push_back(new_register(type.substitute(names)));
  }
  Given given{made.results, made.symbols};
  emit(std::move(made));
  return given;
}

FunctionPlanner::Given FunctionPlanner::add_callee(Body& body, const Instruction& instruction,
                                                   size_t callee,
                                                   std::span<const Register> arguments,
                                                   std::span<const Dim> sizes) {
  const uint32_t index = program_.callees_of(body.index, instruction)[callee];
  const bool is_open = std::ranges::find(within_, index) != within_.end();
  if (!is_open && planned_.steps.size() < kMostSteps) return add_body(index, arguments, sizes);
  return call(index, {arguments.begin(), arguments.end()}, sizes,
              step(body, instruction, Step::Kind::call));
}

void FunctionPlanner::add_call(Body& body, const Instruction& instruction) {
  const uint32_t index = program_.callees_of(body.index, instruction)[0];
  const Given given =
      call(index, operands_of(body, instruction), callee_sizes(body, instruction, 0),
           step(body, instruction, Step::Kind::call));
  for (size_t i = 0; i < given.sizes.size(); ++i) {
    body.sizes.set(instruction.size_results()[i], given.sizes[i]);
  }
  set_results(body, instruction, given.values);
}

void FunctionPlanner::add_kernel(Body& body, const Instruction& instruction) {
  const uint32_t index = program_.callees_of(body.index, instruction)[0];
  if (!plan_.emits_) {
    const Given given =
        add_body(index, operands_of(body, instruction), callee_sizes(body, instruction, 0));
    return set_results(body, instruction, given.values);
  }
  Step made = step(body, instruction, Step::Kind::kernel);
  made.kernel = plan_.kernel_of(index);
  made.operands = operands_of(body, instruction);
  // The kernel's sizes as sizes of the plan.
  SymbolMap<Dim> names;
  const auto& parameters = program_.function(index).signature().size_parameters;
  const std::vector<Dim> sizes = callee_sizes(body, instruction, 0);
  for (size_t i = 0; i < sizes.size(); ++i) names.set(parameters[i], sizes[i]);
  made.callee_sizes = sizes;
  const PlannedKernel& kernel = plan_.plan_.kernels[made.kernel];
  for (const Dim size : kernel.sizes) made.dims.push_back(size.substitute(names));
  made.symbols.push_back(kernel.nest.columns.substitute(names));
  for (const Dim size : kernel.nest.outer) made.symbols.push_back(size.substitute(names));
  made.results = new_registers(body, instruction);
  set_results(body, instruction, made.results);
  for (const ir::Type& type : instruction.result_types()) made.types.push_back(body.type(type));
  emit(std::move(made));
}

// ---- Branches.

void FunctionPlanner::add_branches(Body& body, const Instruction& instruction) {
  const bool is_cond = instruction.primitive().structure == Structure::cond;
  const std::vector<Register> operands = operands_of(body, instruction);
  const std::vector<Register> arguments(operands.begin() + 1, operands.end());
  const std::vector<Dim> born = define_sizes(body, instruction);
  const std::vector<Register> results = new_registers(body, instruction);
  Step choice = step(body, instruction, is_cond ? Step::Kind::branch : Step::Kind::choose);
  choice.operands = {operands[0]};
  const uint32_t choice_at = emit(std::move(choice));
  const size_t count = instruction.callees().size();
  std::vector<uint32_t> begins, ends;
  for (size_t i = 0; i < count; ++i) {
    begins.push_back(here());
    const Given given =
        add_callee(body, instruction, i, arguments, callee_sizes(body, instruction, i));
    move(given.values, results, instruction.location());
    if (!born.empty()) {
      Step sizes = step(body, instruction, Step::Kind::set_sizes);
      sizes.symbols = born;
      sizes.dims = given.sizes;
      emit(std::move(sizes));
    }
    ends.push_back(emit(step(body, instruction, Step::Kind::jump)));
  }
  for (const uint32_t end : ends) planned_.steps[end].target = here();
  if (is_cond) {
    planned_.steps[choice_at].target = begins[1];
  } else {
    planned_.steps[choice_at].targets = begins;
  }
  set_results(body, instruction, results);
}

// ---- Loops.

void FunctionPlanner::end_loop(PlannedFunction::Loop loop, uint32_t leaving) {
  emit({.kind = Step::Kind::jump, .target = loop.begin});
  planned_.steps[leaving].target = here();
  loop.end = here();
  emit({.kind = Step::Kind::drop});  // filled in once lifetimes through the loop are known
  planned_.loops.push_back(std::move(loop));
}

void FunctionPlanner::add_while(Body& body, const Instruction& instruction) {
  const auto constants =
      static_cast<size_t>(instruction.attributes_as<ir::WhileAttributes>().constants);
  const std::vector<Register> operands = operands_of(body, instruction);
  std::vector<Dim> sizes = callee_sizes(body, instruction, 1);
  // Sizes that change are symbols of the plan; the body's size arguments are their initial values.
  const std::vector<Dim> changing = define_sizes(body, instruction);
  if (!changing.empty()) {
    Step begin = step(body, instruction, Step::Kind::set_sizes);
    begin.symbols = changing;
    begin.dims.assign(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(changing.size()));
    emit(std::move(begin));
    std::ranges::copy(changing, sizes.begin());
  }
  const std::vector<Register> carries = new_registers(body, instruction);
  move({operands.begin() + static_cast<ptrdiff_t>(constants), operands.end()}, carries,
       instruction.location());
  std::vector<Register> arguments(operands.begin(),
                                  operands.begin() + static_cast<ptrdiff_t>(constants));
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  PlannedFunction::Loop loop{.begin = here(), .carries = carries};
  const Given test = add_callee(body, instruction, 0, arguments, sizes);
  Step out = step(body, instruction, Step::Kind::branch);
  out.operands = {test.values[0]};
  const uint32_t out_at = emit(std::move(out));
  loop.body = here();
  const Given next = add_callee(body, instruction, 1, arguments, sizes);
  loop.moves = here();
  move(next.values, carries, instruction.location(), true);
  if (!changing.empty()) {
    Step step_sizes = step(body, instruction, Step::Kind::set_sizes);
    step_sizes.symbols = changing;
    step_sizes.dims = next.sizes;
    emit(std::move(step_sizes));
  }
  set_results(body, instruction, carries);
  end_loop(std::move(loop), out_at);
}

void FunctionPlanner::add_scan(Body& body, const Instruction& instruction) {
  const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
  const auto constants = static_cast<ptrdiff_t>(attributes.constants);
  const auto carried = static_cast<ptrdiff_t>(attributes.carries);
  const std::vector<Register> operands = operands_of(body, instruction);
  const std::vector<Register> results = new_registers(body, instruction);
  const std::vector<Register> carries(results.begin(), results.begin() + carried);
  const std::vector<Register> stacked(results.begin() + carried, results.end());
  const uint32_t counter = planned_.counters++;
  Step begin = step(body, instruction, Step::Kind::begin_scan);
  begin.counter = counter;
  begin.dims = {body.size(attributes.length)};
  begin.results = stacked;
  for (const Register each : stacked) begin.types.push_back(planned_.registers[each].type);
  emit(std::move(begin));
  move({operands.begin() + constants, operands.begin() + constants + carried}, carries,
       instruction.location());
  PlannedFunction::Loop loop{.begin = here(), .carries = carries};
  const std::vector<Dim> sizes = callee_sizes(body, instruction, 0);
  const uint32_t callee = program_.callees_of(body.index, instruction)[0];
  const ir::Signature& signature = program_.function(callee).signature();
  SymbolMap<Dim> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.set(signature.size_parameters[i], sizes[i]);
  Step slices = step(body, instruction, Step::Kind::next_slice);
  slices.counter = counter;
  slices.dims = {body.size(attributes.length)};
  slices.reverse = attributes.reverse;
  slices.operands.assign(operands.begin() + constants + carried, operands.end());
  for (size_t i = static_cast<size_t>(constants + carried); i < operands.size(); ++i) {
    slices.results.push_back(new_register(signature.parameters[i].substitute(names)));
  }
  std::vector<Register> arguments(operands.begin(), operands.begin() + constants);
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  arguments.insert(arguments.end(), slices.results.begin(), slices.results.end());
  const uint32_t slices_at = emit(std::move(slices));
  loop.body = here();
  const Given next = add_callee(body, instruction, 0, arguments, sizes);
  Step put = step(body, instruction, Step::Kind::put_slice);
  put.counter = counter;
  put.dims = {body.size(attributes.length)};
  put.reverse = attributes.reverse;
  put.operands.assign(next.values.begin() + carried, next.values.end());
  put.operands.insert(put.operands.end(), stacked.begin(), stacked.end());
  emit(std::move(put));
  loop.moves = here();
  move({next.values.begin(), next.values.begin() + carried}, carries, instruction.location(), true);
  set_results(body, instruction, results);
  end_loop(std::move(loop), slices_at);
}

void FunctionPlanner::add_unwind(Body& body, const Instruction& instruction) {
  const std::vector<Register> operands = operands_of(body, instruction);
  const uint32_t callee = program_.callees_of(body.index, instruction)[0];
  const ir::Signature& signature = program_.function(callee).signature();
  const std::vector<Dim> written = callee_sizes(body, instruction, 0);
  const std::vector<Register> carries = new_registers(body, instruction);
  const Register list = new_register(planned_.registers[operands[0]].type);
  std::vector<Register> begun{list};
  begun.insert(begun.end(), carries.begin(), carries.end());
  move(operands, begun, instruction.location());
  PlannedFunction::Loop loop{.begin = here(), .carries = carries};
  Step node = step(body, instruction, Step::Kind::next_node);
  node.operands = {list};
  const size_t held = signature.size_parameters.size() - written.size();
  std::vector<Dim> sizes;
  SymbolMap<Dim> names;
  for (size_t i = 0; i < signature.size_parameters.size(); ++i) {
    if (i < held) {
      node.symbols.push_back(fresh(signature.size_parameters[i]));
      sizes.push_back(node.symbols.back());
    } else {
      sizes.push_back(written[i - held]);
    }
    names.set(signature.size_parameters[i], sizes.back());
  }
  const size_t fields = signature.parameters.size() - carries.size();
  std::vector<Register> arguments;
  for (size_t i = 0; i < fields; ++i) {
    arguments.push_back(new_register(signature.parameters[i].substitute(names)));
  }
  node.results = arguments;
  node.results.push_back(list);
  const uint32_t node_at = emit(std::move(node));
  loop.body = here();
  arguments.insert(arguments.end(), carries.begin(), carries.end());
  const Given next = add_callee(body, instruction, 0, arguments, sizes);
  loop.moves = here();
  move(next.values, carries, instruction.location(), true);
  set_results(body, instruction, carries);
  end_loop(std::move(loop), node_at);
}

// ---- Helpers.

Step FunctionPlanner::step(const Body& body, const Instruction& instruction, Step::Kind kind) {
  return {.kind = kind,
          .location = instruction.location(),
          .function = plan_.name_of(body.function.name()),
          .primitive = &instruction.primitive(),
          .attributes = body.sizes.empty() ? instruction.attributes()
                                           : instruction.attributes().map_sizes(
                                                 [&](Dim dim) { return body.size(dim); })};
}

uint32_t FunctionPlanner::emit(Step step) {
  planned_.steps.push_back(std::move(step));
  return here() - 1;
}

void FunctionPlanner::move(const std::vector<Register>& from, const std::vector<Register>& to,
                           Location location, bool is_loop_carry) {
  if (from.empty()) return;
  emit({.kind = Step::Kind::move,
        .operands = from,
        .results = to,
        .location = location,
        .is_loop_carry = is_loop_carry});
}

Register FunctionPlanner::new_register(const ir::Type& type) {
  planned_.registers.push_back({.type = type});
  return static_cast<Register>(planned_.registers.size() - 1);
}

std::vector<Register> FunctionPlanner::new_registers(const Body& body,
                                                     const Instruction& instruction) {
  std::vector<Register> made;
  for (const ir::Type& type : instruction.result_types())
    made.push_back(new_register(body.type(type)));
  return made;
}

std::vector<Register> FunctionPlanner::operands_of(const Body& body,
                                                   const Instruction& instruction) const {
  std::vector<Register> operands;
  for (const ir::ValueId operand : instruction.operands()) {
    operands.push_back(body.registers[operand]);
  }
  return operands;
}

std::vector<Dim> FunctionPlanner::callee_sizes(const Body& body, const Instruction& instruction,
                                               size_t callee) const {
  std::vector<Dim> sizes;
  for (const Dim size : instruction.callees()[callee].sizes) sizes.push_back(body.size(size));
  return sizes;
}

std::vector<Dim> FunctionPlanner::define_sizes(Body& body, const Instruction& instruction) {
  std::vector<Dim> born;
  for (const Dim size : instruction.size_results()) {
    born.push_back(fresh(size));
    if (!same(size, born.back()) || !body.sizes.empty()) body.sizes.set(size, born.back());
  }
  return born;
}

Dim FunctionPlanner::fresh(Dim symbol) {
  Dim name = symbol;
  for (int i = 1; !taken_.insert(name).second; ++i) {
    name = Dim::symbol(fmt::format("{}.{}", symbol.name(), i));
  }
  return name;
}

void FunctionPlanner::set_results(Body& body, const Instruction& instruction,
                                  std::span<const Register> results) const {
  for (size_t i = 0; i < results.size(); ++i) body.registers[instruction.result(i)] = results[i];
}

}  // namespace plait::compile
