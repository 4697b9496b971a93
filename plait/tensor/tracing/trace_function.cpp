#include "plait/tensor/tracing/trace_function.h"

#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

namespace tracing {

TracedProgram record(const std::string& name, std::span<const Argument> arguments,
                     FunctionRef<std::vector<Tensor>()> results_of) {
  Trace trace(name, Trace::apart);
  for (const Argument& argument : arguments) {
    // "0.weight" is arg0.weight.
    *argument.tensor =
        trace.parameter(argument.tensor->type(), fmt::format("arg{}", argument.path));
  }
  const std::vector<Tensor> results = results_of();
  RecordedFunction recorded = trace.finish(results);
  return {trace.program(recorded), std::move(recorded.captures)};
}

}  // namespace tracing

// Belongs to a trace that has ended, so that every use except in trace() is an error.
Tensor abstract_tensor(const ir::Type& type) {
  static const auto scope = std::make_shared<TraceScope>(TraceScope{nullptr, "no function"});
  return Tensor(TracedValue{.scope = scope, .type = type});
}

}  // namespace plait
