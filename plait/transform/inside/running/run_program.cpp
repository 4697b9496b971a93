#include "plait/transform/inside/running/run_program.h"

#include <algorithm>
#include <optional>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/record.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/control/open_recursion.h"
#include "plait/transform/inside/control/sizes_between.h"
#include "plait/transform/inside/control/staged_custom.h"
#include "plait/transform/inside/control/staged_recursion.h"
#include "plait/transform/inside/control/staged_remat.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/function_run.h"
#include "plait/transform/inside/running/run_instruction.h"

namespace plait {
namespace {

void check_fact(const ir::Function& function, const SizeFact& fact, const SymbolMap<Dim>& sizes) {
  const SizeFact here{fact.left.substitute(sizes), fact.relation, fact.right.substitute(sizes)};
  SizeContext alone;
  SizeContext& context = Trace::current() ? Trace::current()->sizes() : alone;
  if (context.facts().prove(here) == true) return;
  if (Trace::current() != nullptr && context.facts().prove(here) != false) {
    context.assume(here);
    return;
  }
  throw ShapeError("@{}: {} does not hold for the sizes of the arguments", function.name(),
                   fact.text())
      .at(function.location());
}

class TensorRun final : public FunctionRun<Tensor> {
 public:
  TensorRun(const ir::Program& program, const RunOptions& options)
      : FunctionRun(program), options_(options) {}

 private:
  ir::Type type_of(const Tensor& tensor) const override { return tensor.type(); }
  Dim size_of(const Tensor& count, bool at_least) override { return as_size(count, at_least); }
  Tensor noted(const ir::Function& function, ir::ValueId value, Tensor given) override {
    return options_.on_value ? options_.on_value(function, value, std::move(given)) : given;
  }

  std::vector<Tensor> run(const ir::Instruction& instruction, std::span<const Tensor> operands,
                          const SymbolMap<Dim>& sizes) override {
    const ir::Structure structure = instruction.primitive().structure;
    if (structure == ir::Structure::call || structure == ir::Structure::remat) {
      const ir::Function& called = callee(instruction);
      const std::vector<Tensor> arguments = as_declared(called, operands);
      if (Trace::current() != nullptr && stays_a_call(called)) {
        if (options_.draw_key && draws_keys(program(), called)) {
          return run_recursive_with_key(program(), called, arguments, options_.draw_key());
        }
        return run_recursive(program(), called, arguments);
      }
      if (structure == ir::Structure::call) {
        const Trace::Part part(called.name());
        return function(called, arguments);
      }
      if (options_.in_place_of) return function(called, arguments);
      const RematPolicy& policy = instruction.attributes_as<RematPolicy>();
      const StagedFunction staged{program(), &called};
      if (options_.draw_key && draws_keys(program())) {
        return rematted_with_key(staged, arguments, policy);
      }
      if (policy.policy != "everything" && Trace::current() != nullptr) {
        return run_staged_remat(staged, arguments, policy);
      }
      return remat_tensors([&](auto given) { return staged(given); }, arguments, policy);
    }
    if (is_open_call(instruction)) return run_open_call(instruction, operands);
    if (is_record_instruction(instruction)) return run_record_instruction(instruction, operands);
    if (structure == ir::Structure::pack || structure == ir::Structure::unpack) {
      if (Trace* const trace = Trace::current()) trace->declare_records(program());
    }
    if (const auto callees = as_they_stand(instruction, operands, sizes)) {
      return Trace::current()->record(
          {.primitive = instruction.primitive(),
           .operands = operands,
           .attributes = instruction.attributes().map_sizes(
               [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); }),
           .callees = *callees});
    }
    switch (structure) {
      case ir::Structure::as_size: return {};
      case ir::Structure::guard:
      case ir::Structure::size_guard: return guarded(instruction, operands, sizes);
      case ir::Structure::pull:
        if (Trace::current() == nullptr) return function(callee(instruction), operands);
        return run_recursive_pull(program(), callee(instruction), callee(instruction, 1),
                                  instruction.attributes_as<ir::PullAttributes>().wanted, operands);
      case ir::Structure::cond:
        return control::cond(operands[0], called(instruction, 0), called(instruction, 1),
                             operands.subspan(1));
      case ir::Structure::switch_: return switched(instruction, operands);
      case ir::Structure::while_: return looped(instruction, operands);
      case ir::Structure::scan: return scanned(instruction, operands, sizes);
      default: break;
    }
    if (structure == ir::Structure::custom_vjp || structure == ir::Structure::custom_jvp) {
      return custom(instruction, operands);
    }
    if (structure == ir::Structure::machine) {
      const ir::Primitive& primitive = instruction.primitive();
      if (options_.draw_key && &primitive == &random_primitives().draw_key) {
        return {options_.draw_key()};
      }
      // Observable effects have already happened.
      const bool is_done = control::Again::is_open() && instruction.result_count() == 0 &&
                           primitive.effects && primitive.effects(instruction).observable;
      if (is_done) return {};
    }
    if (structure != ir::Structure::machine || !options_.in_place_of) {
      return run_instruction(instruction, operands, sizes);
    }
    const ir::Attributes attributes = instruction.attributes().map_sizes(
        [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); });
    return options_.in_place_of({instruction, operands, attributes, [&] {
                                   return apply_all(instruction.primitive(), operands, attributes);
                                 }});
  }

  // Includes the callees of a branch or a loop in the open trace unchanged. If no level follows it
  // and no size becomes a number, recording them again would give the same functions, at a cost
  // exponential in the depth of nesting.
  std::optional<std::vector<ir::Callee>> as_they_stand(const ir::Instruction& instruction,
                                                       std::span<const Tensor> operands,
                                                       const SymbolMap<Dim>& sizes) {
    Trace* const trace = Trace::current();
    const ir::Structure structure = instruction.primitive().structure;
    const bool may_be = trace != nullptr &&
                        (structure == ir::Structure::cond || structure == ir::Structure::switch_ ||
                         structure == ir::Structure::while_ || structure == ir::Structure::scan) &&
                        instruction.size_results().empty() && !options_.in_place_of &&
                        !options_.on_value && !options_.draw_key && !is_followed(operands) &&
                        !has_open_axes() && AutocastScope::current() == nullptr &&
                        !control::Again::is_open() && !draws_any_keys() && !calls_open_functions();
    if (!may_be) return std::nullopt;
    for (size_t i = 0; i < operands.size(); ++i) {
      const ir::Type& declared = instruction.function().type_of(instruction.operands()[i]);
      if (declared.substitute(sizes) != operands[i].type()) return std::nullopt;
    }
    std::vector<ir::Callee> callees;
    for (const ir::Callee& each : instruction.callees()) {
      ir::Callee& here = callees.emplace_back(each);
      for (Dim& size : here.sizes) {
        size = size.substitute(sizes);
        if (size.is_number()) return std::nullopt;
      }
    }
    for (size_t i = 0; i < callees.size(); ++i) {
      const ir::Function& called = callee(instruction, i);
      SymbolMap<Dim> given;
      const std::vector<Dim>& own = called.signature().size_parameters;
      for (size_t k = 0; k < own.size(); ++k) given.set(own[k], callees[i].sizes[k]);
      for (const SizeFact& fact : called.signature().facts) check_fact(called, fact, given);
      callees[i].name = trace->include(
          program(), called, [](const ir::Instruction&) { return std::optional<ir::Callee>(); });
    }
    return callees;
  }

  std::vector<Tensor> rematted_with_key(const StagedFunction& staged, std::vector<Tensor> arguments,
                                        const RematPolicy& policy) {
    arguments.push_back(options_.draw_key());
    return remat_tensors(with_key(staged), arguments, policy);
  }

  // Functions that are recursive, or may be once open functions are finished.
  bool stays_a_call(const ir::Function& called) {
    return calls_open_functions() || comes_back(called);
  }
  bool calls_open_functions() {
    if (!has_open_calls_) has_open_calls_ = has_open_calls(program());
    return *has_open_calls_;
  }
  bool draws_any_keys() {
    if (!draws_keys_) draws_keys_ = draws_keys(program());
    return *draws_keys_;
  }

  std::vector<Tensor> guarded(const ir::Instruction& instruction, std::span<const Tensor> operands,
                              const SymbolMap<Dim>& sizes) {
    if (!options_.on_guard || Trace::current() != nullptr) {
      return run_instruction(instruction, operands, sizes);
    }
    if (instruction.primitive().structure == ir::Structure::guard) {
      options_.on_guard(operands[0].truth(),
                        instruction.attributes_as<ir::GuardAttributes>().expect);
    } else {
      const auto& attributes = instruction.attributes_as<ir::SizeGuardAttributes>();
      options_.on_guard(attributes.fact.substitute(sizes).evaluate({}), true);
    }
    return {};
  }

  // The callee as a function of the arguments after some constants.
  TensorFunction called(const ir::Instruction& instruction, size_t i,
                        std::span<const Tensor> constants = {}) {
    return [this, &function = callee(instruction, i),
            held = std::vector<Tensor>(constants.begin(), constants.end())](
               std::span<const Tensor> given) {
      return this->function(function, joined({held, given}));
    };
  }

  std::vector<Tensor> switched(const ir::Instruction& instruction,
                               std::span<const Tensor> operands) {
    std::vector<TensorFunction> branches;
    for (size_t i = 0; i < instruction.callees().size(); ++i) {
      branches.push_back(called(instruction, i));
    }
    return control::switch_(operands[0], branches, operands.subspan(1));
  }

  // The same with a key as its last argument, from which random keys are derived.
  TensorFunction called_with_key(const ir::Instruction& instruction, size_t i,
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
  bool needs_keys(const ir::Instruction& instruction) const {
    if (!options_.draw_key) return false;
    return std::ranges::any_of(instruction.callees(), [&](const ir::Callee& called) {
      return draws_keys(program(), program().function(called.name));
    });
  }

  std::vector<Tensor> looped(const ir::Instruction& instruction, std::span<const Tensor> operands) {
    const auto constants =
        static_cast<size_t>(instruction.attributes_as<ir::WhileAttributes>().constants);
    if (needs_keys(instruction)) {
      return control::while_with_keys(called_with_key(instruction, 0, operands.first(constants)),
                                      called_with_key(instruction, 1, operands.first(constants)),
                                      operands.subspan(constants), options_.draw_key());
    }
    return control::while_loop(called(instruction, 0, operands.first(constants)),
                               called(instruction, 1, operands.first(constants)),
                               operands.subspan(constants));
  }

  std::vector<Tensor> scanned(const ir::Instruction& instruction, std::span<const Tensor> operands,
                              const SymbolMap<Dim>& sizes) {
    const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
    const auto constants = static_cast<size_t>(attributes.constants);
    const auto carries = static_cast<size_t>(attributes.carries);
    const auto initial = operands.subspan(constants, carries);
    const auto stacked = operands.subspan(constants + carries);
    const ScanOptions options{attributes.length.substitute(sizes), attributes.reverse};
    if (needs_keys(instruction)) {
      return control::scan_with_keys(called_with_key(instruction, 0, operands.first(constants)),
                                     initial, stacked, options, options_.draw_key());
    }
    return control::scan(called(instruction, 0, operands.first(constants)), initial, stacked,
                         options);
  }

  std::vector<Tensor> custom(const ir::Instruction& instruction, std::span<const Tensor> operands) {
    std::vector<StagedFunction> callees;
    for (size_t i = 0; i < instruction.callees().size(); ++i) {
      callees.push_back({program(), &callee(instruction, i)});
    }
    const std::vector<Tensor> arguments = as_declared(*callees[0].function, operands);
    return callees.size() == 3 ? run_custom_vjp(callees[0], callees[1], callees[2], arguments)
                               : run_custom_jvp(callees[0], callees[1], arguments);
  }

  // Casts floats to the declared dtype, which autocast may have changed.
  static std::vector<Tensor> as_declared(const ir::Function& callee,
                                         std::span<const Tensor> operands) {
    std::vector<Tensor> arguments(operands.begin(), operands.end());
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ir::Type& type = callee.signature().parameters[i];
      const bool differs = type.is_array() && is_floating(type.dtype()) &&
                           is_floating(arguments[i].dtype()) &&
                           type.dtype() != arguments[i].dtype();
      if (differs) arguments[i] = astype(arguments[i], type.dtype());
    }
    return arguments;
  }

  const RunOptions& options_;
  std::optional<bool> has_open_calls_, draws_keys_;
};

}  // namespace

SymbolMap<Dim> sizes_for(const ir::Function& function, std::span<const ir::Type> arguments) {
  const auto& parameters = function.signature().parameters;
  if (arguments.size() != parameters.size()) {
    throw ValueError("@{} takes {} arguments, {} are given", function.name(), parameters.size(),
                     arguments.size())
        .at(function.location());
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (learn_sizes(parameters[i], arguments[i], sizes)) continue;
    throw TypeError("@{}: argument {} is {}, expected {}", function.name(), i, arguments[i].text(),
                    parameters[i].text())
        .at(function.location());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    // For values that vary along other axes, it is another function.
    if (ir::fits_but_for_axes(arguments[i], parameters[i].substitute(sizes))) continue;
    throw ShapeError("@{}: argument {} is {}, expected {}", function.name(), i, arguments[i].text(),
                     parameters[i].text())
        .at(function.location());
  }
  for (const SizeFact& fact : function.signature().facts) check_fact(function, fact, sizes);
  return sizes;
}

void learn_data_dependent(const ir::Instruction& instruction, std::span<const ir::Type> results,
                          SymbolMap<Dim>& sizes) {
  for (size_t r = 0; r < results.size(); ++r) {
    learn_sizes(instruction.result_types()[r], results[r], sizes);
  }
}

std::vector<Tensor> run_function(const ir::Program& program, const ir::Function& function,
                                 std::span<const Tensor> arguments, const RunOptions& options) {
  records::declare_all(program);
  return TensorRun(program, options).function(function, arguments);
}

}  // namespace plait
