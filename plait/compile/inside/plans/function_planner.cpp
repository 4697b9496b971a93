#include "plait/compile/inside/plans/function_planner.h"

#include <algorithm>

#include "plait/compile/inside/plans/control_steps.h"
#include "plait/compile/inside/plans/single_steps.h"
#include "plait/compile/inside/plans/storage.h"
#include "plait/ir/structure.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::Structure;

// Beyond this many steps, callees are called instead of inlined.
constexpr size_t kMostSteps = 100'000;

// Adds the instructions of functions: those of the function that is planned, and of the callees
// that are inlined in it. Knows which bodies are being added, so that no function is inlined in
// itself.
class FunctionPlanner {
 public:
  FunctionPlanner(PlanParts& parts, StepWriter& writer, bool makes_kernels)
      : parts_(parts), program_(parts.program()), writer_(writer), makes_kernels_(makes_kernels) {}

  BodyResults add_body(uint32_t index, std::span<const Register> arguments,
                       std::span<const Dim> sizes);

 private:
  void add(PlannedBody& body, const Instruction& instruction);
  void add_call(PlannedBody& body, const Instruction& instruction);
  void add_kernel(PlannedBody& body, const Instruction& instruction);
  BodyResults add_callee(uint32_t index, std::span<const Register> arguments,
                         std::span<const Dim> sizes, Location location);
  BodyResults call(uint32_t index, std::span<const Register> arguments, std::span<const Dim> sizes,
                   Location location);

  uint32_t callee_of(const PlannedBody& body, const Instruction& instruction, size_t callee) const {
    return program_.callees_of(body.index(), instruction)[callee];
  }

  PlanParts& parts_;
  const ir::Program& program_;
  StepWriter& writer_;
  const bool makes_kernels_;
  std::vector<uint32_t> within_;  // the functions whose bodies are being added
};

BodyResults FunctionPlanner::add_body(uint32_t index, std::span<const Register> arguments,
                                      std::span<const Dim> sizes) {
  const ir::Function& function = program_.function(index);
  PlannedBody body(function, index, parts_.name_of(function.name()), arguments);
  const auto& names = function.signature().size_parameters;
  const bool renames = !std::ranges::equal(names, sizes, kSame) || !within_.empty();
  for (size_t i = 0; renames && i < names.size(); ++i) body.set_size(names[i], sizes[i]);
  within_.push_back(index);
  for (const Instruction instruction : function.instructions()) add(body, instruction);
  within_.pop_back();
  BodyResults results;
  for (const ir::ValueId result : function.results()) {
    results.values.push_back(body.register_of(result));
  }
  for (const Dim size : function.result_sizes()) results.sizes.push_back(body.size(size));
  return results;
}

void FunctionPlanner::add(PlannedBody& body, const Instruction& instruction) {
  const auto callees = [&](size_t callee, std::span<const Register> arguments,
                           std::span<const Dim> sizes) {
    return add_callee(callee_of(body, instruction, callee), arguments, sizes,
                      instruction.location());
  };
  const auto signature = [&]() -> const ir::Signature& {
    return program_.function(callee_of(body, instruction, 0)).signature();
  };
  switch (instruction.primitive().structure) {
    case Structure::call:
    case Structure::pull:
    case Structure::remat:
    case Structure::custom_vjp:
    case Structure::custom_jvp: return add_call(body, instruction);
    case Structure::fused: return add_kernel(body, instruction);
    case Structure::cond:
    case Structure::switch_: return add_branches(instruction, body, writer_, callees);
    case Structure::while_: return add_while(instruction, body, writer_, callees);
    case Structure::scan: return add_scan(instruction, body, writer_, signature(), callees);
    case Structure::unwind: return add_unwind(instruction, body, writer_, signature(), callees);
    case Structure::machine:
    case Structure::literal:
    case Structure::size:
    case Structure::as_size:
    case Structure::refine:
    case Structure::size_guard:
    case Structure::guard:
    case Structure::vary:
    case Structure::tuple:
    case Structure::element:
    case Structure::pack:
    case Structure::unpack:
    case Structure::absent:
    case Structure::present:
    case Structure::is_present:
    case Structure::unwrap: break;
  }
  return add_single_step(instruction, body, writer_, parts_);
}

// Inlines the callee's steps, or calls it if there would be too many.
BodyResults FunctionPlanner::add_callee(uint32_t index, std::span<const Register> arguments,
                                        std::span<const Dim> sizes, Location location) {
  const bool is_open = std::ranges::find(within_, index) != within_.end();
  if (!is_open && writer_.here() < kMostSteps) return add_body(index, arguments, sizes);
  return call(index, arguments, sizes, location);
}

BodyResults FunctionPlanner::call(uint32_t index, std::span<const Register> arguments,
                                  std::span<const Dim> sizes, Location location) {
  const ir::Signature& signature = program_.function(index).signature();
  SymbolMap<Dim> names = named_sizes(signature, sizes);
  BodyResults results;
  for (const Dim new_size : signature.result_sizes) {
    results.sizes.push_back(writer_.fresh(new_size));
    names.set(new_size, results.sizes.back());
  }
  for (const ir::Type& type : signature.results) {
    results.values.push_back(writer_.new_register(type.substitute(names)));
  }
  writer_.emit({.kind = CallStep{.callee = parts_.function_of(index),
                                 .sizes = {sizes.begin(), sizes.end()},
                                 .new_sizes = results.sizes},
                .operands = {arguments.begin(), arguments.end()},
                .results = results.values,
                .location = location});
  return results;
}

void FunctionPlanner::add_call(PlannedBody& body, const Instruction& instruction) {
  const BodyResults results = call(callee_of(body, instruction, 0), body.operands_of(instruction),
                                   body.callee_sizes(instruction, 0), instruction.location());
  for (size_t i = 0; i < results.sizes.size(); ++i) {
    body.set_size(instruction.size_results()[i], results.sizes[i]);
  }
  body.set_results(instruction, results.values);
}

void FunctionPlanner::add_kernel(PlannedBody& body, const Instruction& instruction) {
  const uint32_t index = callee_of(body, instruction, 0);
  const std::vector<Register> operands = body.operands_of(instruction);
  const std::vector<Dim> sizes = body.callee_sizes(instruction, 0);
  if (!makes_kernels_) {
    return body.set_results(instruction, add_body(index, operands, sizes).values);
  }
  KernelStep step{.kernel = parts_.kernel_of(index),
                  .results = body.result_types(instruction),
                  .function_sizes = sizes};
  // The kernel's sizes as sizes of the plan.
  const SymbolMap<Dim> names = named_sizes(program_.function(index).signature(), sizes);
  const PlannedKernel& kernel = parts_.kernel(step.kernel);
  for (const Dim size : kernel.sizes) step.sizes.push_back(size.substitute(names));
  for (const Dim size : kernel.nest.outer) step.outer.push_back(size.substitute(names));
  step.columns = kernel.nest.columns.substitute(names);
  Step made = body.step(instruction, std::move(step));
  made.operands = operands;
  made.results = body.new_results(instruction, writer_);
  writer_.emit(std::move(made));
}

}  // namespace

PlannedFunction planned_function(PlanParts& parts, uint32_t index, const PlanOptions& options) {
  const ir::Function& function = parts.program().function(index);
  StepWriter writer(function);
  BodyResults results =
      FunctionPlanner(parts, writer, options.makes_kernels)
          .add_body(index, writer.parameters(), function.signature().size_parameters);
  PlannedFunction planned = writer.finish(std::move(results.values), std::move(results.sizes));
  assign_storage(planned, options.shares_memory);
  return planned;
}

}  // namespace plait::compile
