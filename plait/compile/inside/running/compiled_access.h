// Runs compiled programs with options, and reads their plans.
#pragma once

#include <span>
#include <vector>

#include "plait/compile/compiler.h"
#include "plait/compile/inside/running/execution.h"

namespace plait::compile {

struct CompiledAccess {
  static const Plan& plan(const Compiled& compiled);
  // Arguments are checked against the parameter types.
  static std::vector<Tensor> run(const Compiled& compiled, std::span<const Tensor> arguments,
                                 const ExecutionOptions& options);
  // Without checks. Donated arguments may be overwritten; an argument that is not read may be an
  // empty tensor.
  static std::vector<Tensor> run_donated(const Compiled& compiled, std::vector<Tensor> arguments,
                                         const ExecutionOptions& options);
  // Takes values of any kind, checked against the parameter types. `known` are sizes of the program
  // that its arguments do not show.
  static ExecutionResults run_values(const Compiled& compiled, std::vector<ir::Value> arguments,
                                     const SymbolMap<int64_t>& known,
                                     const ExecutionOptions& options);
};

}  // namespace plait::compile
