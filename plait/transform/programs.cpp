#include "plait/transform/programs.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/parser_types.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/inside/derivatives/retrace.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tape_scope.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"
#include "plait/transform/inside/running/run_instruction.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {
namespace {

Tensor stopped(const std::vector<std::string>& labels, const ir::Function& function,
               ir::ValueId value, const Tensor& given) {
  return std::ranges::find(labels, function.label(value)) == labels.end() ? given
                                                                          : underived(given);
}

}  // namespace

namespace {

// Caches the taped form of each program that this thread runs repeatedly.
const ir::Program& cached_with_tapes(const ir::Program& program) {
  struct Made {
    ir::Program from, to;
  };
  thread_local RecentList<Made> cache(16);
  const Made* const found =
      cache.find([&](const Made& made) { return &made.from.entry() == &program.entry(); });
  return found != nullptr ? found->to : cache.add({program, with_tapes(program)}).to;
}

}  // namespace

ir::Program with_tapes(const ir::Program& program) {
  if (!has_pulls(program)) return program;
  Retrace retrace(program.entry(), program.entry().name());
  const TapeScope tapes(retrace.trace);
  return retrace.finish(run_function(program, program.entry(), retrace.parameters));
}

std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> arguments) {
  if (Trace::current() == nullptr && !is_followed(arguments)) {
    return evaluate(has_pulls(program) ? cached_with_tapes(program) : program, arguments);
  }
  return run_function(program, program.entry(), arguments);
}

ir::Program grad(const ir::Program& program, std::span<const size_t> by,
                 const ProgramGradOptions& options) {
  const ir::Function& function = program.entry();
  Retrace retrace(function, function.name() + ".grad");
  Pullback pullback;
  std::vector<Tensor> arguments = retrace.parameters;
  for (const size_t i : by) {
    if (i >= arguments.size()) {
      throw ValueError("grad: @{} has {} parameters, number {} is out of range", function.name(),
                       arguments.size(), i)
          .at(Location::of_caller());
    }
    gradients::check_argument(arguments[i], function.label(static_cast<ir::ValueId>(i)), i, {});
    arguments[i] = pullback.begin(arguments[i]);
  }
  const RunOptions stop{
      .on_value = [&](const ir::Function& f, ir::ValueId value, const Tensor& given) {
        return stopped(options.stop_gradients, f, value, given);
      }};
  const Tensor result = run_function(program, function, arguments, stop).at(0);
  gradients::check_result(result, {});
  const Tensor value = pullback.finish(result);
  pullback.close();
  const Tensor one = gradients::one_like(value);
  std::vector<Tensor> results = pullback({&one, 1}, false);
  if (options.with_value) results.insert(results.begin(), value);
  return retrace.finish(results);
}

ir::Program grad(const ir::Program& program, std::initializer_list<size_t> by,
                 const ProgramGradOptions& options) {
  return grad(program, std::span(by.begin(), by.size()), options);
}

ir::Program jvp(const ir::Program& program) {
  const ir::Function& function = program.entry();
  Retrace retrace(function, function.name() + ".jvp");
  Pushforward push;
  std::vector<Tensor> arguments;
  for (const Tensor& parameter : retrace.parameters) {
    const bool moves = has_tangent(parameter);
    arguments.push_back(moves ? push.begin(parameter, retrace.trace.parameter(parameter.type()))
                              : parameter);
  }
  std::vector<Tensor> results, tangents;
  for (const Tensor& result : run_function(program, function, arguments)) {
    auto [value, tangent] = push.finish(result);
    results.push_back(value);
    if (tangent) tangents.push_back(tangent);
  }
  results.insert(results.end(), tangents.begin(), tangents.end());
  return retrace.finish(results);
}

ForwardAndBackward vjp(const ir::Program& program) {
  const ir::Function& function = program.entry();
  Retrace retrace(function, function.name() + ".forward");
  Pullback pullback;
  std::vector<Tensor> arguments, results;
  for (const Tensor& parameter : retrace.parameters) arguments.push_back(pullback.begin(parameter));
  for (const Tensor& result : run_function(program, function, arguments)) {
    results.push_back(pullback.finish(result));
  }
  pullback.close();

  ForwardAndBackward both;
  both.results = results.size();
  Trace backward(function.name() + ".backward", Trace::apart);
  std::vector<Tensor> cotangents;
  for (const Tensor& result : results) {
    cotangents.push_back(has_tangent(result) ? backward.parameter(result.type()) : Tensor());
  }
  std::vector<Tensor> given;
  for (const Tensor& cotangent : pullback(cotangents, false)) {
    if (cotangent) given.push_back(cotangent);
  }
  capture_sizes(retrace.parameters, retrace.parameters);
  const RecordedFunction recorded = backward.finish(given);
  both.backward = backward.program(recorded);
  results.insert(results.end(), recorded.captures.begin(), recorded.captures.end());
  both.forward = retrace.finish(results);
  return both;
}

// ---- Ahead-of-time compilation.

struct AheadOfTime::Entry {
  std::vector<ir::Type> types;
  std::any structure;
  Executable forward, backward;
  std::vector<Tensor> hidden;  // captures: inputs of the forward program besides the arguments
  size_t results = 0;
};

struct AheadOfTime::State {
  ProgramCompiler forward, backward;
  std::mutex mutex;
  std::vector<std::pair<TreeKey, std::shared_ptr<const Entry>>> entries;

  std::shared_ptr<const Entry> find(const TreeKey& key, const std::vector<ir::Type>& types) {
    const std::lock_guard lock(mutex);
    for (const auto& [known, entry] : entries) {
      if (known == key && entry->types == types) return entry;
    }
    return nullptr;
  }

  std::shared_ptr<const Entry> add(const TreeKey& key, std::vector<ir::Type> types,
                                   const Function& f) {
    auto entry = std::make_shared<Entry>();
    Trace trace("main", Trace::apart);
    std::vector<Tensor> traced;
    for (const ir::Type& type : types) traced.push_back(trace.parameter(type));
    const RecordedFunction recorded = trace.finish(f(traced, entry->structure));
    const ForwardAndBackward both = vjp(trace.program(recorded));
    entry->types = std::move(types);
    entry->hidden = recorded.captures;
    entry->results = both.results;
    entry->forward = forward(both.forward);
    entry->backward = backward(both.backward);
    const std::lock_guard lock(mutex);
    entries.emplace_back(key, entry);
    return entry;
  }
};

AheadOfTime::AheadOfTime(ProgramCompiler forward, ProgramCompiler backward)
    : state_(std::make_shared<State>()) {
  state_->forward = std::move(forward);
  state_->backward = std::move(backward);
}

std::vector<Tensor> AheadOfTime::operator()(const TreeKey& key, std::span<const Tensor> arguments,
                                            const Function& f, std::any& structure) const {
  std::vector<ir::Type> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  std::shared_ptr<const Entry> entry = state_->find(key, types);
  if (!entry) entry = state_->add(key, types, f);
  structure = entry->structure;
  std::vector<Tensor> given;
  for (const Tensor& argument : arguments) given.push_back(underived(argument));
  given.insert(given.end(), entry->hidden.begin(), entry->hidden.end());
  std::vector<Tensor> results = entry->forward(given);
  const std::vector<Tensor> kept(results.begin() + static_cast<std::ptrdiff_t>(entry->results),
                                 results.end());
  results.resize(entry->results);
  if (!is_followed(arguments)) return results;
  const auto pull = [entry, types](std::span<const Tensor> cotangents, const Node::Kept& kept) {
    std::vector<Tensor> sent;
    for (const Tensor& cotangent : cotangents) {
      if (cotangent) sent.push_back(cotangent);
    }
    sent.insert(sent.end(), kept.residuals.begin(), kept.residuals.end());
    const std::vector<Tensor> found = entry->backward(sent);
    std::vector<Tensor> all;
    for (size_t i = 0, next = 0; i < types.size(); ++i) {
      all.push_back(ir::has_tangent(types[i]) ? found[next++] : Tensor());
    }
    return all;
  };
  const auto refuse = [](std::span<const Tensor>, const Node::Kept&,
                         uint64_t) -> std::vector<Tensor> {
    throw TypeError("a function compiled ahead of time has no forward mode")
        .at(Location::of_caller());
  };
  return follow_custom({.inputs = {arguments.begin(), arguments.end()},
                        .residuals = kept,
                        .results = results,
                        .backward = pull,
                        .forward = refuse});
}

// ---- Placeholders.

// Keeps unused instructions: any value may be fetched.
Builder::Builder(std::string name) : trace_(std::make_unique<Trace>(std::move(name))) {
  trace_->function().keep_whole();
}
Builder::~Builder() = default;

Tensor Builder::placeholder(std::string_view type, std::string_view name) {
  if (!trace_) throw ValueError("placeholder: this builder is finished").at(Location::of_caller());
  const Tensor parameter = trace_->parameter(parse_whole(type, ir::parse_type), name);
  return is_inexact(parameter.dtype()) ? parameter.requires_grad() : parameter;
}

Session::Session(Builder& builder, std::span<const Tensor> results) {
  if (!builder.trace_) {
    throw ValueError("Session: this builder is finished").at(Location::of_caller());
  }
  scope_ = builder.trace_->scope();
  RecordedFunction recorded = builder.trace_->finish(results);
  program_ = builder.trace_->program(recorded);
  function_ = std::move(recorded.function);
  captures_ = std::move(recorded.captures);
  values_ = std::move(recorded.values);
  builder.trace_.reset();
}

ir::ValueId Session::value_of(const Tensor& tensor) const {
  if (!tensor.is_traced() || tensor.traced().scope != scope_) {
    throw ValueError("run: a {} that is not a value of this session's program",
                     tensor.type().text())
        .at(Location::of_caller());
  }
  return values_[tensor.traced().value];
}

namespace {

// One run of a session: the values that are known, of all of its function's.
class SessionRun {
 public:
  explicit SessionRun(const ir::Function& function)
      : function_(function), values_(function.value_count()) {}

  void feed(ir::ValueId value, const Tensor& given) {
    const ir::Type& type = function_.type_of(value);
    if (type.dtype() != given.dtype() || type.shape().rank() != given.rank()) {
      throw TypeError("run: {} is fed to a value of {}", given.type().text(), type.text())
          .at(Location::of_caller());
    }
    for (size_t i = 0; i < given.rank(); ++i) {
      const Dim declared = type.shape()[i], size = given.shape()[i];
      if (declared.is_symbol() && sizes_.find(declared) == nullptr) sizes_.set(declared, size);
      if (same(declared.substitute(sizes_), size)) continue;
      throw ShapeError("run: {} is fed to a value of {}", given.type().text(), type.text())
          .at(Location::of_caller());
    }
    values_[value] = given;
  }

  void feed_captures(std::span<const Tensor> captures) {
    const size_t declared = function_.parameter_count() - captures.size();
    for (size_t i = 0; i < captures.size(); ++i) {
      if (Tensor& value = values_[declared + i]; !value) value = captures[i];
    }
  }

  // Runs the instructions that these values depend on, except those whose results are fed.
  void compute(std::span<const ir::ValueId> fetches) {
    std::vector<bool> needed(function_.value_count(), false);
    for (const ir::ValueId fetch : fetches) needed[fetch] = true;
    const std::vector<bool> runs = instructions_for(needed);
    check_parameters(needed);
    for (size_t i = 0; i < function_.size(); ++i) {
      if (runs[i]) run(function_.instruction(i));
    }
  }

  const Tensor& value(ir::ValueId value) const { return values_[value]; }

 private:
  // Adds to `needed` what these values depend on.
  std::vector<bool> instructions_for(std::vector<bool>& needed) const {
    std::vector<bool> runs(function_.size(), false);
    for (size_t i = function_.size(); i-- > 0;) {
      const ir::Instruction instruction = function_.instruction(i);
      for (size_t r = 0; r < instruction.result_count(); ++r) {
        const ir::ValueId result = instruction.result(r);
        runs[i] = runs[i] || (needed[result] && !values_[result]);
      }
      if (!runs[i]) continue;
      for (const ir::ValueId operand : instruction.operands()) needed[operand] = true;
    }
    return runs;
  }

  void check_parameters(const std::vector<bool>& needed) const {
    for (ir::ValueId i = 0; i < function_.parameter_count(); ++i) {
      if (!needed[i] || values_[i]) continue;
      throw ValueError("run: the placeholder {} is needed, but nothing is fed to it",
                       function_.label(i))
          .at(Location::of_caller());
    }
  }

  void run(const ir::Instruction& instruction) {
    std::vector<Tensor> operands;
    for (const ir::ValueId operand : instruction.operands()) operands.push_back(values_[operand]);
    const std::vector<Tensor> results = run_instruction(instruction, operands, sizes_);
    for (size_t r = 0; r < results.size(); ++r) {
      Tensor& value = values_[instruction.result(r)];
      if (!value) value = results[r];
    }
  }

  const ir::Function& function_;
  std::vector<Tensor> values_;
  SymbolMap<Dim> sizes_;
};

}  // namespace

std::vector<Tensor> Session::run(const Feeds& feeds, std::span<const Tensor> fetches) const {
  SessionRun run(*function_);
  for (const auto& [place, given] : feeds) run.feed(value_of(place), given);
  run.feed_captures(captures_);
  std::vector<ir::ValueId> values;
  for (const Tensor& fetch : fetches) values.push_back(value_of(fetch));
  run.compute(values);
  std::vector<Tensor> fetched;
  for (const ir::ValueId value : values) fetched.push_back(run.value(value));
  return fetched;
}

}  // namespace plait
