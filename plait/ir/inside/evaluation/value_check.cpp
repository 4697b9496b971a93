#include "plait/ir/inside/evaluation/value_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {

namespace {

std::string_view describe(const Value& value) {
  if (value.is_empty()) return "nothing";
  if (value.is_absent()) return "an absent value";
  if (value.is_present()) return "an optional value";
  return value.is_aggregate() ? "a tuple or record" : "an array";
}

std::string text_of(const ArraySizes& array) {
  return fmt::format("{}[{}]", name_of(array.dtype), fmt::join(array.sizes, ", "));
}

// Checks everything that is independent of sizes.
ArraySizes check_form(Machine& machine, const Value& array, const Type& type, Name name) {
  ArraySizes given = machine.sizes_of(array);
  if (given.dtype != type.dtype()) {
    throw TypeError("{} is {}, expected {}", name(), text_of(given), type.text());
  }
  if (static_cast<int64_t>(given.sizes.size()) != type.rank()) {
    throw ShapeError("{} is {}, expected {}", name(), text_of(given), type.text());
  }
  return given;
}

void check_fields(const Value& value, size_t fields, size_t held, const Type& type, Name name) {
  if (value.is_aggregate() && value.fields().size() == fields && value.held_sizes().size() == held)
    return;
  if (!value.is_aggregate()) {
    throw TypeError("{}: {} where {} is expected", name(), describe(value), type.text());
  }
  throw TypeError("{}: {} fields and {} held sizes where {}, with {} and {}, is expected", name(),
                  value.fields().size(), value.held_sizes().size(), type.text(), fields, held);
}

}  // namespace

std::string sizes_text(std::span<const Dim> dims, const SymbolMap<int64_t>& sizes) {
  SymbolMap<int64_t> named;
  std::string out;
  for (Dim dim : dims) {
    dim.for_each_symbol([&](Dim symbol) {
      const int64_t* size = sizes.find(symbol);
      if (!size || named.find(symbol)) return;
      named.set(symbol, *size);
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", symbol.name(), *size);
    });
  }
  return out;
}

void check_array(Machine& machine, const Value& array, const Type& type,
                 const SymbolMap<int64_t>& sizes, Name name) {
  ArraySizes given = check_form(machine, array, type, name);
  std::vector<Dim> dims(type.shape().begin(), type.shape().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t wanted = dims[i].is_number() ? dims[i].number() : dims[i].evaluate(sizes);
    if (given.sizes[i] == wanted) continue;
    std::string known = sizes_text(dims, sizes);
    throw ShapeError("{} is {}, expected {}{}", name(), text_of(given), type.text(),
                     known.empty() ? "" : " where " + known);
  }
}

void ValueWalk::walk(const Value& value, const Type& type, Name name, Visit visit) {
  pending_.clear();
  pending_.push_back({value, type});
  while (!pending_.empty()) {
    Item item = std::move(pending_.back());
    pending_.pop_back();
    if (!item.type.is_array()) {
      expand(std::move(item), name);
    } else if (item.value.is_machine()) {
      visit(item.value, item.type);
    } else {
      throw TypeError("{}: {} where {} is expected", name(), describe(item.value),
                      item.type.text());
    }
  }
}

void ValueWalk::expand(Item item, Name name) {
  switch (item.type.kind()) {
    case Type::Kind::none:
    case Type::Kind::array: return;
    case Type::Kind::tuple: {
      const std::vector<Type>& elements = item.type.elements();
      check_fields(item.value, elements.size(), 0, item.type, name);
      for (size_t i = 0; i < elements.size(); ++i)
        pending_.push_back({item.value.fields()[i], elements[i]});
      return;
    }
    case Type::Kind::record: expand_record(item, name); return;
    case Type::Kind::optional:
      if (item.value.is_absent()) return;
      if (!item.value.is_present()) {
        throw TypeError("{}: {} where {} is expected", name(), describe(item.value),
                        item.type.text());
      }
      pending_.push_back({std::move(item.value).unwrapped(), item.type.element()});
      return;
  }
}

void ValueWalk::expand_record(const Item& item, Name name) {
  const RecordType* record = program_.find_record(item.type.record_name());
  if (!record)
    throw CompileError("{}: the program has no record @{}", name(), item.type.record_name());
  check_fields(item.value, record->fields.size(), record->held.size(), item.type, name);
  if (!into_records_ || seen(item)) return;
  std::span<const int64_t> held = item.value.held_sizes();
  std::vector<Type> types =
      record->fields_of(item.type.record_arguments(), std::vector<Dim>(held.begin(), held.end()));
  for (size_t i = 0; i < types.size(); ++i) {
    pending_.push_back({item.value.fields()[i], std::move(types[i])});
  }
}

// Shared parts are visited once, so the time is bounded by the size in memory.
bool ValueWalk::seen(const Item& item) {
  if (!item.value.shared()) return false;
  std::vector<Type>& types = seen_[item.value.identity()];
  if (std::ranges::find(types, item.type) != types.end()) return true;
  types.push_back(item.type);
  return false;
}

}  // namespace plait::ir
