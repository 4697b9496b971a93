#include "plait/ir/rewriting/copy_function.h"

#include <limits>

#include "plait/core/error.h"

namespace plait::ir {
namespace {

constexpr ValueId kNotCopied = std::numeric_limits<ValueId>::max();

}  // namespace

Declarations declarations_of(std::span<const std::shared_ptr<const Function>> functions,
                             std::span<const RecordType> records) {
  Declarations declarations;
  for (const auto& function : functions)
    if (!declarations.find_function(function->name()))
      declarations.add(function->name(), function->signature());
  for (const RecordType& record : records)
    if (!declarations.find_record(record.name)) declarations.add(record);
  return declarations;
}

Declarations declarations_of(const Program& program) {
  return declarations_of(program.functions(), program.records());
}

NewInstruction Draft::view() const {
  return {.primitive = *primitive,
          .operands = operands,
          .attributes = attributes,
          .callees = callees,
          .size_arguments = size_arguments,
          .size_names = size_names,
          .stated_types = stated_types,
          .location = location};
}

Copier::Copier(const Function& from, FunctionBuilder& into, CalleeNames callees)
    : from_(from),
      into_(into),
      callees_(std::move(callees)),
      values_(from.value_count(), kNotCopied),
      named_until_(into.so_far().size()) {}

void Copier::set_size(Dim from, Dim to) {
  if (!same(from, to) || !sizes_.empty()) sizes_.set(from, to);
}

void Copier::set_results(const Instruction& from, const Given& to) {
  for (size_t i = 0; i < from.result_count(); ++i) {
    set(from.result(i), to.values[i]);
    std::string_view label = from_.label(from.result(i));
    if (label.empty()) continue;
    auto definition = into_.so_far().definition(to.values[i]);
    bool is_new = definition && definition->index() >= named_until_;
    if (is_new) into_.label(to.values[i], label);  // an older value keeps its label
  }
  for (size_t i = 0; i < from.size_results().size(); ++i)
    set_size(from.size_results()[i], to.sizes[i]);
  named_until_ = into_.so_far().size();
}

bool Copier::has(ValueId from) const {
  return from < values_.size() && values_[from] != kNotCopied;
}

ValueId Copier::value(ValueId from) const {
  if (!has(from)) throw ValueError("@{}: value {} was not copied yet", from_.name(), from);
  return values_[from];
}

std::vector<ValueId> Copier::values(std::span<const ValueId> from) const {
  std::vector<ValueId> to;
  to.reserve(from.size());
  for (ValueId each : from) to.push_back(value(each));
  return to;
}

std::vector<Dim> Copier::sizes(std::span<const Dim> from) const {
  std::vector<Dim> to(from.begin(), from.end());
  for (Dim& each : to) each = size(each);
  return to;
}

std::vector<Type> Copier::types(std::span<const Type> from) const {
  std::vector<Type> to(from.begin(), from.end());
  for (Type& each : to) each = type(each);
  return to;
}

Callee Copier::callee(const Callee& from) const {
  auto name = callees_.find(from.name);
  return {name == callees_.end() ? from.name : name->second, sizes(from.sizes)};
}

Draft Copier::draft(const Instruction& from) const {
  Draft draft{.primitive = &from.primitive(),
              .operands = values(from.operands()),
              .attributes = from.attributes(),
              .size_arguments = sizes(from.size_arguments()),
              .stated_types = types(from.result_types()),
              .location = from.location()};
  for (const Callee& each : from.callees()) draft.callees.push_back(callee(each));
  for (Dim each : from.size_results()) draft.size_names.push_back(std::string(size(each).name()));
  if (!sizes_.empty())
    draft.attributes = draft.attributes.map_sizes([&](Dim d) { return size(d); });
  return draft;
}

Given Copier::add(const Draft& draft) {
  NewInstruction instruction = draft.view();
  std::vector<std::string> names;
  std::vector<Type> stated;
  SymbolMap<Dim> moved;  // new names of data-dependent sizes whose names are taken
  for (const std::string& wanted : draft.size_names) {
    names.push_back(free_size_name(wanted));
    if (names.back() != wanted) moved.set(Dim::symbol(wanted), Dim::symbol(names.back()));
  }
  instruction.size_names = names;
  if (!moved.empty()) {
    for (const Type& type : draft.stated_types) stated.push_back(type.substitute(moved));
    instruction.stated_types = stated;
  }
  Added added = into_.add(instruction);
  Given given;
  given.values.reserve(added.count);
  for (size_t i = 0; i < added.count; ++i) given.values.push_back(added[i]);
  std::span<const Dim> new_sizes = into_.so_far().instruction(added.instruction).size_results();
  given.sizes.assign(new_sizes.begin(), new_sizes.end());
  return given;
}

std::string Copier::free_size_name(std::string_view wanted) const {
  std::string name(wanted);
  for (int i = 1; into_.has_size(name); ++i) name = fmt::format("{}.{}", wanted, i);
  return name;
}

void Copier::begin() {
  into_.declare(from_.signature(), parameter_labels(from_));
  into_.set_location(from_.location());
  set_parameters();
}

void Copier::set_parameters() {
  for (ValueId value = 0; value < from_.parameter_count(); ++value) set(value, value);
}

std::shared_ptr<const Function> Copier::finish() {
  return into_.finish(values(from_.results()), sizes(from_.result_sizes()));
}

Signature renamed(const Signature& signature, const SymbolMap<Dim>& sizes) {
  if (sizes.empty()) return signature;
  SizeMap rename = [&](Dim size) { return size.substitute(sizes); };
  Signature to = signature;
  map_sizes(to.size_parameters, rename);
  map_sizes(to.parameters, rename);
  map_sizes(to.result_sizes, rename);
  map_sizes(to.results, rename);
  map_sizes(to.facts, rename);
  for (Mesh::Axis& axis : to.axes.axes) map_sizes(axis.size, rename);
  return to;
}

std::vector<std::string> parameter_labels(const Function& function) {
  std::vector<std::string> labels;
  for (ValueId value = 0; value < function.parameter_count(); ++value)
    labels.emplace_back(function.label(value));
  return labels;
}

std::shared_ptr<const Function> copy(const Function& function, const Declarations& declarations,
                                     const CopyOptions& options) {
  FunctionBuilder builder(options.name.empty() ? function.name() : options.name, declarations);
  builder.declare(renamed(function.signature(), options.sizes), parameter_labels(function));
  builder.set_location(function.location());
  Copier copier(function, builder, options.callees);
  for (const auto& [from, to] : options.sizes) copier.set_size(from, to);
  copier.set_parameters();
  for (Instruction instruction : function.instructions()) copier.copy(instruction);
  return copier.finish();
}

}  // namespace plait::ir
