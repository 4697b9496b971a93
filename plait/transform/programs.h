// Programs as values, and derivatives of programs as programs.
//
//   Builder build;
//   Tensor a = build.placeholder("f64[]", "a"), b = build.placeholder("f64[]", "b");
//   Tensor y = a * b;
//   Session session(build, {y});
//   session.run({{a, two}, {b, three}}, {y});        // any value may be fed or fetched
//
//   ir::Program gradient = grad(program, {0});       // of its first result, by its first parameter
#pragma once

#include <any>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tracing/trace_function.h"

namespace plait {

// Returns the program with taped recursion: recursive functions store what their reverse
// derivatives need, instead of recomputing it at each depth. The result cannot be
// differentiated again.
ir::Program with_tapes(const ir::Program& program);

// Runs the program: eagerly, followed by the open levels, or into the open trace.
std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> arguments);

struct ProgramGradOptions {
  bool with_value = false;                       // also return the program's first result, in front
  std::vector<std::string> stop_gradients = {};  // labels of values that are treated as constants
};

// Returns the program of the gradients of the first result, one real number, with respect to the
// parameters with these indices.
ir::Program grad(const ir::Program& program, std::span<const size_t> by,
                 const ProgramGradOptions& options = {});
ir::Program grad(const ir::Program& program, std::initializer_list<size_t> by,
                 const ProgramGradOptions& options = {});

// Returns the program that maps the arguments, followed by the tangents of those that have one, to
// the results and their tangents.
ir::Program jvp(const ir::Program& program);

// `forward` returns the results and then the residuals. `backward` maps the cotangents of the
// results that have one, followed by the residuals, to the cotangents of the parameters that
// have one.
struct ForwardAndBackward {
  ir::Program forward, backward;
  size_t results = 0;  // number of results of the program itself
};
ForwardAndBackward vjp(const ir::Program& program);

// Records f once for each new structure and types of arguments, passes the forward and the backward
// program to the user's compilers, and runs the executables that they return.
using Executable = std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;
using ProgramCompiler = std::function<Executable(const ir::Program& program)>;

// Cache of compiled functions, by structure and types of the arguments.
class AheadOfTime {
 public:
  // Returns the results, and sets their structure.
  using Function =
      std::function<std::vector<Tensor>(std::span<const Tensor> arguments, std::any& structure)>;

  AheadOfTime(ProgramCompiler forward, ProgramCompiler backward);
  std::vector<Tensor> operator()(const TreeKey& key, std::span<const Tensor> arguments,
                                 const Function& f, std::any& structure) const;

 private:
  struct Entry;
  struct State;
  std::shared_ptr<State> state_;
};

template <class F>
auto aot(F f, ProgramCompiler forward, ProgramCompiler backward) {
  const AheadOfTime compiled(std::move(forward), std::move(backward));
  return [f = std::move(f), compiled](const auto&... arguments) {
    const std::tuple all(arguments...);
    using Result = decltype(f(arguments...));
    const auto on_leaves = [&](std::span<const Tensor> given, std::any& structure) {
      Result result = std::apply(f, with_tensors(all, given));
      const std::vector<Tensor> results = tensors_of(result);
      structure = std::move(result);
      return results;
    };
    std::any structure;
    const std::vector<Tensor> results =
        compiled(key_of(all), tensors_of(all), on_leaves, structure);
    return with_tensors(std::any_cast<Result>(structure), results);
  };
}

// A function as a program, with the structure of its arguments and results. It can be printed
// and run.
template <class Result, class... Arguments>
struct MadeProgram {
  TracedProgram traced;
  Result structure;

  std::string text() const { return traced.program.text(); }
  const ir::Program& program() const { return traced.program; }
  Result operator()(const Arguments&... arguments) const {
    std::vector<Tensor> given = tensors_of(std::tuple(arguments...));
    given.insert(given.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
    return with_tensors(structure, run(traced.program, given));
  }
};
template <class F>
auto make_program(F f, std::string name = "main") {
  return [f = std::move(f),
          name = std::move(name)]<class... Arguments>(const Arguments&... arguments) {
    using Result = decltype(f(arguments...));
    std::optional<Result> structure;
    const auto noting = [&](const Arguments&... traced) {
      structure.emplace(f(traced...));
      return *structure;
    };
    TracedProgram traced = trace(noting, name)(arguments...);
    return MadeProgram<Result, Arguments...>{std::move(traced),
                                             without_tensors(std::move(*structure))};
  };
}

// Builds a program from placeholders. `gradient` (transform/derivatives/tape.h) works within it.
class Builder {
 public:
  explicit Builder(std::string name = "main");
  ~Builder();
  // `type` as programs write it: "f32[n, 3]".
  Tensor placeholder(std::string_view type, std::string_view name);

 private:
  friend class Session;
  std::unique_ptr<Trace> trace_;
};

// Runs the program of a builder any number of times. The builder cannot be used afterwards.
class Session {
 public:
  using Feeds = std::vector<std::pair<Tensor, Tensor>>;

  // `results` are the results of the program.
  Session(Builder& builder, std::span<const Tensor> results);
  Session(Builder& builder, std::initializer_list<Tensor> results)
      : Session(builder, std::span(results.begin(), results.size())) {}

  const ir::Program& program() const { return program_; }
  // Returns the values of `fetches`, running only the instructions that they need and that are not
  // fed. ValueError that names a placeholder that is needed and not fed.
  std::vector<Tensor> run(const Feeds& feeds, std::span<const Tensor> fetches) const;
  std::vector<Tensor> run(const Feeds& feeds, std::initializer_list<Tensor> fetches) const {
    return run(feeds, std::span(fetches.begin(), fetches.size()));
  }

 private:
  ir::ValueId value_of(const Tensor& tensor) const;

  std::shared_ptr<TraceScope> scope_;
  std::shared_ptr<const ir::Function> function_;
  std::vector<Tensor> captures_;
  std::vector<ir::ValueId> values_;  // numbers in the function, by those in the scope
  ir::Program program_;
};

}  // namespace plait
