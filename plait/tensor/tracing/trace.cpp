#include "plait/tensor/tracing/trace.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/size_reader.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/inference.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {
namespace {

thread_local Trace* current_trace = nullptr;

// A placeholder for a captured value until the function is finished: parameters come before
// instructions, but captures are known only at the end. Never part of a finished function.
const ir::Primitive& capture_primitive() {
  static const ir::Primitive& primitive = ir::register_primitive(
      {.name = "capture",
       .summary = "A value of an outer trace, while a function is being recorded.",
       .infer = [](ir::Inference& inference) { inference.give(inference.stated_result(0)); },
       .infers_axes = true,
       .is_placeholder = true});
  return primitive;
}

}  // namespace

Trace::Trace(std::string name) : Trace(std::move(name), false) {}
Trace::Trace(std::string name, Apart) : Trace(std::move(name), true) {}

Trace::Trace(std::string name, bool is_apart)
    : outer_(current_trace),
      is_apart_(is_apart || outer_ == nullptr),
      scope_(std::make_shared<TraceScope>(TraceScope{this, std::move(name)})),
      program_(is_apart_ ? std::make_shared<TraceProgram>() : outer_->program_) {
  begin_function();
  current_trace = this;
  pause_.emplace();
}

void Trace::begin_function() {
  builder_.emplace(scope_->name, program_->builder.declarations());
  builder_->set_location(Location::of_caller());
  if (outer_ != nullptr) builder_->set_enclosing(*outer_->builder_);
  for (const NamedAxis& axis : NamedAxisScope::open()) builder_->axis(axis.label, axis.size);
}

Trace::~Trace() { close(); }

void Trace::close() {
  if (!scope_->trace) return;
  scope_->trace = nullptr;
  current_trace = outer_;
  reader_.reset();
  pause_.reset();
  if (tape_level_) tape_level_->close();
}

const LevelPtr& Trace::tape_level() {
  if (!tape_level_) tape_level_ = Level::open();
  return tape_level_;
}

Trace* Trace::current() { return current_trace; }

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
    return program_->builder.declarations().find_function(name) != nullptr;
  };
  std::string name(wanted);
  for (int i = 1; is_taken(name); ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

void Trace::declare(const ir::Signature& signature) { declare(scope_->name, signature); }

void Trace::declare(std::string_view function, const ir::Signature& signature) {
  program_->builder.declare(function, signature);
}

namespace {

// The function under another name, with renamed callees, and with stand-ins replaced by calls.
std::shared_ptr<const ir::Function> closed(const ir::Function& function,
                                           const ir::CalleeNames& names,
                                           const Trace::Closing& closing,
                                           ir::ProgramBuilder& program) {
  ir::FunctionBuilder builder = program.function(names.at(function.name()));
  builder.declare(function.signature(), ir::parameter_labels(function));
  builder.set_location(function.location());
  ir::Copier copier(function, builder, names);
  copier.set_parameters();
  for (const ir::Instruction instruction : function.instructions()) {
    ir::Draft draft = copier.draft(instruction);
    if (auto callee = closing(instruction)) {
      draft.primitive = &ir::primitive(ir::Structure::call);
      draft.attributes = {};
      draft.callees = {std::move(*callee)};
    }
    copier.set_results(instruction, copier.add(draft));
  }
  return copier.finish();
}

bool may_stay(const ir::Function& function, const ir::CalleeNames& names,
              const Trace::Closing& closing) {
  const auto is_renamed = [&](const std::string& name) { return names.at(name) != name; };
  if (is_renamed(function.name())) return false;
  for (const ir::Instruction instruction : function.instructions()) {
    if (instruction.primitive().is_placeholder && closing(instruction)) return false;
    const auto callees = instruction.callees();
    if (std::ranges::any_of(callees, [&](const auto& callee) { return is_renamed(callee.name); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

void Trace::declare_records(const ir::Program& program) {
  for (const ir::RecordType& record : program.records()) program_->builder.record(record);
}

std::string Trace::include(const ir::Program& program, const ir::Function& function,
                           const Closing& closing) {
  declare_records(program);
  ir::CalleeNames names;
  std::vector<std::shared_ptr<const ir::Function>> added;
  const size_t entry = program.index_of(function.name());
  for (const uint32_t i : ir::CallGraph(program).reachable_from(entry)) {
    const auto& each = program.functions()[i];
    const auto [place, is_new] = program_->included.try_emplace(each);
    if (is_new) {
      place->second = free_name(each->name());
      program_->builder.declare(place->second, each->signature());
      added.push_back(each);
    }
    names[each->name()] = place->second;
  }
  for (const auto& each : added) {
    program_->builder.add(
        may_stay(*each, names, closing) ? each : closed(*each, names, closing, program_->builder));
  }
  return names[function.name()];
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
  size_parameters_.push_back(symbol);
}

Tensor Trace::parameter(const ir::Type& type, std::string_view label, Tensor actual) {
  declare_sizes(type);
  TracedValue value{scope_, builder_->parameter(type, label), type, nullptr, piece_};
  if (actual) {
    learn_sizes({&type, 1}, {&actual, 1});
    value.actual = std::make_shared<Tensor>(std::move(actual));
  }
  return Tensor(std::move(value));
}

namespace {

// A function that is recorded again creates its constants again: equal constants are captured once.
bool is_same_constant(const Tensor& a, const Tensor& b) {
  if (a.is_traced() || b.is_traced() || !a.is_array() || !b.is_array()) return false;
  if (a.derivation() || b.derivation()) return false;
  const Array &x = a.array(), &y = b.array();
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() && x.is_contiguous() &&
         y.is_contiguous() &&
         std::memcmp(x.data(), y.data(),
                     static_cast<size_t>(x.element_count() * x.element_size())) == 0;
}

}  // namespace

// A value that was recorded under no_grad and is used outside of it: it stays constant when the
// function is differentiated.
ir::ValueId Trace::stopped(const TracedValue& traced) {
  if (!traced.type.is_array() || !ir::has_tangent(traced.type)) return traced.value;
  const auto [place, is_new] = stopped_.try_emplace(traced.value, 0);
  if (is_new) place->second = builder_->add(stop_gradient_primitive(), {traced.value});
  return place->second;
}

ir::ValueId Trace::value_of(const Tensor& tensor) {
  const void* identity = tensor.identity();
  if (tensor.is_traced()) {
    const TracedValue& traced = tensor.traced();
    if (traced.scope == scope_ && traced.piece == piece_) {
      return traced.is_followed || is_under_no_grad() ? traced.value : stopped(traced);
    }
    if (!traced.scope->trace) {
      throw ValueError("a {} of the trace of {} is used after that trace has ended",
                       traced.type.text(), traced.scope->name)
          .at(Location::of_caller())
          .hint("return it from the traced function instead of storing it elsewhere");
    }
    if (traced.scope == scope_) identity = traced.actual.get();
  }
  const auto [place, is_new] = captured_.try_emplace(identity, 0);
  const auto known =
      is_new && !waits()
          ? std::ranges::find_if(
                captures_, [&](const Tensor& capture) { return is_same_constant(capture, tensor); })
          : captures_.end();
  if (known != captures_.end()) {
    captured_.erase(place);  // not kept alive: another tensor may get its address
    return capture_values_[static_cast<size_t>(known - captures_.begin())];
  }
  if (is_new) {
    const ir::Type type = tensor.type();
    declare_sizes(type);
    place->second = builder_->add({.primitive = capture_primitive(), .stated_types = {&type, 1}});
    captures_.push_back(tensor);
    capture_values_.push_back(place->second);
  }
  return place->second;
}

std::vector<Tensor> Trace::tensors_of(const ir::Added& added, std::span<const Tensor> actual) {
  std::vector<Tensor> results;
  results.reserve(added.count);
  for (size_t i = 0; i < added.count; ++i) {
    TracedValue value{scope_,  added[i], builder_->type_of(added[i]),
                      nullptr, piece_,   !is_under_no_grad()};
    if (!actual.empty()) {
      value.actual = std::make_shared<Tensor>(actual[i]);
    } else if (waits()) {
      value.actual = std::make_shared<Tensor>();
      waiting_.push_back({added[i], value.actual});
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
  return tensors_of(add(instruction));
}

Tensor Trace::constant(Literal literal) {
  if (waits()) return Tensor(Array::of(literal));
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
    if (const Tensor known = actual(count)) actual_sizes_.set(size, known.item<int64_t>());
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
  return std::ranges::any_of(captures_,
                             [&](const Tensor& capture) { return shows(capture.type()); });
}

// True if the fact can be checked on entry. A fact about data-dependent sizes of the function is
// checked where it is used (`refine`).
bool Trace::is_about_parameters(const SizeFact& fact) const {
  bool all = true;
  for (const Dim side : {fact.left, fact.right}) {
    side.for_each_symbol([&](Dim symbol) {
      all = all &&
            std::ranges::find_if(size_parameters_, is_same_as(symbol)) != size_parameters_.end();
    });
  }
  return all;
}

// The recorded function with captures turned into parameters.
std::shared_ptr<const ir::Function> Trace::with_captures(const ir::Function& recorded,
                                                         std::vector<ir::ValueId>& values) const {
  ir::FunctionBuilder builder = program_->builder.function(recorded.name());
  builder.set_location(recorded.location());
  for (const Dim size : recorded.signature().size_parameters) builder.size_parameter(size.name());
  for (const SizeFact& fact : recorded.signature().facts) builder.require(fact);
  for (const ir::Mesh::Axis& axis : recorded.signature().axes.axes) {
    builder.axis(axis.name, axis.size);
  }
  ir::Copier copier(recorded, builder);
  for (ir::ValueId value = 0; value < recorded.parameter_count(); ++value) {
    copier.set(value, builder.parameter(recorded.type_of(value), recorded.label(value)));
  }
  for (const ir::ValueId value : capture_values_) {
    copier.set(value, builder.parameter(recorded.type_of(value)));
  }
  for (const ir::Instruction instruction : recorded.instructions()) {
    if (&instruction.primitive() != &capture_primitive()) copier.copy(instruction);
  }
  for (ir::ValueId& value : values) {
    if (value != ir::Outlined::kWithin) value = copier.value(value);
  }
  return copier.finish();
}

std::shared_ptr<const ir::Function> Trace::with_parts(const ir::Function& recorded,
                                                      std::vector<ir::ValueId>& values) {
  ir::Outlined outlined = ir::outline(
      recorded, parts_, program_->builder, program_->outlined,
      {.stays =
           [](const ir::Instruction& each) { return &each.primitive() == &capture_primitive(); },
       .free_name = [&](const std::string& wanted) { return free_name(wanted); }});
  for (ir::ValueId& value : capture_values_) value = outlined.values[value];
  values = std::move(outlined.values);
  return std::move(outlined.function);
}

std::vector<Dim> Trace::outer_sizes() const {
  std::vector<Dim> found;
  for (const Dim size : undeclared_sizes()) {
    const std::string name(size.name());
    for (const Trace* trace = outer_; trace != nullptr; trace = trace->outer_) {
      if (!trace->builder_->has_size(name) && !trace->actual_sizes_.find(size)) continue;
      found.push_back(size);
      break;
    }
  }
  return found;
}

std::vector<Dim> Trace::undeclared_sizes() const {
  std::vector<Dim> found;
  const auto look_at = [&](Dim symbol) {
    if (builder_->has_size(std::string(symbol.name()))) return;
    if (std::ranges::find_if(found, is_same_as(symbol)) == found.end()) found.push_back(symbol);
  };
  for (const ir::Instruction instruction : builder_->so_far().instructions()) {
    ir::for_each_size(instruction, look_at);
  }
  return found;
}

Trace::Part::Part(const std::string& name)
    : trace_(current_trace != nullptr && !current_trace->waits() && !current_trace->is_kept_whole_
                 ? current_trace
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

Trace::Instead::Instead(Trace* trace) : inner_(std::exchange(current_trace, trace)) {}
Trace::Instead::~Instead() { current_trace = inner_; }

Trace::WhereFollowed::WhereFollowed(const LevelSet& levels) : inner_(current_trace) {
  while (!levels.are_open() && current_trace != nullptr) {
    breaks_.push_back(std::make_unique<LevelPause::Break>(*current_trace->pause_));
    current_trace = current_trace->outer_;
  }
  if (!levels.are_open()) go_back();
}

Trace::WhereFollowed::~WhereFollowed() { go_back(); }

void Trace::WhereFollowed::go_back() {
  while (!breaks_.empty()) breaks_.pop_back();
  current_trace = inner_;
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
  if (!is_apart_) program_->builder.add(recorded.function);
  return recorded;
}

RecordedFunction Trace::conclude(std::span<const ir::ValueId> results,
                                 std::span<const Dim> size_values) {
  for (const SizeFact& fact : sizes_.guards()) {
    if (is_about_parameters(fact)) builder_->require(fact);
  }
  std::shared_ptr<const ir::Function> function = builder_->finish(results, size_values);
  std::vector<ir::ValueId> places(function->value_count());
  std::iota(places.begin(), places.end(), 0);
  if (!parts_.empty()) function = with_parts(*function, places);
  if (!captures_.empty()) function = with_captures(*function, places);
  return {std::move(function), std::move(captures_), std::move(places)};
}

ir::Program Trace::program(const RecordedFunction& entry) {
  ir::Program program = part(entry);
  if (!entry.function->signature().axes.axes.empty()) ir::refuse_divergent_collectives(program);
  ir::verify_pass(program, "recording");
  return program;
}

ir::Program Trace::part(const RecordedFunction& entry) {
  ir::ProgramBuilder whole;
  whole.add(entry.function);
  whole.add_all(program_->builder);
  return whole.finish();
}

}  // namespace plait
