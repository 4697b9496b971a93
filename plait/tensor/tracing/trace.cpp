#include "plait/tensor/tracing/trace.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include "plait/core/ambient.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/late_use.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {

Trace::Trace(std::string name) : Trace(std::move(name), false) {}
Trace::Trace(std::string name, Apart) : Trace(std::move(name), true) {}

Trace::Trace(std::string name, bool is_apart)
    : outer_(ambient.trace),
      is_apart_(is_apart || outer_ == nullptr),
      scope_(std::make_shared<TraceScope>(TraceScope{this, std::move(name)})),
      program_(is_apart_ ? std::make_shared<TraceProgram>() : outer_->program_) {
  begin_function();
  ambient.trace = this;
}

void Trace::begin_function() {
  builder_.emplace(scope_->name, program_->declarations());
  builder_->set_location(Location::of_caller());
  if (outer_ != nullptr) builder_->set_enclosing(*outer_->builder_);
  for (const NamedAxis* axis : open_axes()) builder_->axis(axis->label, axis->size);
}

Trace::~Trace() { close(); }

void Trace::close() {
  if (!scope_->trace) return;
  scope_->trace = nullptr;
  ambient.trace = outer_;
  sizes_.stop_reading();
  levels_.close();
}

Trace* Trace::current() { return ambient.trace; }

const Trace* Trace::outermost() const {
  const Trace* trace = this;
  while (!trace->is_apart_) trace = trace->outer_;
  return trace;
}

std::string Trace::free_name(std::string_view wanted) const {
  const auto is_taken = [&](const std::string& name) {
    for (const Trace* trace = this; trace != nullptr; trace = trace->outer_) {
      if (trace->scope_->name == name) return true;
      if (trace->is_apart_) break;
    }
    return program_->declarations().find_function(name) != nullptr;
  };
  std::string name(wanted);
  for (int i = 1; is_taken(name); ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

void Trace::declare(const ir::Signature& signature) { declare(scope_->name, signature); }

void Trace::declare(std::string_view function, const ir::Signature& signature) {
  program_->builder().declare(function, signature);
}

std::string Trace::include(const ir::Program& program, const ir::Function& function,
                           const Closing& closing) {
  const auto unused_name = [&](std::string_view wanted) { return free_name(wanted); };
  return program_->include(program, function, closing, unused_name);
}

void Trace::declare_sizes(const ir::Type& type) {
  type.for_each_dim([&](Dim dim) {
    dim.for_each_symbol([&](Dim symbol) {
      if (!builder_->has_size(std::string(symbol.name()))) declare_size(symbol);
    });
  });
}

void Trace::declare_size(Dim symbol) {
  builder_->size_parameter(symbol.name());
  sizes_.add_parameter(symbol);
}

Tensor Trace::parameter(const ir::Type& type, std::string_view label, Tensor actual,
                        Device device) {
  declare_sizes(type);
  TracedValue value{.scope = scope_,
                    .value = builder_->parameter(type, label),
                    .type = type,
                    .piece = pending_.piece(),
                    .device = device};
  if (actual) {
    sizes_.learn({&type, 1}, {&actual, 1});
    value.device = actual.device();
    value.knows_device = true;
    value.is_unplaced = actual.is_unplaced();
    value.actual = std::make_shared<Tensor>(std::move(actual));
    if (is_on_demand()) pending_.add(value.value, value.actual);
  }
  return Tensor(std::move(value));
}

ir::ValueId Trace::value_of(const Tensor& tensor) {
  const void* identity = tensor.identity();
  if (tensor.is_traced()) {
    const TracedValue& traced = tensor.traced();
    if (traced.scope == scope_ && traced.piece == pending_.piece()) {
      const bool is_known = traced.is_followed || levels_.is_under_no_grad();
      return is_known ? traced.value : levels_.stopped(traced, *builder_);
    }
    if (traced.scope->trace == nullptr) refuse_late_use(traced);
    if (traced.scope == scope_) identity = traced.actual.get();
  }
  if (const auto known = captures_.find(identity)) return *known;
  if (!is_in_pieces()) {
    if (const auto equal = captures_.find_equal(tensor)) return *equal;
  }
  declare_sizes(tensor.type());
  return captures_.add(identity, tensor, *builder_);
}

std::vector<Tensor> Trace::tensors_of(const ir::Added& added, const TracedInstruction& instruction,
                                      std::span<const Tensor> actual) {
  std::vector<Tensor> results;
  results.reserve(added.count);
  for (size_t i = 0; i < added.count; ++i) {
    TracedValue value{.scope = scope_,
                      .value = added[i],
                      .type = builder_->type_of(added[i]),
                      .piece = pending_.piece(),
                      .is_followed = !levels_.is_under_no_grad(),
                      .device = instruction.result_device(),
                      .knows_device = companion_ != nullptr && instruction.knows_result_device(),
                      .is_unplaced = instruction.gives_unplaced()};
    if (!actual.empty()) {
      value.device = actual[i].device();
      value.knows_device = true;
      value.is_unplaced = actual[i].is_unplaced();
      value.actual = std::make_shared<Tensor>(actual[i]);
    } else if (is_in_pieces() || is_on_demand()) {
      value.actual = pending_.add(added[i]);
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
  return builder_->add({.primitive = instruction.primitive,
                        .operands = operands,
                        .attributes = instruction.attributes,
                        .callees = instruction.callees,
                        .size_arguments = instruction.size_arguments,
                        .stated_types = instruction.stated_types,
                        .location = Location::of_caller()});
}

std::vector<Tensor> Trace::record(const TracedInstruction& instruction) {
  if (companion_ != nullptr) return record_with_numbers(instruction);
  return tensors_of(add(instruction), instruction);
}

Tensor Trace::constant(Literal literal) {
  if (is_in_pieces()) return Tensor(Array::of(literal));
  return record({.primitive = ir::primitive(ir::Structure::literal),
                 .attributes = ir::Attributes::of(ir::LiteralAttributes{std::move(literal)})})[0];
}

Tensor Trace::size(Dim size, DType dtype) {
  return record({.primitive = ir::primitive(ir::Structure::size),
                 .attributes = ir::Attributes::of(ir::SizeAttributes{size, dtype})})[0];
}

Dim Trace::as_size(const Tensor& count, bool at_least) {
  const ir::ValueId operand = value_of(count);
  const Dim size = builder_->data_dependent_size_of(
      builder_->add({.primitive = ir::primitive(ir::Structure::as_size),
                     .operands = {&operand, 1},
                     .attributes = ir::Attributes::of(ir::AsSizeAttributes{at_least}),
                     .location = Location::of_caller()}));
  if (companion_ != nullptr) {
    if (const Tensor known = actual(count)) sizes_.set_number(size, known.item<int64_t>());
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

Location Trace::latest_location() const {
  const ir::Function& function = builder_->so_far();
  return function.size() == 0 ? Location() : function.instruction(function.size() - 1).location();
}

bool Trace::has_dimension(Dim symbol) const {
  const auto shows = [&](const ir::Type& type) {
    const Shape shape = type.is_array() ? type.shape() : Shape();
    return std::ranges::find_if(shape, is_same_as(symbol)) != shape.end();
  };
  const ir::Function& function = builder_->so_far();
  for (ir::ValueId i = 0; i < function.parameter_count(); ++i) {
    if (shows(function.type_of(i))) return true;
  }
  return std::ranges::any_of(captures_.tensors(),
                             [&](const Tensor& capture) { return shows(capture.type()); });
}

std::vector<Dim> Trace::outer_sizes() const {
  std::vector<Dim> found;
  for (const Dim size : undeclared_sizes()) {
    const std::string name(size.name());
    for (const Trace* trace = outer_; trace != nullptr; trace = trace->outer_) {
      if (!trace->builder_->has_size(name) && !trace->sizes_.numbers().find(size)) continue;
      found.push_back(size);
      break;
    }
  }
  return found;
}

std::vector<Dim> Trace::undeclared_sizes() const {
  std::vector<Dim> found;
  const auto note_undeclared = [&](Dim symbol) {
    if (builder_->has_size(std::string(symbol.name()))) return;
    if (std::ranges::find_if(found, is_same_as(symbol)) == found.end()) found.push_back(symbol);
  };
  for (const ir::Instruction instruction : builder_->so_far().instructions()) {
    ir::for_each_size(instruction, note_undeclared);
  }
  return found;
}

Trace::Part::Part(const std::string& name)
    : trace_(ambient.trace != nullptr && !ambient.trace->is_in_pieces() &&
                     !ambient.trace->is_kept_whole_
                 ? ambient.trace
                 : nullptr),
      exceptions_(std::uncaught_exceptions()) {
  if (trace_ == nullptr) return;
  part_ = {
      .begin = trace_->builder_->so_far().size(), .name = name, .location = Location::of_caller()};
}

Trace::Part::~Part() {
  if (trace_ == nullptr || std::uncaught_exceptions() > exceptions_) return;
  part_.end = trace_->builder_->so_far().size();
  if (part_.end > part_.begin) trace_->parts_.push_back(std::move(part_));
}

Trace::Instead::Instead(Trace* trace) : inner_(std::exchange(ambient.trace, trace)) {}
Trace::Instead::~Instead() { ambient.trace = inner_; }

Trace::WhereFollowed::WhereFollowed(const LevelSet& levels) : inner_(ambient.trace) {
  while (!levels.are_open() && ambient.trace != nullptr) {
    breaks_.push_back(std::make_unique<LevelPause::Break>(ambient.trace->levels_.pause()));
    ambient.trace = ambient.trace->outer_;
  }
  if (!levels.are_open()) restore();
}

Trace::WhereFollowed::~WhereFollowed() { restore(); }

void Trace::WhereFollowed::restore() {
  while (!breaks_.empty()) breaks_.pop_back();
  ambient.trace = inner_;
}

RecordedFunction Trace::finish(std::span<const Tensor> results) { return finish_with(results, {}); }

RecordedFunction Trace::finish(std::span<const Tensor> results, const ResultSizes& sizes) {
  builder_->declare_results(sizes.names, sizes.results);
  return finish_with(results, sizes.values);
}

RecordedFunction Trace::finish_with(std::span<const Tensor> results,
                                    std::span<const Dim> size_values) {
  std::vector<ir::ValueId> values;
  for (const Tensor& result : results) values.push_back(value_of(result));
  guard_data_dependent_sizes();
  // Sizes that are not dimensions of any captured tensor become size parameters too.
  for (const Dim size : outer_sizes()) declare_size(size);
  close();
  RecordedFunction recorded = conclude(values, size_values);
  if (!is_apart_) program_->builder().add(recorded.function);
  return recorded;
}

RecordedFunction Trace::conclude(std::span<const ir::ValueId> results,
                                 std::span<const Dim> size_values) {
  for (const SizeFact& fact : sizes_.facts_on_entry()) builder_->require(fact);
  std::shared_ptr<const ir::Function> function = builder_->finish(results, size_values);
  std::vector<ir::ValueId> places(function->value_count());
  std::iota(places.begin(), places.end(), 0);
  if (!parts_.empty()) {
    const auto unused_name = [&](std::string_view wanted) { return free_name(wanted); };
    ir::Outlined outlined = program_->outline(*function, parts_, unused_name);
    captures_.renumber(outlined.values);
    places = std::move(outlined.values);
    function = std::move(outlined.function);
  }
  if (!captures_.empty()) {
    function = captures_.as_parameters(*function, program_->builder(), places);
  }
  return {std::move(function), captures_.take(), std::move(places)};
}

ir::Program Trace::program(const RecordedFunction& entry) {
  ir::Program program = part(entry);
  if (!entry.function->signature().axes.axes.empty()) ir::refuse_divergent_collectives(program);
  ir::verify_pass(program, "recording");
  return program;
}

}  // namespace plait
