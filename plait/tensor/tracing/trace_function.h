// trace(f)(arguments): the program of a C++ function.
//
//   TracedProgram traced = trace([](Model model, Tensor x) { return model(x); })(model, x);
//   std::cout << traced.program.text();
//
//   trace(attend)(abstract_tensor(ir::Type::array(DType::f32, {Dim::symbol("n"), 3})))
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/tensor/tracing/trace.h"

namespace plait {

struct TracedProgram {
  ir::Program program;
  // Concrete tensors that the function captured; additional arguments of the program.
  std::vector<Tensor> hidden_inputs;
};

namespace tracing {

std::string label_of(std::string_view path);  // "0.weight" is arg0.weight

template <class F, class... Arguments>
TracedProgram trace_now(const std::string& name, const F& f, std::tuple<Arguments...> arguments) {
  Trace trace(name, Trace::apart);
  for_each_leaf(arguments, [&](std::string_view path, Tensor& leaf) {
    leaf = trace.parameter(leaf.type(), label_of(path));
  });
  const auto result = std::apply(f, std::move(arguments));
  RecordedFunction recorded = trace.finish(tensors_of(result));
  return {trace.program(recorded), std::move(recorded.captures)};
}

}  // namespace tracing

// An argument for trace() that has only a type, possibly with symbolic sizes. It can be used for
// nothing else.
Tensor abstract_tensor(const ir::Type& type);

// Returns a function that records what f does with tensors of the arguments' types. Arguments and
// results are trees of tensors (core/trees/tree.h).
template <class F>
auto trace(F f, std::string name = "main") {
  return [f = std::move(f), name = std::move(name)](const auto&... arguments) {
    return tracing::trace_now(name, f, std::tuple(arguments...));
  };
}

}  // namespace plait
