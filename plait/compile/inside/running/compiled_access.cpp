#include "plait/compile/inside/running/compiled_access.h"

#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/tensor/array_machine.h"

namespace plait::compile {

const Plan& CompiledAccess::plan(const Compiled& compiled) { return compiled.loaded_->plan(); }

std::vector<Tensor> CompiledAccess::run(const Compiled& compiled, std::span<const Tensor> arguments,
                                        const ExecutionOptions& options) {
  std::vector<ir::Value> values = values_of({arguments.begin(), arguments.end()});
  ExecutionResults given = run_values(compiled, std::move(values), {}, options);
  return tensors_of(plan(compiled).program, std::move(given.values));
}

std::vector<Tensor> CompiledAccess::run_donated(const Compiled& compiled,
                                                std::vector<Tensor> arguments,
                                                const ExecutionOptions& options) {
  std::vector<ir::Value> values = values_of(std::move(arguments));
  const ir::Program& program = plan(compiled).program;
  ExecutionResults given = program.entry().signature().size_parameters.empty()
                               ? execute(*compiled.loaded_, {}, std::move(values), options)
                               : run_values(compiled, std::move(values), {}, options);
  return tensors_of(program, std::move(given.values));
}

ExecutionResults CompiledAccess::run_values(const Compiled& compiled,
                                            std::vector<ir::Value> arguments,
                                            const SymbolMap<int64_t>& known,
                                            const ExecutionOptions& options) {
  const ir::Program& program = plan(compiled).program;
  TensorMachine machine;
  const std::vector<int64_t> sizes =
      ir::sizes_on_entry(program, program.entry(), machine, arguments, known);
  return execute(*compiled.loaded_, sizes, std::move(arguments), options);
}

}  // namespace plait::compile
