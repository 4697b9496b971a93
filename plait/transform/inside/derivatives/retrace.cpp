#include "plait/transform/inside/derivatives/retrace.h"

#include "plait/ir/analysis/verify.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

Retrace::Retrace(const ir::Function& function, const std::string& name)
    : trace(name, Trace::apart) {
  for (size_t i = 0; i < function.parameter_count(); ++i) {
    parameters.push_back(trace.parameter(function.signature().parameters[i],
                                         function.label(static_cast<ir::ValueId>(i))));
  }
  for (const SizeFact& fact : function.signature().facts) trace.sizes().assume(fact);
}

ir::Program Retrace::finish(std::span<const Tensor> results) {
  ir::Program program = trace.functions().with_entry(trace.finish(results).function);
  ir::verify_pass(program, program.entry().name());
  return program;
}

}  // namespace plait
