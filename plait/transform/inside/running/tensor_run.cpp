#include "plait/transform/inside/running/tensor_run.h"

#include <algorithm>

#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/running/key_draws.h"
#include "plait/transform/inside/running/run_instruction.h"

namespace plait {

Dim TensorRun::size_of(const Tensor& count, bool at_least) { return as_size(count, at_least); }

std::vector<Tensor> TensorRun::run(const ir::Instruction& instruction,
                                   std::span<const Tensor> operands, const SymbolMap<Dim>& sizes) {
  return instruction.primitive().structure == ir::Structure::machine
             ? run_operation(instruction, operands, sizes)
             : run_form({instruction, operands, sizes, this});
}

std::vector<Tensor> TensorRun::run_operation(const ir::Instruction& instruction,
                                             std::span<const Tensor> operands,
                                             const SymbolMap<Dim>& sizes) {
  if (is_open_call(instruction)) return run_open_call(instruction, operands);
  const ir::Primitive& primitive = instruction.primitive();
  if (options_.draw_key && &primitive == &random_primitives().draw_key)
    return {options_.draw_key()};
  // Observable effects have already happened.
  const bool is_done = control::Again::is_open() && instruction.result_count() == 0 &&
                       primitive.effects && primitive.effects(instruction).observable;
  if (is_done) return {};
  if (!options_.in_place_of) return run_instruction(instruction, operands, sizes);
  const ir::Attributes attributes = instruction.attributes().map_sizes(
      [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); });
  return options_.in_place_of({instruction, operands, attributes,
                               [&] { return apply_all(primitive, operands, attributes); }});
}

TensorFunction TensorRun::called(const ir::Instruction& instruction, size_t i,
                                 std::span<const Tensor> constants) {
  return [this, &function = callee(instruction, i),
          held = std::vector<Tensor>(constants.begin(), constants.end())](
             std::span<const Tensor> given) {
    return this->function(function, joined({held, given}));
  };
}

TensorFunction TensorRun::called_with_key(const ir::Instruction& instruction, size_t i,
                                          std::span<const Tensor> constants) {
  return [this, &function = callee(instruction, i),
          held = std::vector<Tensor>(constants.begin(), constants.end())](
             std::span<const Tensor> given) {
    int64_t drawn = 0;
    RunOptions options = options_;
    options.draw_key = [&] { return random::fold_in(given.back(), drawn++); };
    return TensorRun(program(), options)
        .function(function, joined({held, given.first(given.size() - 1)}));
  };
}

bool TensorRun::needs_keys(const ir::Instruction& instruction) const {
  if (!options_.draw_key) return false;
  return std::ranges::any_of(instruction.callees(), [&](const ir::Callee& called) {
    return draws_keys(program(), program().function(called.name));
  });
}

bool TensorRun::stays_a_call(const ir::Function& called) {
  return calls_open_functions() || is_recursive(called);
}

bool TensorRun::calls_open_functions() {
  if (!has_open_calls_) has_open_calls_ = has_open_calls(program());
  return *has_open_calls_;
}

bool TensorRun::draws_any_keys() {
  if (!draws_keys_) draws_keys_ = draws_keys(program());
  return *draws_keys_;
}

bool TensorRun::may_stand(const OnTensors& here) {
  const bool has_callbacks = options_.in_place_of || options_.on_value || options_.draw_key;
  const bool may_be = here.instruction.size_results().empty() && !has_callbacks &&
                      !is_followed(here.operands) && !has_open_axes() &&
                      AutocastScope::current() == nullptr && !control::Again::is_open() &&
                      !draws_any_keys() && !calls_open_functions();
  if (!may_be) return false;
  for (size_t i = 0; i < here.operands.size(); ++i) {
    const ir::Type& declared = here.instruction.operand_type(i);
    if (declared.substitute(here.sizes) != here.operands[i].type()) return false;
  }
  return true;
}

std::optional<std::vector<Tensor>> TensorRun::stage_as_it_stands(const OnTensors& here) {
  if (!may_stand(here)) return std::nullopt;
  const SymbolMap<Dim>& sizes = here.sizes;
  std::vector<ir::Callee> callees;
  for (const ir::Callee& each : here.instruction.callees()) {
    ir::Callee& included = callees.emplace_back(each);
    for (Dim& size : included.sizes) {
      size = size.substitute(sizes);
      if (size.is_number()) return std::nullopt;
    }
  }
  Trace& trace = *Trace::current();
  for (size_t i = 0; i < callees.size(); ++i) {
    const ir::Function& called = callee(here.instruction, i);
    SymbolMap<Dim> given;
    const std::vector<Dim>& own = called.signature().size_parameters;
    for (size_t k = 0; k < own.size(); ++k) given.set(own[k], callees[i].sizes[k]);
    for (const SizeFact& fact : called.signature().facts) check_fact(called, fact, given);
    callees[i].name = trace.functions().include(
        program(), called, [](const ir::Instruction&) { return std::optional<ir::Callee>(); });
  }
  return trace.record({.primitive = here.instruction.primitive(),
                       .operands = here.operands,
                       .attributes = here.instruction.attributes().map_sizes(
                           [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); }),
                       .callees = callees});
}

std::vector<Tensor> as_declared(const ir::Function& callee, std::span<const Tensor> operands) {
  std::vector<Tensor> arguments(operands.begin(), operands.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type& type = callee.signature().parameters[i];
    const bool differs = type.is_array() && is_floating(type.dtype()) &&
                         is_floating(arguments[i].dtype()) && type.dtype() != arguments[i].dtype();
    if (differs) arguments[i] = astype(arguments[i], type.dtype());
  }
  return arguments;
}

}  // namespace plait
