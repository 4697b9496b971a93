// `while`: on tensors, and for many samples. In traces: staged_while.h.
#include <optional>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/forms/expected_scalar.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/forms/loops/batched_loops.h"
#include "plait/transform/inside/forms/loops/carried_sizes.h"
#include "plait/transform/inside/forms/loops/checkpointed.h"
#include "plait/transform/inside/forms/loops/staged_while.h"
#include "plait/transform/inside/running/key_draws.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace control {
namespace {

void expect_truth(const Tensor& truth) {
  expect_scalar("while: the test", truth, is_boolean(truth.dtype()), "bool[]");
}

Tensors while_now(const TensorFunction& test, const TensorFunction& body,
                  std::span<const Tensor> initial) {
  const std::vector<ir::Type> types = ir_types_of(initial);
  Tensors carries(initial.begin(), initial.end());
  while (true) {
    const Tensor truth = test(carries).at(0);
    expect_truth(truth);
    if (!truth.item<bool>()) return carries;
    Tensors next = body(carries);
    expect_carried("while", types, ir_types_of(next), Location::of_caller(),
                   Carried::may_change_sizes);
    carries = std::move(next);
  }
}

// True if the test is true for any carries.
bool is_always_true(const StagedFunction& test) {
  const ir::Function& function = *test.function;
  const ir::ValueId result = function.results()[0];
  const size_t own = function.parameter_count() - test.captures.size();
  if (result < function.parameter_count()) {
    return result >= own && !test.captures[result - own].is_traced() &&
           test.captures[result - own].item<bool>();
  }
  const ir::Instruction made = *function.definition(result);
  return made.primitive().structure == ir::Structure::literal &&
         Tensor(Array::of(made.attributes_as<ir::LiteralAttributes>().value)).item<bool>();
}

}  // namespace

Tensors while_loop(const TensorFunction& test, const TensorFunction& body,
                   std::span<const Tensor> initial, const LoopOptions& options) {
  if (options.checkpoints) return checkpointed_while(test, body, initial, *options.checkpoints);
  if (Trace::current() == nullptr) return while_now(test, body, initial);
  const std::vector<ir::Type> types = ir_types_of(initial);
  const auto checked = [&](std::span<const Tensor> given) {
    Tensors truth = test(given);
    expect_truth(truth.at(0));
    return truth;
  };
  std::optional<StagedBody> found;
  try {
    found = stage_body(types, body, initial);
  } catch (const UnknownResults&) {  // zero steps are possible: use the initial types
    return placeholder_results(types);
  }
  const StagedFunction tests = stage("test", found->types, checked, {.beside = initial}),
                       &steps = found->body;
  if (is_always_true(tests)) {
    throw ValueError("while: the test is always true, whatever is carried ({})",
                     tests.function->location().text())
        .at(Location::of_caller())
        .hint("<, <=, > and >= compare sizes at run time");
  }
  if (draws_keys(tests.program) || draws_keys(steps.program)) {
    return while_with_keys(with_key(tests), with_key(steps), initial, random::draw_key());
  }
  Captures captures({});
  const std::vector<size_t> for_test = captures.add(tests), for_body = captures.add(steps);
  const size_t constants = captures.operands().size();
  std::vector<ir::Type> all = ir_types_of(captures.operands());
  all.insert(all.end(), found->types.begin(), found->types.end());
  const Tensors operands = joined({captures.operands(), initial});
  const auto whole = [&](const StagedFunction& function, const std::vector<size_t>& places) {
    return stage(function.function->name(), all,
                 [&](auto given) {
                   return function(joined({given.subspan(constants), picked(given, places)}));
                 },
                 {.beside = operands});
  };
  return stage_while({whole(tests, for_test), whole(steps, for_body), constants, found->sizes},
                     operands);
}

}  // namespace control

namespace {

using Values = std::vector<BatchedValue>;
using Operands = std::span<const BatchedValue>;

size_t constants_of(const ir::Instruction& instruction) {
  return static_cast<size_t>(instruction.attributes_as<ir::WhileAttributes>().constants);
}

// ---- On tensors.

std::vector<Tensor> run_while(const OnTensors& here) {
  TensorRun& run = *here.run;
  const size_t count = constants_of(here.instruction);
  const auto constants = here.operands.first(count), carries = here.operands.subspan(count);
  if (run.needs_keys(here.instruction)) {
    return control::while_with_keys(run.called_with_key(here.instruction, 0, constants),
                                    run.called_with_key(here.instruction, 1, constants), carries,
                                    run.options().draw_key());
  }
  return control::while_loop(run.called(here.instruction, 0, constants),
                             run.called(here.instruction, 1, constants), carries);
}

std::vector<Tensor> stage_while(const OnTensors& here) {
  if (auto results = here.run->stage_as_it_stands(here)) return *std::move(results);
  return run_while(here);
}

// ---- For many samples.

// Samples end at different steps: each step runs for those that continue.
class LoopPerSample {
 public:
  LoopPerSample(const OnSamples& here, size_t constants)
      : run_(here.run),
        test_(run_.callee(here.instruction, 0)),
        body_(run_.callee(here.instruction, 1)),
        samples_(run_.samples().count),
        fixed_(here.operands.begin(), here.operands.begin() + ptr(constants)) {}

  // `operands`: all of the instruction.
  Values run(Operands operands) const {
    std::vector<Tensor> carries;
    for (const BatchedValue& operand : operands.subspan(fixed_.size())) {
      carries.push_back(of_all_samples(operand, samples_));
    }
    carries.push_back(run_.run_for(test_, operands, samples_)[0]);
    const auto some_go_on = [](std::span<const Tensor> given) {
      return std::vector{plait::any(given.back())};
    };
    const auto step = [&](std::span<const Tensor> given) {
      return Trace::current() == nullptr ? step_now(given) : step_staged(given);
    };
    std::vector<Tensor> found = control::while_loop(some_go_on, step, carries);
    found.pop_back();
    return values_of(found, true);
  }

 private:
  // Gathers the samples that continue (the last carry), and runs one step on them.
  std::vector<Tensor> step_now(std::span<const Tensor> carries) const {
    const auto now = carries.first(carries.size() - 1);
    const Tensor who = nonzero(carries.back())[0];
    const Dim count = who.shape(0);
    Values theirs = fixed_;
    for (const Tensor& carry : now) theirs.push_back({carry, true});
    theirs = picked_for(theirs, who, samples_);
    const std::vector<Tensor> next = run_.run_for(body_, theirs, count);
    for (size_t i = 0; i < next.size(); ++i) theirs[fixed_.size() + i].tensor = next[i];
    std::vector<Tensor> after;
    for (size_t i = 0; i < next.size(); ++i) {
      after.push_back(beside(now[i], next[i]).at(beside(who, next[i])).set(next[i]));
    }
    const Tensor goes_on = run_.run_for(test_, theirs, count)[0];
    after.push_back(carries.back().at(who).set(beside(goes_on, carries.back())));
    return after;
  }

  // Runs one step for all samples; those that have ended are replaced by copies of one
  // that continues.
  std::vector<Tensor> step_staged(std::span<const Tensor> carries) const {
    const auto now = carries.first(carries.size() - 1);
    const Tensor& goes_on = carries.back();
    std::vector<bool> flags = flags_of(fixed_);
    flags.resize(fixed_.size() + now.size(), true);
    Values values = filled(joined({tensors_in(fixed_), now}), flags, goes_on);
    const std::vector<Tensor> next = run_.run_for(body_, values, samples_);
    std::vector<Tensor> after;
    for (size_t i = 0; i < next.size(); ++i) {
      values[fixed_.size() + i].tensor = next[i];
      after.push_back(where(as_rows(goes_on, next[i]), next[i], beside(now[i], next[i])));
    }
    const Tensor still = run_.run_for(test_, values, samples_)[0];
    after.push_back(logical_and(goes_on, beside(still, goes_on)));
    return after;
  }

  const BatchedRun& run_;
  const ir::Function &test_, &body_;
  const Dim samples_;
  const Values fixed_;  // the constants
};

// The test of a loop that changes sizes; it must not differ between samples. Only eager execution
// checks this.
TensorFunction agreed(const ir::Instruction& instruction, const TensorFunction& test) {
  const auto refuse = [location = instruction.location()] {
    throw TypeError(
        "while: samples end at different steps, and sizes of what they carry change, which would "
        "differ from sample to sample")
        .at(location)
        .hint("use the padded form: a fixed size and the number of valid entries");
  };
  if (Trace::current() != nullptr) refuse();
  return [test, refuse](std::span<const Tensor> given) {
    const Tensor truths = test(given)[0], some = plait::any(truths);
    if (some.item<bool>() != all(truths).item<bool>()) refuse();
    return std::vector{some};
  };
}

Values batch_while(const OnSamples& here) {
  const BatchedRun& run = here.run;
  const size_t count = constants_of(here.instruction), carries = here.operands.size() - count;
  const ir::Function& test = run.callee(here.instruction, 0);
  const ir::Function& body = run.callee(here.instruction, 1);
  LoopParameters parameters{{}, flags_of(here.operands)};
  for (const BatchedValue& operand : here.operands) {
    parameters.types.push_back(run.type_of(operand));
  }
  find_batched_carries(run, body, count, carries, parameters);
  const std::vector<bool>& flags = parameters.flags;
  const bool parts = batched_results(run, test, parameters)[0];
  const bool changes = !here.instruction.size_results().empty();
  if (parts && !changes) return LoopPerSample(here, count).run(here.operands);
  const Operands constants = here.operands.first(count);
  TensorFunction goes_on = after_constants(run, test, constants, flags, {parts});
  if (parts) goes_on = agreed(here.instruction, goes_on);
  const std::vector<bool> of_carries(flags.begin() + ptr(count), flags.end());
  std::vector<Tensor> initial;
  for (size_t i = 0; i < carries; ++i) {
    const BatchedValue& carry = here.operands[count + i];
    initial.push_back(of_carries[i] ? of_all_samples(carry, run.samples().count) : carry.tensor);
  }
  const TensorFunction step = after_constants(run, body, constants, flags, of_carries);
  return with_flags(control::while_loop(goes_on, step, initial), of_carries);
}

}  // namespace

namespace forms {

extern constexpr Form kWhile{.run = run_while, .stage = stage_while, .batch = batch_while};

}  // namespace forms
}  // namespace plait
