#include "plait/transform/inside/forms/records/declared_records.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

struct Declared {
  std::mutex mutex;
  std::map<std::string, ir::RecordType, std::less<>> records;
};
Declared& declared() {
  static Immortal<Declared> declared;
  return *declared;
}

const ir::RecordType* find_record(std::string_view name) {
  const std::lock_guard lock(declared().mutex);
  const auto place = declared().records.find(name);
  return place == declared().records.end() ? nullptr : &place->second;
}

// Names of tapes contain dots.
bool is_users_name(std::string_view name) { return name.find('.') == std::string_view::npos; }

bool can_be_field(const ir::Type& type) {
  if (!type.is_array()) return is_optional_of_user(type);
  return std::ranges::all_of(type.shape(), [](Dim size) { return size.is_number(); });
}

}  // namespace

const ir::RecordType& record_named(std::string_view name) {
  if (const ir::RecordType* const found = find_record(name)) return *found;
  throw KeyError("unknown record @{}", name).at(Location::of_caller()).hint("declare it first");
}

const ir::RecordType& record_of(const Tensor& record) {
  const ir::Type type = record.type();
  if (is_of_user(type)) return record_named(type.record_name());
  if (is_optional_of_user(type)) return record_named(type.element().record_name());
  throw TypeError("a {} is not a record", type.text()).at(Location::of_caller());
}

ir::Type type_of(const ir::RecordType& record) {
  return ir::Type::optional(ir::Type::record(record.name));
}

bool is_of_user(const ir::Type& type) {
  return type.is_record() && type.record_arguments().empty() && is_users_name(type.record_name());
}

bool is_optional_of_user(const ir::Type& type) {
  return type.is_optional() && is_of_user(type.element());
}

void declare_in(Trace& trace, const ir::RecordType& record) {
  std::vector<const ir::RecordType*> waiting{&record};
  std::vector<std::string_view> told;
  while (!waiting.empty()) {
    const ir::RecordType& next = *waiting.back();
    waiting.pop_back();
    if (std::ranges::find(told, next.name) != told.end()) continue;
    told.push_back(next.name);
    trace.functions().declare(next);
    for (const ir::Type& field : next.fields) {
      if (!field.is_array()) waiting.push_back(&record_named(field.element().record_name()));
    }
  }
}

void declare_record(std::string_view name, std::span<const ir::Type> fields) {
  if (name.empty() || !is_users_name(name)) {
    throw ValueError("\"{}\" is not a valid name of a record", name)
        .at(Location::of_caller())
        .hint("a name has letters, digits and underscores");
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (can_be_field(fields[i])) continue;
    throw TypeError("record @{}: field {} is {}", name, i, fields[i].text())
        .at(Location::of_caller())
        .hint("a field is an array of known sizes, or a record that may be absent, as @tree?");
  }
  ir::RecordType record{std::string(name), {}, {}, {fields.begin(), fields.end()}};
  const std::lock_guard lock(declared().mutex);
  const auto [place, is_new] = declared().records.try_emplace(record.name, record);
  if (is_new || place->second.fields == record.fields) return;
  throw TypeError("record @{} is declared already, as `{}`", name, place->second.text())
      .at(Location::of_caller());
}

void declare_records_of(const ir::Program& program) {
  for (const ir::RecordType& record : program.records()) {
    const bool is_of_user = is_users_name(record.name) && record.parameters.empty() &&
                            record.held.empty() && std::ranges::all_of(record.fields, can_be_field);
    if (is_of_user) declare_record(record.name, record.fields);
  }
}

}  // namespace plait
