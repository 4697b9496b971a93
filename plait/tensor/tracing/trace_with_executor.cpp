// Traces with a companion: recorded instructions are executed too, eagerly, in pieces or on demand.
#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ir/primitive.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/run_recorded.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {

namespace {

// The values of the operands in this run; empty if one is unknown.
std::optional<std::vector<Tensor>> actual_operands(const TracedInstruction& instruction) {
  std::vector<Tensor> operands;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(Trace::actual(operand));
    if (!operands.back()) return std::nullopt;
  }
  return operands;
}

void underive(std::span<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor = underived(tensor);
}

}  // namespace

Tensor Trace::actual(const Tensor& tensor) {
  if (!tensor.is_traced()) return tensor;
  const TracedValue& traced = tensor.traced();
  if (!traced.actual) return {};
  Trace* const trace = traced.scope->trace;
  if (!*traced.actual && trace != nullptr && traced.piece == trace->pending_.piece()) {
    if (trace->is_on_demand()) {
      trace->compute_on_read(traced.value);
    } else {
      trace->compute_pending();
    }
  }
  if (!*traced.actual) {
    throw ValueError("a {} was never computed: an operation recorded with it failed",
                     traced.type.text())
        .at(Location::of_caller());
  }
  return *traced.actual;
}

void Trace::execute_with(Companion& companion) {
  companion_ = &companion;
  sizes_.begin_reading(outer_ != nullptr ? &outer_->sizes_ : nullptr);
}

bool Trace::decide(const Tensor& truth) {
  const bool outcome = actual(truth).item<bool>();
  if (is_in_pieces()) return outcome;
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
  const LevelPause::Break followed(levels_.pause());
  return is_followed(captures_.tensors());
}

bool Trace::takes_of(const Level& level) const {
  const auto is_of = [&](const Tensor& capture) {
    return capture.derivation() && capture.derivation()->origin.levels.contains(level);
  };
  return (companion_ != nullptr && companion_->has_parameter_of(level)) ||
         std::ranges::any_of(captures_.tensors(), is_of);
}

// Records a guard for each decision about data-dependent sizes, at the place of the decision.
void Trace::guard_data_dependent_sizes() {
  if (companion_ == nullptr || is_in_pieces()) return;
  while (const auto fact = sizes_.next_to_guard()) {
    const Location location = Location::of_caller();
    builder_->add({.primitive = ir::primitive(ir::Structure::size_guard),
                   .attributes = ir::Attributes::of(ir::SizeGuardAttributes{*fact}),
                   .location = location});
    companion_->on_guard(true, location);
  }
}

std::vector<Tensor> Trace::actual_results(const TracedInstruction& instruction,
                                          const ir::Added& added) {
  auto operands = actual_operands(instruction);
  if (!operands) return {};
  if (!is_in_pieces()) underive(*operands);
  const Instead alone(nullptr);
  const LevelPause::Break followed(levels_.pause());
  const ir::Instruction recorded = builder_->so_far().instruction(added.instruction);
  const auto unused_name = [&](std::string_view wanted) { return free_name(wanted); };
  std::vector<Tensor> results = run_recorded(*companion_, instruction, recorded, *operands,
                                             sizes_.numbers(), *program_, unused_name);
  sizes_.learn(recorded.result_types(), results);
  return results;
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
  if (instruction.primitive.structure != ir::Structure::machine || sizes_.numbers().empty()) {
    return false;
  }
  try {
    auto operands = actual_operands(instruction);
    if (!operands) return false;
    underive(*operands);
    const Instead alone(nullptr);
    const LevelPause::Break followed(levels_.pause());
    return is_right_for(*companion_, instruction, *operands, sizes_.numbers());
  } catch (const Error&) {
    return false;
  }
}

// Throws the error of the type rule for the sizes of this run: a rule may accept a symbol where it
// refuses the number, and host code that follows must not run.
void Trace::expect_right_sizes(const TracedInstruction& instruction) const {
  if (instruction.primitive.structure != ir::Structure::machine) return;
  SymbolMap<Dim> numbers;
  for (const auto& [symbol, number] : sizes_.numbers()) numbers.set(symbol, Dim(number));
  bool has_symbols = false, has_unknown = false;
  const auto with_numbers = [&](const ir::Type& type) {
    ir::Type found = type.substitute(numbers);
    type.for_each_dim([&](Dim dim) { has_symbols = has_symbols || !dim.is_number(); });
    found.for_each_dim([&](Dim dim) { has_unknown = has_unknown || !dim.is_number(); });
    return found;
  };
  std::vector<ir::Type> operands, stated;
  for (const Tensor& operand : instruction.operands) {
    operands.push_back(with_numbers(operand.type()));
  }
  for (const ir::Type& type : instruction.stated_types) stated.push_back(with_numbers(type));
  if (!has_symbols || has_unknown) return;
  const ir::Attributes given = instruction.attributes
                                   ? instruction.attributes
                                   : ir::Attributes::defaults(instruction.primitive.attributes);
  const ir::Attributes attributes =
      given.map_sizes([&](Dim dim) { return dim.substitute(numbers); });
  int count = 0;
  ir::Inference inference{.primitive = instruction.primitive,
                          .operands = operands,
                          .attributes = attributes,
                          .callees = {},
                          .size_arguments = {},
                          .stated = stated,
                          .declarations = program_->declarations(),
                          .axes = builder_->so_far().signature().axes,
                          .name_size = [&](std::string_view hint) {
                            return Dim::symbol(fmt::format("{}.{}", hint, count++));
                          }};
  inference.run();
}

std::vector<Tensor> Trace::record_with_numbers(const TracedInstruction& instruction) {
  if (is_executed(Execution::eagerly)) {
    const ir::Added added = add_for_numbers(instruction);
    return tensors_of(added, instruction, actual_results(instruction, added));
  }
  if (is_in_pieces() && may_be_observed(instruction, program_->declarations())) {
    return record_eagerly(instruction);
  }
  if (is_on_demand()) expect_right_sizes(instruction);
  const ir::Added added = add_for_numbers(instruction);
  std::vector<Tensor> results = tensors_of(added, instruction);
  const ir::Instruction recorded = builder_->so_far().instruction(added.instruction);
  if (recorded.size_results().empty()) return results;
  if (is_in_pieces()) {
    compute_pending();
  } else {
    for (size_t i = 0; i < added.count; ++i) pending_.hold(added[i]);
    actual(results[0]);
  }
  return results;
}

// ---- In pieces.

// An argument of a function that is recorded in pieces.
Tensor Trace::given(const ir::Type& type, Tensor actual) {
  sizes_.learn({&type, 1}, {&actual, 1});
  const Device device = actual.device();
  const bool is_unplaced = actual.is_unplaced();
  return Tensor(TracedValue{.scope = scope_,
                            .type = type,
                            .actual = std::make_shared<Tensor>(std::move(actual)),
                            .piece = PendingValues::kBeforeAll,
                            .device = device,
                            .knows_device = true,
                            .is_unplaced = is_unplaced});
}

std::vector<Tensor> Trace::record_eagerly(const TracedInstruction& instruction) {
  compute_pending();
  const ir::Added added = add_for_numbers(instruction);
  try {
    std::vector<Tensor> results =
        tensors_of(added, instruction, actual_results(instruction, added));
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
  program->declare_records(program_->builder().records());
  program_ = program;
  begin_function();
}

void Trace::compute_pending() {
  if (!is_in_pieces()) return;
  const std::vector<ir::ValueId> wanted = pending_.missing();
  if (wanted.empty()) return;
  std::vector<ir::Type> types;
  std::vector<std::shared_ptr<Tensor>> places;
  for (const ir::ValueId value : wanted) {
    types.push_back(builder_->type_of(value));
    places.push_back(pending_.find(value));
  }
  const TracedPiece piece = cut(wanted);
  const Instead alone(nullptr);
  const LevelPause::Break followed(levels_.pause());
  std::vector<Tensor> results = companion_->run(piece);
  sizes_.learn(types, results);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
}

TracedPiece Trace::cut(std::span<const ir::ValueId> results) {
  std::vector<Dim> sizes = undeclared_sizes();
  sizes.insert(sizes.end(), sizes_.parameters().begin(), sizes_.parameters().end());
  for (const Dim size : sizes) {
    if (has_dimension(size)) continue;
    const int64_t number = *sizes_.decisions().actual(size);
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
  pending_.begin_piece();
  captures_.clear();
  sizes_.clear_parameters();
  levels_.forget_values();
}

}  // namespace plait
