#include "plait/compile/compiler.h"

#include "plait/compile/inside/memory_budget.h"
#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/ops/register_all.h"
#include "plait/transform/programs.h"

namespace plait {
namespace compile {
namespace {

std::vector<bool> parameters_read(const ir::Function& function) {
  std::vector<bool> reads(function.parameter_count());
  const auto read = [&](std::span<const ir::ValueId> values) {
    for (const ir::ValueId value : values) {
      if (value < reads.size()) reads[value] = true;
    }
  };
  for (const ir::Instruction instruction : function.instructions()) read(instruction.operands());
  read(function.results());
  if (!function.signature().size_parameters.empty()) reads.assign(reads.size(), true);
  return reads;
}

}  // namespace

Compiled::Compiled(const ir::Program& program, const CompileOptions& options) {
  register_all();
  const Target* const target = find_target(options.device);
  const ir::Program prepared =
      prepared_for(target, with_tapes(program), options.makes_kernels, options.observer);
  Segments segments;
  if (options.memory_budget && options.makes_kernels) {
    segments = segments_within(*options.memory_budget, target, prepared);
  }
  const ir::Program optimized_program =
      finished_for(target, prepared, options.makes_kernels, options.observer, segments);
  reads_ = parameters_read(optimized_program.entry());
  loaded_ = std::make_shared<const LoadedPlan>(plan_of(optimized_program, target));
}

std::vector<Tensor> Compiled::operator()(std::span<const Tensor> arguments) const {
  return CompiledAccess::run(*this, arguments, {});
}

}  // namespace compile

JitBackend compiler_backend() {
  return [](const ir::Program& program, const JitOptions& options) -> JitExecutable {
    const compile::Compiled compiled(program,
                                     {.makes_kernels = options.mode != JitMode::fast_compile,
                                      .memory_budget = options.memory_budget});
    return [compiled](const JitArguments& arguments) {
      std::vector<Tensor> read(arguments.size());
      for (size_t i = 0; i < arguments.size(); ++i) {
        Tensor argument = arguments.take(i);
        if (compiled.reads(i)) read[i] = std::move(argument);
      }
      return compile::CompiledAccess::run_donated(
          compiled, std::move(read),
          {.on_guard = [](const auto& failed) { throw SideExit{failed.number}; }});
    };
  };
}

}  // namespace plait
