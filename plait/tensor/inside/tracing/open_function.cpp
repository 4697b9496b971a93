#include "plait/tensor/inside/tracing/open_function.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plait/ir/structure.h"
#include "plait/tensor/tracing/open_axes.h"

namespace plait {

OpenFunction::OpenFunction(std::string name, std::shared_ptr<TraceProgram> program,
                           const OpenFunction* enclosing)
    : name_(std::move(name)), program_(std::move(program)), enclosing_(enclosing) {
  program_->begin(name_);
  begin();
}

OpenFunction::~OpenFunction() { program_->end(name_); }

void OpenFunction::begin() {
  builder_.emplace(name_, program_->declarations());
  builder_->set_location(Location::of_caller());
  if (enclosing_ != nullptr) builder_->set_enclosing(*enclosing_->builder_);
  for (const NamedAxis* axis : open_axes()) builder_->axis(axis->label, axis->size);
}

void OpenFunction::begin_next() {
  begin();
  captures_.clear();
  sizes_.clear_parameters();
}

void OpenFunction::begin_in_new_program() {
  auto program = std::make_shared<TraceProgram>();
  program->declare_records(program_->builder().records());
  program->begin(name_);
  program_->end(name_);
  program_ = std::move(program);
  begin_next();
}

Location OpenFunction::latest_location() const {
  const ir::Function& function = so_far();
  return function.size() == 0 ? Location() : function.instruction(function.size() - 1).location();
}

void OpenFunction::declare_sizes(const ir::Type& type) {
  type.for_each_dim([&](Dim dim) {
    dim.for_each_symbol([&](Dim symbol) {
      if (!builder_->has_size(std::string(symbol.name()))) declare_size(symbol);
    });
  });
}

void OpenFunction::declare_size(Dim symbol) {
  builder_->size_parameter(symbol.name());
  sizes_.add_parameter(symbol);
}

bool OpenFunction::has_dimension(Dim symbol) const {
  const auto shows = [&](const ir::Type& type) {
    const Shape shape = type.is_array() ? type.shape() : Shape();
    return std::ranges::find_if(shape, is_same_as(symbol)) != shape.end();
  };
  const ir::Function& function = so_far();
  for (ir::ValueId i = 0; i < function.parameter_count(); ++i) {
    if (shows(function.type_of(i))) return true;
  }
  return std::ranges::any_of(captures_.tensors(),
                             [&](const Tensor& capture) { return shows(capture.type()); });
}

std::vector<Dim> OpenFunction::undeclared_sizes() const {
  std::vector<Dim> found;
  const auto note_undeclared = [&](Dim symbol) {
    if (builder_->has_size(std::string(symbol.name()))) return;
    if (std::ranges::find_if(found, is_same_as(symbol)) == found.end()) found.push_back(symbol);
  };
  for (const ir::Instruction instruction : so_far().instructions()) {
    ir::for_each_size(instruction, note_undeclared);
  }
  return found;
}

std::vector<Dim> OpenFunction::outer_sizes() const {
  std::vector<Dim> found;
  for (const Dim size : undeclared_sizes()) {
    const std::string name(size.name());
    for (const OpenFunction* each = enclosing_; each != nullptr; each = each->enclosing_) {
      if (!each->builder_->has_size(name) && !each->sizes_.numbers().find(size)) continue;
      found.push_back(size);
      break;
    }
  }
  return found;
}

ir::ValueId OpenFunction::capture(const void* identity, const Tensor& tensor) {
  declare_sizes(tensor.type());
  return captures_.add(identity, tensor, *builder_);
}

RecordedFunction OpenFunction::finish(std::span<const ir::ValueId> results,
                                      std::span<const Dim> size_values) {
  for (const SizeFact& fact : sizes_.facts_on_entry()) builder_->require(fact);
  std::shared_ptr<const ir::Function> function = builder_->finish(results, size_values);
  std::vector<ir::ValueId> places(function->value_count());
  std::iota(places.begin(), places.end(), 0);
  if (!parts_.empty()) {
    ir::Outlined outlined = program_->outline(*function, parts_);
    captures_.renumber(outlined.values);
    places = std::move(outlined.values);
    function = std::move(outlined.function);
  }
  if (!captures_.empty()) {
    function = captures_.as_parameters(*function, program_->builder(), places);
  }
  return {std::move(function), captures_.take(), std::move(places)};
}

}  // namespace plait
