#include "plait/tensor/inside/tracing/companion_run.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/needed_instructions.h"
#include "plait/tensor/inside/tracing/run_recorded.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/tensor/tracing/derivation.h"

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

// While one exists, no trace is open, and the levels around this one are followed.
class CompanionRun::Outside {
 public:
  explicit Outside(CompanionRun& run) : alone_(nullptr), followed_(run.levels_.pause()) {}

 private:
  const Trace::Instead alone_;
  const LevelPause::Break followed_;
};

CompanionRun::CompanionRun(std::shared_ptr<TraceScope> scope, OpenFunction& function,
                           TraceLevels& levels)
    : scope_(std::move(scope)), function_(function), levels_(levels) {}

void CompanionRun::begin(Companion& companion, const TracedSizes* outer) {
  companion_ = &companion;
  function_.sizes().begin_reading(outer);
}

// ---- One instruction.

void CompanionRun::expect_right_sizes(const TracedInstruction& instruction) const {
  plait::expect_right_sizes(instruction, function_);
}

bool CompanionRun::is_right(const TracedInstruction& instruction) {
  const SymbolMap<int64_t>& numbers = function_.sizes().numbers();
  if (instruction.primitive.structure != ir::Structure::machine || numbers.empty()) return false;
  try {
    auto operands = actual_operands(instruction);
    if (!operands) return false;
    underive(*operands);
    const Outside outside(*this);
    return is_right_for(*companion_, instruction, *operands, numbers);
  } catch (const Error&) {
    return false;
  }
}

std::vector<Tensor> CompanionRun::results_of(const TracedInstruction& instruction,
                                             const ir::Added& added) {
  auto operands = actual_operands(instruction);
  if (!operands) return {};
  if (!is_in_pieces()) underive(*operands);
  const Outside outside(*this);
  const ir::Instruction recorded = function_.so_far().instruction(added.instruction);
  std::vector<Tensor> results = run_recorded(*companion_, instruction, recorded, *operands,
                                             function_.sizes().numbers(), *function_.program());
  function_.sizes().learn(recorded.result_types(), results);
  return results;
}

void CompanionRun::compute(ir::ValueId value) {
  if (!is_on_demand()) return compute_pending();
  NeededInstructions needed = nothing_yet();
  needed.add({value});
  needed.add_all_effects();  // they come before what host code does with the value
  compute(needed);
}

// ---- In pieces.

Tensor CompanionRun::given(const ir::Type& type, Tensor actual) {
  function_.sizes().learn({&type, 1}, {&actual, 1});
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

void CompanionRun::compute_pending() {
  if (!is_in_pieces()) return;
  const std::vector<ir::ValueId> wanted = values_.missing();
  if (wanted.empty()) return;
  std::vector<ir::Type> types;
  std::vector<std::shared_ptr<Tensor>> places;
  for (const ir::ValueId value : wanted) {
    types.push_back(function_.so_far().type_of(value));
    places.push_back(values_.find(value));
  }
  const TracedPiece piece = cut(wanted);
  const Outside outside(*this);
  std::vector<Tensor> results = companion_->run(piece);
  function_.sizes().learn(types, results);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
}

TracedPiece CompanionRun::cut(std::span<const ir::ValueId> results) {
  TracedSizes& known = function_.sizes();
  std::vector<Dim> sizes = function_.undeclared_sizes();
  sizes.insert(sizes.end(), known.parameters().begin(), known.parameters().end());
  for (const Dim size : sizes) {
    if (function_.has_dimension(size)) continue;
    const int64_t number = *known.decisions().actual(size);
    const Tensor shows = given(ir::Type::array(DType::boolean, {size, 0}),
                               Tensor(Array::empty(DType::boolean, {number, 0})));
    function_.capture(shows.traced().actual.get(), shows);
  }
  const RecordedFunction recorded = function_.finish(results, {});
  TracedPiece piece{.program = function_.program()->with_entry(recorded.function),
                    .operands = {},
                    .is_constant = {}};
  for (const Tensor& capture : recorded.captures) {
    piece.is_constant.push_back(!capture.is_traced() && capture.is_array() && capture.rank() == 0);
    piece.operands.push_back(Trace::actual(capture));
  }
  begin_piece();
  return piece;
}

void CompanionRun::begin_piece() {
  function_.begin_next();
  values_.begin_piece();
  levels_.forget_values();
}

// ---- On demand.

NeededInstructions CompanionRun::nothing_yet() const {
  return {function_, values_, effects_until_};
}

void CompanionRun::compute_referenced(std::span<const Tensor> except) {
  std::vector<ir::ValueId> missing = values_.missing();
  for (const Tensor& tensor : except) {
    if (tensor && tensor.is_traced()) std::erase(missing, tensor.traced().value);
  }
  if (missing.empty()) return;
  NeededInstructions needed = nothing_yet();
  needed.add(std::move(missing));
  compute(needed);
}

void CompanionRun::compute_what_does_not_fail() {
  for (const ir::ValueId value : values_.missing()) {
    if (values_.find_computed(value)) continue;
    NeededInstructions needed = nothing_yet();
    needed.add({value});
    try {
      compute(needed);
    } catch (const std::exception&) {  // it stays without a value
    }
  }
}

void CompanionRun::compute_effects() {
  NeededInstructions needed = nothing_yet();
  needed.add_all_effects();
  if (!needed.instructions().empty()) compute(needed);
}

// Makes parameters of the values that are known, and returns these.
std::vector<Tensor> CompanionRun::operands_of(const NeededInstructions& needed,
                                              ir::FunctionBuilder& part, ir::Copier& copier) const {
  std::vector<Tensor> operands;
  for (const ir::ValueId known : needed.known()) {
    const Tensor* const capture = function_.captures().find_tensor(known);
    operands.push_back(capture != nullptr ? underived(Trace::actual(*capture))
                                          : *values_.find_computed(known));
    copier.set(known, part.parameter(operands.back().type()));
  }
  return operands;
}

void CompanionRun::compute(const NeededInstructions& needed) {
  const ir::Function& function = function_.so_far();
  TraceProgram& program = *function_.program();
  ir::FunctionBuilder part = program.builder().function(program.free_name("part"));
  part.set_location(function.location());
  ir::Copier copier(function, part);
  for (const auto& [symbol, number] : function_.sizes().numbers()) {
    copier.set_size(symbol, Dim(number));
  }
  const std::vector<Tensor> operands = operands_of(needed, part, copier);
  std::vector<ir::ValueId> wanted;
  std::vector<std::shared_ptr<Tensor>> places;
  std::vector<ir::Type> types;
  for (const uint32_t index : needed.instructions()) {
    const ir::Instruction instruction = function.instruction(index);
    copier.copy(instruction);
    for (size_t i = 0; i < instruction.result_count(); ++i) {
      const ir::ValueId result = instruction.result(i);
      if (program.has_effects(instruction)) values_.hold(result);
      auto place = values_.find(result);
      if (!place) continue;
      wanted.push_back(copier.value(result));
      places.push_back(std::move(place));
      types.push_back(function.type_of(result));
    }
  }
  const ir::Program whole = program.with_entry(part.finish(wanted));
  const Outside outside(*this);
  effects_until_ = needed.effects_until();
  std::vector<Tensor> results = companion_->run(whole, operands);
  function_.sizes().learn(types, results);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
}

}  // namespace plait
