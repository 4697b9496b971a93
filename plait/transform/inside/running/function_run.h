// Interprets functions of the IR, instruction by instruction, on any kind of value.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plait/core/system/deep_stack.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/program.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

// Returns the sizes of a function for arguments of these types. ShapeError or TypeError if they do
// not fit.
SymbolMap<Dim> sizes_for(const ir::Function& function, std::span<const ir::Type> arguments);
// ShapeError unless the fact holds for these sizes. A trace may assume that it does.
void check_fact(const ir::Function& function, const SizeFact& fact, const SymbolMap<Dim>& sizes);
// Binds the data-dependent sizes of an instruction with results of these types.
void learn_data_dependent(const ir::Instruction& instruction, std::span<const ir::Type> results,
                          SymbolMap<Dim>& sizes);

// One run of a program: what becomes of a value is for the derived class to say. It runs every
// instruction but `as_size`, which gives a size and no value.
template <class Value>
class FunctionRun {
 public:
  explicit FunctionRun(const ir::Program& program) : program_(program) {}
  virtual ~FunctionRun() = default;

  // The program must be verified.
  std::vector<Value> function(const ir::Function& function, std::span<const Value> arguments) {
    return with_enough_stack([&] { return body(function, arguments); });
  }

  const ir::Program& program() const { return program_; }
  const ir::Function& callee(const ir::Instruction& instruction, size_t i = 0) const {
    return program_.function(instruction.callees()[i].name);
  }
  // True if the function calls itself, directly or through others.
  bool is_recursive(const ir::Function& function) {
    if (!calls_) calls_.emplace(program_);
    return calls_->is_recursive(calls_->component_of(program_.index_of(function.name())));
  }

 protected:
  virtual ir::Type type_of(const Value& value) const = 0;
  virtual std::vector<Value> run(const ir::Instruction& instruction,
                                 std::span<const Value> operands, const SymbolMap<Dim>& sizes) = 0;
  virtual Dim size_of(const Value& count, bool at_least) = 0;
  // Hook: replaces a value after it was computed.
  virtual Value noted(const ir::Function&, ir::ValueId, Value value) { return value; }

 private:
  std::vector<ir::Type> types_of(std::span<const Value> values) const {
    std::vector<ir::Type> types;
    for (const Value& value : values) types.push_back(type_of(value));
    return types;
  }

  std::vector<Value> body(const ir::Function& function, std::span<const Value> arguments) {
    SymbolMap<Dim> sizes = sizes_for(function, types_of(arguments));
    std::vector<Value> values(function.value_count());
    for (ir::ValueId i = 0; i < arguments.size(); ++i) values[i] = noted(function, i, arguments[i]);
    for (const ir::Instruction instruction : function.instructions()) {
      const LocationScope place(instruction.location());
      std::vector<Value> operands;
      for (const ir::ValueId operand : instruction.operands()) operands.push_back(values[operand]);
      if (instruction.primitive().structure == ir::Structure::as_size) {
        const bool at_least = instruction.attributes_as<ir::AsSizeAttributes>().at_least;
        sizes.set(instruction.size_results()[0], size_of(operands[0], at_least));
        continue;
      }
      const std::vector<Value> results = run(instruction, operands, sizes);
      for (size_t r = 0; r < results.size(); ++r) {
        values[instruction.result(r)] = noted(function, instruction.result(r), results[r]);
      }
      if (!instruction.size_results().empty())
        learn_data_dependent(instruction, types_of(results), sizes);
    }
    std::vector<Value> results;
    for (const ir::ValueId result : function.results()) results.push_back(values[result]);
    return results;
  }

  const ir::Program& program_;
  std::optional<ir::CallGraph> calls_;  // computed on first use
};

}  // namespace plait
