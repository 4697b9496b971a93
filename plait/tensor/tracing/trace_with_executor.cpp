// Traces with a companion: recorded instructions are executed too, eagerly or in pieces.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/size_reader.h"
#include "plait/ir/structure.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {

namespace {

// Answers host code that reads sizes or tests conditions on them.
class Reader final : public SizeReader {
 public:
  explicit Reader(SizeContext& sizes) : sizes_(sizes) {}

 private:
  std::optional<int64_t> number(Dim size) override {
    const std::optional<int64_t> known = sizes_.actual(size);
    if (known) sizes_.decide({size, SizeFact::equal, *known});
    return known;
  }
  std::optional<bool> holds(const SizeFact& fact) override {
    const bool is_known = sizes_.actual(fact.left) && sizes_.actual(fact.right);
    return is_known ? std::optional(sizes_.decide(fact)) : std::nullopt;
  }

  SizeContext& sizes_;
};

}  // namespace

bool Trace::waits() const { return companion_ != nullptr && companion_->waits(); }

Tensor Trace::actual(const Tensor& tensor) {
  if (!tensor.is_traced()) return tensor;
  const TracedValue& traced = tensor.traced();
  if (!traced.actual) return {};
  Trace* const trace = traced.scope->trace;
  if (!*traced.actual && trace != nullptr && traced.piece == trace->piece_)
    trace->compute_pending();
  if (!*traced.actual) {
    throw ValueError("a {} was never computed: an operation recorded with it failed",
                     traced.type.text())
        .at(Location::of_caller());
  }
  return *traced.actual;
}

// True if host code could observe the execution, or catch its failure.
bool Trace::runs_eagerly(const TracedInstruction& instruction) const {
  if (!instruction.callees.empty()) return true;
  const ir::Primitive& primitive = instruction.primitive;
  if (primitive.effects == nullptr || primitive.structure == ir::Structure::refine) return false;
  ir::FunctionBuilder alone("alone", program_->builder.declarations());
  std::vector<ir::ValueId> operands;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(alone.parameter(operand.type()));
  }
  const ir::Added added = alone.add({.primitive = primitive,
                                     .operands = operands,
                                     .attributes = instruction.attributes,
                                     .size_arguments = instruction.size_arguments,
                                     .stated_types = instruction.stated_types,
                                     .location = Location::of_caller()});
  return !primitive.effects(alone.so_far().instruction(added.instruction)).pure();
}

void Trace::execute_with(Companion& companion) {
  companion_ = &companion;
  if (outer_ != nullptr) actual_sizes_ = outer_->actual_sizes_;
  sizes_ = SizeContext({}, &actual_sizes_);
  reader_ = std::make_unique<Reader>(sizes_);
}

bool Trace::decide(const Tensor& truth) {
  const bool outcome = actual(truth).item<bool>();
  if (waits()) return outcome;
  const Location location = Location::of_caller();
  if (companion_->handles_decision(truth, location)) return outcome;
  const ir::ValueId value = value_of(truth);
  guard_data_dependent_sizes();
  builder_->add({.primitive = ir::primitive(ir::Structure::guard),
                 .operands = {&value, 1},
                 .attributes = ir::Attributes::of(ir::GuardAttributes{outcome}),
                 .location = location});
  companion_->on_guard(outcome, location);
  return outcome;
}

bool Trace::captures_followed() {
  const LevelPause::Break followed(*pause_);
  return is_followed(captures_);
}

bool Trace::takes_of(const Level& level) const {
  const auto is_of = [&](const Tensor& capture) {
    return capture.derivation() && capture.derivation()->origin.levels.contains(level);
  };
  return (companion_ != nullptr && companion_->has_parameter_of(level)) ||
         std::ranges::any_of(captures_, is_of);
}

// Records a guard for each decision about data-dependent sizes, at the place of the decision.
void Trace::guard_data_dependent_sizes() {
  if (companion_ == nullptr || waits()) return;
  for (; guarded_facts_ < sizes_.guards().size(); ++guarded_facts_) {
    const SizeFact& fact = sizes_.guards()[guarded_facts_];
    if (is_about_parameters(fact)) continue;
    const Location location = Location::of_caller();
    builder_->add({.primitive = ir::primitive(ir::Structure::size_guard),
                   .attributes = ir::Attributes::of(ir::SizeGuardAttributes{fact}),
                   .location = location});
    companion_->on_guard(true, location);
  }
}

void Trace::learn_sizes(std::span<const ir::Type> types, std::span<const Tensor> actual) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_array()) continue;
    const Sizes& sizes = actual[i].array().sizes();
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      const Dim dim = types[i].shape()[axis];
      if (dim.is_symbol() && !actual_sizes_.find(dim)) actual_sizes_.set(dim, sizes[axis]);
    }
  }
}

std::vector<Tensor> Trace::actual_results(const TracedInstruction& instruction,
                                          const ir::Added& added) {
  std::vector<Tensor> operands;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(waits() ? actual(operand) : underived(actual(operand)));
    if (!operands.back()) return {};
  }
  const Instead alone(nullptr);
  const LevelPause::Break followed(*pause_);
  const ir::Instruction recorded = builder_->so_far().instruction(added.instruction);
  std::vector<Tensor> results;
  switch (recorded.primitive().structure) {
    case ir::Structure::machine:
      results = companion_->apply(recorded.primitive(), operands,
                                  recorded.attributes().map_sizes(
                                      [&](Dim dim) { return Dim(dim.evaluate(actual_sizes_)); }));
      break;
    case ir::Structure::literal:
      results = {Tensor(Array::of(recorded.attributes_as<ir::LiteralAttributes>().value))};
      break;
    case ir::Structure::size: {
      const auto& size = recorded.attributes_as<ir::SizeAttributes>();
      const int64_t number = size.value.evaluate(actual_sizes_);
      results = {Tensor(Array::filled(size.dtype, {}, Element::of_signed(number)))};
      break;
    }
    default: results = run_alone(instruction, recorded, operands);
  }
  learn_sizes(recorded.result_types(), results);
  return results;
}

// Runs one instruction as a program of its own, with its callees.
std::vector<Tensor> Trace::run_alone(const TracedInstruction& instruction,
                                     const ir::Instruction& recorded,
                                     std::span<const Tensor> operands) {
  const auto at_present = [&](Dim dim) { return Dim(dim.evaluate(actual_sizes_)); };
  SymbolMap<Dim> sizes;
  for (const auto& [symbol, number] : actual_sizes_) sizes.set(symbol, number);
  ir::FunctionBuilder step = program_->builder.function(free_name("step"));
  std::vector<ir::ValueId> values;
  for (const Tensor& operand : operands) values.push_back(step.parameter(operand.type()));
  std::vector<ir::Callee> callees(instruction.callees.begin(), instruction.callees.end());
  for (ir::Callee& callee : callees) {
    for (Dim& size : callee.sizes) size = at_present(size);
  }
  std::vector<Dim> size_arguments;
  for (const Dim size : instruction.size_arguments) size_arguments.push_back(at_present(size));
  std::vector<ir::Type> stated;
  for (const ir::Type& type : instruction.stated_types) stated.push_back(type.substitute(sizes));
  const ir::Added added = step.add({.primitive = recorded.primitive(),
                                    .operands = values,
                                    .attributes = recorded.attributes().map_sizes(at_present),
                                    .callees = callees,
                                    .size_arguments = size_arguments,
                                    .stated_types = stated,
                                    .location = recorded.location()});
  std::vector<ir::ValueId> results;
  for (size_t i = 0; i < added.count; ++i) results.push_back(added[i]);
  ir::ProgramBuilder whole;
  whole.add(step.finish(results));
  whole.add_all(program_->builder);
  return companion_->run(whole.finish(), operands);
}

ir::Added Trace::add_for_numbers(const TracedInstruction& instruction) {
  try {
    return add(instruction);
  } catch (const Error& error) {
    const std::exception_ptr refused = std::current_exception();
    if (is_right_for_numbers(instruction)) throw NeedsConcreteSizes(refused, error.message());
    throw;
  }
}

bool Trace::is_right_for_numbers(const TracedInstruction& instruction) {
  if (instruction.primitive.structure != ir::Structure::machine || actual_sizes_.empty()) {
    return false;
  }
  try {
    std::vector<Tensor> operands;
    for (const Tensor& operand : instruction.operands) {
      operands.push_back(underived(actual(operand)));
      if (!operands.back()) return false;
    }
    const Instead alone(nullptr);
    const LevelPause::Break followed(*pause_);
    companion_->apply(instruction.primitive, operands, instruction.attributes.map_sizes([&](Dim d) {
      return Dim(d.evaluate(actual_sizes_));
    }));
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Tensor> Trace::record_with_numbers(const TracedInstruction& instruction) {
  if (!waits()) {
    const ir::Added added = add_for_numbers(instruction);
    return tensors_of(added, actual_results(instruction, added));
  }
  if (runs_eagerly(instruction)) return record_eagerly(instruction);
  const ir::Added added = add_for_numbers(instruction);
  std::vector<Tensor> results = tensors_of(added);
  const bool bears_sizes =
      !builder_->so_far().instruction(added.instruction).size_results().empty();
  if (bears_sizes) compute_pending();
  return results;
}

// ---- Lazy evaluation in pieces.

// An argument of a function that is recorded in pieces.
Tensor Trace::given(const ir::Type& type, Tensor actual) {
  learn_sizes({&type, 1}, {&actual, 1});
  return Tensor(TracedValue{.scope = scope_,
                            .type = type,
                            .actual = std::make_shared<Tensor>(std::move(actual)),
                            .piece = kBeforeAll});
}

std::vector<Tensor> Trace::record_eagerly(const TracedInstruction& instruction) {
  compute_pending();
  const ir::Added added = add_for_numbers(instruction);
  try {
    std::vector<Tensor> results = tensors_of(added, actual_results(instruction, added));
    begin_piece();
    if (!instruction.callees.empty()) drop_functions();
    return results;
  } catch (...) {
    begin_piece();
    throw;
  }
}

// Drops the functions that were called by the instruction that has run, unless a nested trace is
// still open.
void Trace::drop_functions() {
  if (current() != this) return;
  const auto program = std::make_shared<TraceProgram>();
  for (const ir::RecordType& record : program_->builder.records()) program->builder.record(record);
  program_ = program;
  begin_function();
}

void Trace::compute_pending() {
  if (!waits()) return;
  std::vector<std::shared_ptr<Tensor>> places;
  std::vector<ir::Type> types;
  std::vector<ir::ValueId> values;
  for (const Waiting& each : waiting_) {
    std::shared_ptr<Tensor> place = each.actual.lock();
    if (!place) continue;
    places.push_back(std::move(place));
    types.push_back(builder_->type_of(each.value));
    values.push_back(each.value);
  }
  if (places.empty()) return;
  const TracedPiece piece = cut(values);
  const Instead alone(nullptr);
  const LevelPause::Break followed(*pause_);
  std::vector<Tensor> results = companion_->run(piece);
  learn_sizes(types, results);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
}

TracedPiece Trace::cut(std::span<const ir::ValueId> results) {
  std::vector<Dim> sizes = undeclared_sizes();
  sizes.insert(sizes.end(), size_parameters_.begin(), size_parameters_.end());
  for (const Dim size : sizes) {
    if (has_dimension(size)) continue;
    const int64_t number = *sizes_.actual(size);
    capture(given(ir::Type::array(DType::boolean, {size, 0}),
                  Tensor(Array::empty(DType::boolean, {number, 0}))));
  }
  const RecordedFunction recorded = conclude(results, {});
  TracedPiece piece{.program = part(recorded), .operands = {}, .is_constant = {}};
  for (const Tensor& capture : recorded.captures) {
    piece.is_constant.push_back(!capture.is_traced() && capture.is_array() && capture.rank() == 0);
    piece.operands.push_back(actual(capture));
  }
  begin_piece();
  return piece;
}

void Trace::begin_piece() {
  begin_function();
  ++piece_;
  waiting_.clear();
  captures_.clear();
  capture_values_.clear();
  captured_.clear();
  size_parameters_.clear();
  stopped_.clear();
}

}  // namespace plait
