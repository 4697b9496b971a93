// Runs a traced program with its captures.
#pragma once

#include <vector>

#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/programs.h"

namespace plait {

inline std::vector<Tensor> with_hidden(const TracedProgram& traced, std::vector<Tensor> arguments) {
  arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
  return arguments;
}
inline std::vector<Tensor> run_traced(const TracedProgram& traced, std::vector<Tensor> arguments) {
  return run(traced.program, with_hidden(traced, std::move(arguments)));
}

}  // namespace plait
