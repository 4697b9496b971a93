#include "plait/tensor/inside/tracing/trace.h"

#include "plait/core/ambient.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/primitive.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/late_use.h"
#include "plait/tensor/inside/tracing/run_recorded.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {

Trace::Trace(std::string name) : Trace(std::move(name), false) {}
Trace::Trace(std::string name, Apart) : Trace(std::move(name), true) {}

Trace::Trace(std::string name, bool is_apart)
    : outer_(ambient.trace),
      is_apart_(is_apart || outer_ == nullptr),
      scope_(std::make_shared<TraceScope>(TraceScope{this, name})),
      function_(std::move(name),
                is_apart_ ? std::make_shared<TraceProgram>() : outer_->function_.program(),
                outer_ == nullptr ? nullptr : &outer_->function_),
      run_(scope_, function_, levels_) {
  ambient.trace = this;
}

Trace::~Trace() { close(); }

void Trace::close() {
  if (!scope_->trace) return;
  scope_->trace = nullptr;
  if (ambient.ended_traces != nullptr) ambient.ended_traces->note(scope_);
  ambient.trace = outer_;
  function_.sizes().stop_reading();
  levels_.close();
}

Trace* Trace::current() { return ambient.trace; }

const Trace* Trace::outermost() const {
  const Trace* trace = this;
  while (!trace->is_apart_) trace = trace->outer_;
  return trace;
}

Tensor Trace::parameter(const ir::Type& type, std::string_view label, Tensor actual,
                        Device device) {
  function_.declare_sizes(type);
  TracedValue value{.scope = scope_,
                    .value = function_.builder().parameter(type, label),
                    .type = type,
                    .piece = run_.values().piece(),
                    .device = device};
  if (actual) {
    function_.sizes().learn({&type, 1}, {&actual, 1});
    value.device = actual.device();
    value.knows_device = true;
    value.is_unplaced = actual.is_unplaced();
    value.actual = std::make_shared<Tensor>(std::move(actual));
    if (run_.is_on_demand()) run_.values().add(value.value, value.actual);
  }
  return Tensor(std::move(value));
}

ir::ValueId Trace::value_of(const Tensor& tensor) {
  const void* identity = tensor.identity();
  if (tensor.is_traced()) {
    const TracedValue& traced = tensor.traced();
    if (traced.scope == scope_ && traced.piece == run_.values().piece()) {
      const bool is_known = traced.is_followed || levels_.is_under_no_grad();
      return is_known ? traced.value : levels_.stopped(traced, function_.builder());
    }
    if (traced.scope->trace == nullptr) refuse_late_use(traced);
    if (traced.scope == scope_) identity = traced.actual.get();
  }
  const TraceCaptures& captures = function_.captures();
  if (const auto known = captures.find(identity)) return *known;
  if (!run_.is_in_pieces()) {
    if (const auto equal = captures.find_equal(tensor)) return *equal;
  }
  return function_.capture(identity, tensor);
}

std::vector<Tensor> Trace::tensors_of(const ir::Added& added, const TracedInstruction& instruction,
                                      std::span<const Tensor> actual) {
  std::vector<Tensor> results;
  results.reserve(added.count);
  for (size_t i = 0; i < added.count; ++i) {
    TracedValue value{
        .scope = scope_,
        .value = added[i],
        .type = function_.so_far().type_of(added[i]),
        .piece = run_.values().piece(),
        .is_followed = !levels_.is_under_no_grad(),
        .device = instruction.result_device(),
        .knows_device = run_.companion() != nullptr && instruction.knows_result_device(),
        .is_unplaced = instruction.gives_unplaced()};
    if (!actual.empty()) {
      value.device = actual[i].device();
      value.knows_device = true;
      value.is_unplaced = actual[i].is_unplaced();
      value.actual = std::make_shared<Tensor>(actual[i]);
    } else if (run_.is_in_pieces() || run_.is_on_demand()) {
      value.actual = run_.values().add(added[i]);
    }
    results.push_back(Tensor(std::move(value)));
  }
  return results;
}

ir::Added Trace::add(const TracedInstruction& instruction) {
  std::vector<ir::ValueId> operands;
  operands.reserve(instruction.operands.size());
  for (const Tensor& operand : instruction.operands) operands.push_back(value_of(operand));
  guard_data_dependent_sizes();
  return function_.builder().add({.primitive = instruction.primitive,
                                  .operands = operands,
                                  .attributes = instruction.attributes,
                                  .callees = instruction.callees,
                                  .size_arguments = instruction.size_arguments,
                                  .stated_types = instruction.stated_types,
                                  .location = Location::of_caller()});
}

std::vector<Tensor> Trace::record(const TracedInstruction& instruction) {
  if (run_.companion() != nullptr) return record_with_numbers(instruction);
  return tensors_of(add(instruction), instruction);
}

Tensor Trace::constant(Literal literal) {
  if (run_.is_in_pieces()) return Tensor(Array::of(literal));
  return record({.primitive = ir::primitive(ir::Structure::literal),
                 .attributes = ir::Attributes::of(ir::LiteralAttributes{std::move(literal)})})[0];
}

Tensor Trace::size(Dim size, DType dtype) {
  return record({.primitive = ir::primitive(ir::Structure::size),
                 .attributes = ir::Attributes::of(ir::SizeAttributes{size, dtype})})[0];
}

Dim Trace::as_size(const Tensor& count, bool at_least) {
  const ir::ValueId operand = value_of(count);
  ir::FunctionBuilder& builder = function_.builder();
  const Dim size = builder.data_dependent_size_of(
      builder.add({.primitive = ir::primitive(ir::Structure::as_size),
                   .operands = {&operand, 1},
                   .attributes = ir::Attributes::of(ir::AsSizeAttributes{at_least}),
                   .location = Location::of_caller()}));
  if (run_.companion() != nullptr) {
    if (const Tensor known = actual(count))
      function_.sizes().set_number(size, known.item<int64_t>());
  }
  return size;
}

Tensor Trace::refine(const Tensor& tensor, const Shape& shape) {
  const ir::Type type = tensor.type().without_sharding().with_shape(shape);
  const Tensor refined = record({.primitive = ir::primitive(ir::Structure::refine),
                                 .operands = {&tensor, 1},
                                 .stated_types = {&type, 1}})[0];
  return tensor.derivation() ? follow_refined(tensor, refined) : refined;
}

RecordedFunction Trace::finish(std::span<const Tensor> results) { return finish_with(results, {}); }

RecordedFunction Trace::finish(std::span<const Tensor> results, const ResultSizes& sizes) {
  function_.builder().declare_results(sizes.names, sizes.results);
  return finish_with(results, sizes.values);
}

RecordedFunction Trace::finish_with(std::span<const Tensor> results,
                                    std::span<const Dim> size_values) {
  std::vector<ir::ValueId> values;
  for (const Tensor& result : results) values.push_back(value_of(result));
  guard_data_dependent_sizes();
  // Sizes that are not dimensions of any captured tensor become size parameters too.
  for (const Dim size : function_.outer_sizes()) function_.declare_size(size);
  close();
  RecordedFunction recorded = function_.finish(values, size_values);
  if (!is_apart_) functions().builder().add(recorded.function);
  return recorded;
}

ir::Program Trace::program(const RecordedFunction& entry) {
  ir::Program program = functions().with_entry(entry.function);
  if (!entry.function->signature().axes.axes.empty()) ir::refuse_divergent_collectives(program);
  ir::verify_pass(program, "recording");
  return program;
}

// ---- With a companion: recorded instructions are executed too.

void Trace::execute_with(Companion& companion) {
  run_.begin(companion, outer_ != nullptr ? &outer_->function_.sizes() : nullptr);
}

Tensor Trace::actual(const Tensor& tensor) {
  if (!tensor.is_traced()) return tensor;
  const TracedValue& traced = tensor.traced();
  if (!traced.actual) return {};
  Trace* const trace = traced.scope->trace;
  if (!*traced.actual && trace != nullptr && traced.piece == trace->run_.values().piece()) {
    trace->run_.compute(traced.value);
  }
  if (!*traced.actual) {
    throw ValueError("a {} was never computed: an operation recorded with it failed",
                     traced.type.text())
        .at(Location::of_caller());
  }
  return *traced.actual;
}

bool Trace::decide(const Tensor& truth) {
  const bool outcome = actual(truth).item<bool>();
  if (run_.is_in_pieces()) return outcome;
  const Location location = Location::of_caller();
  Companion& companion = *run_.companion();
  if (companion.handles_decision(truth, location)) return outcome;
  const ir::ValueId value = value_of(truth);
  guard_data_dependent_sizes();
  function_.builder().add({.primitive = ir::primitive(ir::Structure::guard),
                           .operands = {&value, 1},
                           .attributes = ir::Attributes::of(ir::GuardAttributes{outcome}),
                           .location = location});
  companion.on_guard(outcome, location);
  return outcome;
}

// Records a guard for each decision about data-dependent sizes, at the place of the decision.
void Trace::guard_data_dependent_sizes() {
  if (run_.companion() == nullptr || run_.is_in_pieces()) return;
  while (const auto fact = function_.sizes().next_to_guard()) {
    const Location location = Location::of_caller();
    function_.builder().add({.primitive = ir::primitive(ir::Structure::size_guard),
                             .attributes = ir::Attributes::of(ir::SizeGuardAttributes{*fact}),
                             .location = location});
    run_.companion()->on_guard(true, location);
  }
}

ir::Added Trace::add_for_numbers(const TracedInstruction& instruction) {
  try {
    return add(instruction);
  } catch (const Error& error) {
    const std::exception_ptr refused = std::current_exception();
    if (run_.is_right(instruction)) throw NeedsConcreteSizes(refused, error.message());
    throw;
  }
}

std::vector<Tensor> Trace::record_with_numbers(const TracedInstruction& instruction) {
  if (run_.is_eager()) {
    const ir::Added added = add_for_numbers(instruction);
    return tensors_of(added, instruction, run_.results_of(instruction, added));
  }
  if (run_.is_in_pieces() && may_be_observed(instruction, functions().declarations())) {
    return record_eagerly(instruction);
  }
  if (run_.is_on_demand()) run_.expect_right_sizes(instruction);
  const ir::Added added = add_for_numbers(instruction);
  std::vector<Tensor> results = tensors_of(added, instruction);
  const ir::Instruction recorded = function_.so_far().instruction(added.instruction);
  if (recorded.size_results().empty()) return results;
  if (run_.is_in_pieces()) {
    run_.compute_pending();
  } else {
    for (size_t i = 0; i < added.count; ++i) run_.values().hold(added[i]);
    actual(results[0]);
  }
  return results;
}

std::vector<Tensor> Trace::record_eagerly(const TracedInstruction& instruction) {
  run_.compute_pending();
  const ir::Added added = add_for_numbers(instruction);
  try {
    std::vector<Tensor> results =
        tensors_of(added, instruction, run_.results_of(instruction, added));
    run_.begin_piece();
    // Drops the functions that it called, unless a nested trace is still open.
    const bool has_called = !instruction.callees.empty();
    if (has_called && current() == this) function_.begin_in_new_program();
    return results;
  } catch (...) {
    run_.begin_piece();
    throw;
  }
}

}  // namespace plait
