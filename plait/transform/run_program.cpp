#include "plait/transform/run_program.h"

#include "plait/core/error.h"
#include "plait/ir/printer.h"
#include "plait/ir/structure.h"
#include "plait/ops/shape.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/trace.h"
#include "plait/transform/run_instruction.h"
#include "plait/transform/staged_custom.h"
#include "plait/transform/staged_remat.h"

namespace plait {
namespace {

// What the dimension of a parameter says of the sizes.
void learn(Dim declared, Dim given, SymbolMap<Dim>& sizes) {
  if (declared.is_symbol() && sizes.find(declared) == nullptr) sizes.set(declared, given);
}

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

class Run {
 public:
  Run(const ir::Program& program, const RunOptions& options)
      : program_(program), options_(options) {}

  std::vector<Tensor> function(const ir::Function& function, std::span<const Tensor> arguments) {
    for (const ir::Function* running : running_) {
      if (running == &function) {
        throw ValueError("@{} calls itself, which cannot be run among tensors yet", function.name())
            .at(function.location());
      }
    }
    running_.push_back(&function);
    std::vector<Tensor> results = body(function, arguments, sizes_for(function, arguments));
    running_.pop_back();
    return results;
  }

 private:
  std::vector<Tensor> body(const ir::Function& function, std::span<const Tensor> arguments,
                           SymbolMap<Dim> sizes) {
    std::vector<Tensor> values(function.value_count());
    const auto set = [&](ir::ValueId value, Tensor given) {
      values[value] = options_.on_value ? options_.on_value(function, value, std::move(given))
                                        : std::move(given);
    };
    for (ir::ValueId i = 0; i < arguments.size(); ++i) set(i, arguments[i]);
    for (const ir::Instruction instruction : function.instructions()) {
      std::vector<Tensor> operands;
      for (const ir::ValueId operand : instruction.operands()) operands.push_back(values[operand]);
      const std::vector<Tensor> results = run(instruction, operands, sizes);
      for (size_t r = 0; r < results.size(); ++r) set(instruction.result(r), results[r]);
      learn_born(instruction, results, sizes);
    }
    std::vector<Tensor> results;
    for (const ir::ValueId result : function.results()) results.push_back(values[result]);
    return results;
  }

  std::vector<Tensor> run(const ir::Instruction& instruction, std::span<const Tensor> operands,
                          const SymbolMap<Dim>& sizes) {
    const ir::Structure structure = instruction.primitive().structure;
    if (structure == ir::Structure::call || structure == ir::Structure::remat) {
      const ir::Function& callee = program_.function(instruction.callees()[0].name);
      const std::vector<Tensor> arguments = as_declared(callee, operands);
      if (structure == ir::Structure::call || options_.in_place_of)
        return function(callee, arguments);
      const RematPolicy& policy = instruction.attributes_as<RematPolicy>();
      const StagedFunction staged{program_, &callee};
      if (policy.policy != "everything" && Trace::current() != nullptr) {
        return run_staged_remat(staged, arguments, policy);
      }
      return remat_tensors([&](auto given) { return staged(given); }, arguments, policy);
    }
    if (structure == ir::Structure::custom_vjp || structure == ir::Structure::custom_jvp) {
      return custom(instruction, operands);
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

  std::vector<Tensor> custom(const ir::Instruction& instruction, std::span<const Tensor> operands) {
    std::vector<StagedFunction> callees;
    for (const ir::Callee& callee : instruction.callees()) {
      callees.push_back({program_, &program_.function(callee.name)});
    }
    const std::vector<Tensor> arguments = as_declared(*callees[0].function, operands);
    return callees.size() == 3 ? run_custom_vjp(callees[0], callees[1], callees[2], arguments)
                               : run_custom_jvp(callees[0], callees[1], arguments);
  }

  // Floats in the dtype that the function declares: autocast may have changed it.
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

  static void learn_born(const ir::Instruction& instruction, std::span<const Tensor> results,
                         SymbolMap<Dim>& sizes) {
    if (instruction.size_results().empty()) return;
    for (size_t r = 0; r < results.size(); ++r) {
      const Shape declared = instruction.result_types()[r].shape(), given = results[r].shape();
      for (size_t i = 0; i < declared.rank(); ++i) learn(declared[i], given[i], sizes);
    }
  }

  const ir::Program& program_;
  const RunOptions& options_;
  std::vector<const ir::Function*> running_;
};

}  // namespace

SymbolMap<Dim> sizes_for(const ir::Function& function, std::span<const Tensor> arguments) {
  const auto& parameters = function.signature().parameters;
  if (arguments.size() != parameters.size()) {
    throw ValueError("@{} takes {} arguments, {} are given", function.name(), parameters.size(),
                     arguments.size())
        .at(function.location());
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape given = arguments[i].shape();
    const bool fits = parameters[i].is_array() && parameters[i].dtype() == arguments[i].dtype() &&
                      parameters[i].shape().rank() == given.rank();
    if (!fits) {
      throw TypeError("@{}: argument {} is {}, expected {}", function.name(), i,
                      arguments[i].type().text(), parameters[i].text())
          .at(function.location());
    }
    for (size_t k = 0; k < given.rank(); ++k) learn(parameters[i].shape()[k], given[k], sizes);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape wanted = parameters[i].substitute(sizes).shape();
    if (wanted == arguments[i].shape()) continue;
    throw ShapeError("@{}: argument {} is {}, expected {}", function.name(), i,
                     arguments[i].type().text(), parameters[i].text())
        .at(function.location());
  }
  for (const SizeFact& fact : function.signature().facts) check_fact(function, fact, sizes);
  return sizes;
}

std::vector<Tensor> run_function(const ir::Program& program, const ir::Function& function,
                                 std::span<const Tensor> arguments, const RunOptions& options) {
  return Run(program, options).function(function, arguments);
}

}  // namespace plait
