// trace(f)(arguments): the program of a C++ function.
//
//   TracedProgram traced = trace([](Model model, Tensor x) { return model(x); })(model, x);
//   std::cout << traced.program.text();
//
//   trace(attend)(abstract_tensor(ir::Type::array(DType::f32, {Dim::symbol("n"), 3})))
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/trees/tree.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct TracedProgram {
  ir::Program program;
  // Concrete tensors that the function captured; additional arguments of the program.
  std::vector<Tensor> hidden_inputs;
};

namespace tracing {

struct Argument {
  std::string path;
  Tensor* tensor;  // becomes a parameter of its type
};
// Records `results_of`, which reads the parameters.
TracedProgram record(const std::string& name, std::span<const Argument> arguments,
                     FunctionRef<std::vector<Tensor>()> results_of);

template <class F, class... Arguments>
TracedProgram trace_now(const std::string& name, const F& f, std::tuple<Arguments...> arguments) {
  std::vector<Argument> leaves;
  for_each_leaf(arguments, [&](std::string_view path, Tensor& leaf) {
    leaves.push_back({std::string(path), &leaf});
  });
  return record(name, leaves, [&] { return tensors_of(std::apply(f, std::move(arguments))); });
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
