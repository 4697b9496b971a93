#include "plait/transform/inside/jit/jit_recording.h"

#include <algorithm>
#include <optional>
#include <span>

#include "plait/core/error.h"
#include "plait/core/inside/error_count.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/programs.h"

namespace plait::jits {
namespace {

class RecordingCompanion final : public Companion {
 public:
  explicit RecordingCompanion(const JitArguments& arguments) : arguments_(arguments) {}

  Execution execution() const override { return Execution::on_demand; }
  std::vector<Tensor> apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
                            const ir::Attributes& attributes) override {
    return apply_undifferentiated(primitive, operands, attributes);
  }
  std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) override {
    return plait::run(program, operands);
  }
  bool has_parameter_of(const Level& level) const override {
    return std::ranges::any_of(arguments_.all(), [&](const Tensor* argument) {
      if (!*argument) return false;
      const auto& derivation = argument->derivation();
      return derivation && derivation->origin.levels.contains(level);
    });
  }
  void on_read(const Tensor& value) override {
    const Location location = Location::of_caller();
    if (const JitOptions* const strict = Fullgraph::current()) {
      throw ValueError("{}: host code reads a number from a {}, which `fullgraph` forbids",
                       strict->name, value.type().text())
          .at(location)
          .hint("compute with the tensor, or decide by where, cond or while_loop");
    }
    if (!has_read) read = location;
    has_read = true;
  }
  void on_guard(bool outcome, Location location) override {
    if (const JitOptions* const strict = Fullgraph::current()) {
      throw ValueError("{}: host code decides by the value of a tensor, which `fullgraph` forbids",
                       strict->name)
          .at(location)
          .hint("decide by where, cond or while_loop");
    }
    outcomes.push_back(outcome);
    places.push_back(location);
  }

  std::vector<bool> outcomes;
  std::vector<Location> places;
  bool has_read = false;
  Location read;

 private:
  const JitArguments& arguments_;
};

std::vector<std::shared_ptr<Tensor>> expected_by(std::span<const Tensor> results) {
  std::vector<std::shared_ptr<Tensor>> expected;
  for (const Tensor& each : results) {
    expected.push_back(each && each.is_traced() ? each.traced().actual : nullptr);
  }
  return expected;
}

// Computes what tensors still refer to, and lets the effects happen; with `except` that of other
// tensors. If an operation fails, what the host code has stored before it keeps its value.
void compute(Trace& trace, std::optional<std::span<const Tensor>> except = std::nullopt) {
  try {
    if (!except) trace.run().compute_effects();
    trace.run().compute_referenced(except.value_or(std::span<const Tensor>()));
  } catch (...) {
    trace.run().compute_what_does_not_fail();
    throw;
  }
}

}  // namespace

Outcome Record::outcome_of(std::vector<Tensor> results) const {
  for (const size_t i : empty_leaves) {
    results.insert(results.begin() + static_cast<std::ptrdiff_t>(i), Tensor());
  }
  return {std::move(results), result};
}

Recording record(const ToRecord& what, EffectLog& log) {
  const EffectLog::Scope effects(log);
  const Fullgraph strict(what.options);
  RecordingCompanion companion(what.leaves);
  Trace trace(what.options.name, Trace::apart);
  trace.execute_with(companion);
  std::vector<Tensor> parameters;
  for (size_t i = 0; i < what.leaves.size(); ++i) {
    const Tensor& leaf = what.leaves[i];
    parameters.push_back(leaf ? trace.parameter(what.types[i], what.paths[i], underived(leaf))
                              : leaf);
  }
  for (const SizeFact& fact : what.facts) trace.sizes().assume(fact);
  std::any result;
  const uint64_t errors = errors_shown();
  std::vector<Tensor> results;
  try {
    results = what.host(parameters, result);
  } catch (const Unwinding&) {
    throw;
  } catch (...) {  // tensors that it has stored elsewhere stay
    compute(trace);
    throw;
  }
  Recording recording{.has_failed = errors_shown() != errors};
  recording.outcome.result = std::make_shared<const std::any>(std::move(result));
  recording.captures_followed =
      trace.levels().are_followed_outside(trace.function().captures().tensors());
  recording.read = companion.read;
  const bool has_record = !companion.has_read && !recording.has_failed;
  recording.is_to_run = has_record && what.runs_record(recording.captures_followed);
  if (recording.is_to_run) {
    compute(trace, results);
    recording.expected = expected_by(results);
  } else {
    compute(trace);
    for (const Tensor& each : results) {
      recording.outcome.leaves.push_back(each && each.is_traced() ? Trace::actual(each) : each);
    }
  }
  if (!has_record) return recording;
  std::vector<size_t> empty_leaves;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) empty_leaves.push_back(i);
  }
  std::erase_if(results, [](const Tensor& each) { return !each; });
  RecordedFunction recorded = trace.finish(results);
  recording.record = std::make_shared<Record>(Record{.program = trace.program(recorded),
                                                     .hidden = std::move(recorded.captures),
                                                     .outcomes = std::move(companion.outcomes),
                                                     .places = std::move(companion.places),
                                                     .result = recording.outcome.result,
                                                     .empty_leaves = std::move(empty_leaves),
                                                     .run = {}});
  return recording;
}

}  // namespace plait::jits
