#include "plait/transform/control/record.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/system/deep_stack.h"
#include "plait/core/text.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/parser.h"
#include "plait/ops/arrays/create.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/control/open_recursion.h"
#include "plait/transform/inside/control/staged_recursion.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

// ---- Declared records.

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

const ir::RecordType& record_named(std::string_view name) {
  if (const ir::RecordType* const found = find_record(name)) return *found;
  throw KeyError("unknown record @{}", name).at(Location::of_caller()).hint("declare it first");
}

// Names of tapes contain dots.
bool is_users_name(std::string_view name) { return name.find('.') == std::string_view::npos; }

ir::Type type_of(const ir::RecordType& record) {
  return ir::Type::optional(ir::Type::record(record.name));
}

bool is_of_user(const ir::Type& type) {
  return type.is_record() && type.record_arguments().empty() && is_users_name(type.record_name());
}
bool is_optional_of_user(const ir::Type& type) {
  return type.is_optional() && is_of_user(type.element());
}

// The record of a value of type `@name` or `@name?`; TypeError for other types.
const ir::RecordType& record_of(const Tensor& record) {
  const ir::Type type = record.type();
  if (is_of_user(type)) return record_named(type.record_name());
  if (is_optional_of_user(type)) return record_named(type.element().record_name());
  throw TypeError("a {} is not a record", type.text()).at(Location::of_caller());
}

bool can_be_field(const ir::Type& type) {
  if (!type.is_array()) return is_optional_of_user(type);
  return std::ranges::all_of(type.shape(), [](Dim size) { return size.is_number(); });
}

// Declares the record, and the records in its fields, in the trace.
void tell(Trace& trace, const ir::RecordType& record) {
  std::vector<const ir::RecordType*> waiting{&record};
  std::vector<std::string_view> told;
  while (!waiting.empty()) {
    const ir::RecordType& next = *waiting.back();
    waiting.pop_back();
    if (std::ranges::find(told, next.name) != told.end()) continue;
    told.push_back(next.name);
    trace.declare(next);
    for (const ir::Type& field : next.fields) {
      if (!field.is_array()) waiting.push_back(&record_named(field.element().record_name()));
    }
  }
}

Tensor record_one(ir::Structure structure, std::span<const Tensor> operands,
                  std::span<const ir::Type> stated = {}) {
  return Trace::current()->record(
      {.primitive = ir::primitive(structure), .operands = operands, .stated_types = stated})[0];
}

// ---- Instructions, without derivatives.

Tensor packed_plain(const ir::RecordType& record, std::span<const Tensor> fields) {
  const ir::Type type = ir::Type::record(record.name);
  if (Trace* const trace = Trace::current()) {
    tell(*trace, record);
    return record_one(ir::Structure::pack, fields, {&type, 1});
  }
  std::vector<ir::Value> values;
  for (const Tensor& field : fields) values.push_back(TensorMachine::value_of(field));
  return Tensor(RecordValue{type, ir::Value::aggregate(std::move(values))});
}

Tensors unpacked_plain(const ir::RecordType& record, const Tensor& packed) {
  if (Trace* const trace = Trace::current()) {
    tell(*trace, record);
    return trace->record(
        {.primitive = ir::primitive(ir::Structure::unpack), .operands = {&packed, 1}});
  }
  Tensors fields;
  const auto values = packed.record().fields();
  for (size_t i = 0; i < values.size(); ++i) {
    fields.push_back(TensorMachine::tensor_of(values[i], record.fields[i]));
  }
  return fields;
}

Tensor present_plain(const Tensor& packed) {
  if (Trace::current() != nullptr) return record_one(ir::Structure::present, {&packed, 1});
  return Tensor(
      RecordValue{ir::Type::optional(packed.type()), ir::Value::present(packed.record())});
}

Tensor unwrapped_plain(const Tensor& record) {
  if (Trace::current() != nullptr) return record_one(ir::Structure::unwrap, {&record, 1});
  if (record.record().is_present()) {
    return Tensor(RecordValue{record.type().element(), record.record().unwrapped()});
  }
  throw ValueError("a {} is absent where its fields are read", record.type().element().text())
      .at(Location::of_caller())
      .hint("test whether it is present, in a cond");
}

// ---- Derivatives. The tangent of a record, absent or not, has the type `@name?`; fields without a
// tangent are zeros.

Tensor zero_of(const ir::Type& field) {
  if (!field.is_array()) return records::none(field.element().record_name());
  return zeros(field.shape(), field.dtype());
}

Tensors zeros_of_fields(const ir::RecordType& record) {
  Tensors all;
  for (const ir::Type& field : record.fields) all.push_back(zero_of(field));
  return all;
}

Tensor made_of_tangents(const ir::RecordType& record, std::span<const Tensor> tangents) {
  Tensors fields;
  for (size_t i = 0; i < record.fields.size(); ++i) {
    fields.push_back(tangents[i] ? tangents[i] : zero_of(record.fields[i]));
  }
  return records::make(record.name, fields);
}

// The tangents of the fields, empty for fields without one; zeros if the record's tangent
// is absent.
Tensors tangents_taken(const ir::RecordType& record, const Tensor& tangent) {
  const auto there = [](std::span<const Tensor> given) { return records::fields(given[0]); };
  const auto absent = [&](std::span<const Tensor>) { return zeros_of_fields(record); };
  Tensors fields = control::cond(records::is_there(tangent), there, absent, {&tangent, 1});
  for (Tensor& field : fields) {
    if (!has_tangent(field)) field = Tensor();
  }
  return fields;
}

Tensor packed(const ir::RecordType& record, std::span<const Tensor> fields) {
  Tensor result = packed_plain(record, fields);
  if (!is_followed(fields)) return result;
  return follow_custom(
      {.inputs = {fields.begin(), fields.end()},
       .residuals = {},
       .results = {std::move(result)},
       .backward = [&record](auto cotangents,
                             const Step::Kept&) { return tangents_taken(record, cotangents[0]); },
       .forward = [&record](auto tangents, const Step::Kept&,
                            uint64_t) { return Tensors{made_of_tangents(record, tangents)}; }})[0];
}

Tensors unpacked(const ir::RecordType& record, const Tensor& given) {
  Tensors fields = unpacked_plain(record, underived(given));
  if (!is_followed(given)) return fields;
  return follow_custom(
      {.inputs = {given},
       .residuals = {},
       .results = std::move(fields),
       .backward = [&record](
                       auto cotangents,
                       const Step::Kept&) { return Tensors{made_of_tangents(record, cotangents)}; },
       .forward = [&record](auto tangents, const Step::Kept&,
                            uint64_t) { return tangents_taken(record, tangents[0]); }});
}

// The identity under another type: tangents are unchanged.
Tensor as_it_is(const Tensor& given, Tensor result) {
  if (!is_followed(given)) return result;
  return follow_custom(
      {.inputs = {given},
       .residuals = {},
       .results = {std::move(result)},
       .backward = [](auto cotangents, const Step::Kept&) { return Tensors{cotangents[0]}; },
       .forward = [](auto tangents, const Step::Kept&,
                     uint64_t) { return Tensors{tangents[0]}; }})[0];
}

Tensor present(const Tensor& given) { return as_it_is(given, present_plain(underived(given))); }
Tensor unwrapped(const Tensor& given) { return as_it_is(given, unwrapped_plain(underived(given))); }

// ---- The sum of two records, a recursive function.

Tensor sum_of_fields(const ir::RecordType& record, const Tensor& a, const Tensor& b) {
  const Tensors left = records::fields(a), right = records::fields(b);
  Tensors sums;
  for (size_t i = 0; i < left.size(); ++i) {
    sums.push_back(has_tangent(left[i]) ? sum_of(left[i], right[i]) : left[i]);
  }
  return records::make(record.name, sums);
}

Tensor sum_now(const Tensor& a, const Tensor& b) {
  return with_enough_stack([&] {
    if (!a.record().is_present()) return b;
    if (!b.record().is_present()) return a;
    return sum_of_fields(record_of(a), a, b);
  });
}

OpenRecursion::Key key_of_sum(const ir::RecordType& record) { return {&record, "sum"}; }

StagedFunction staged_sum(const ir::RecordType& record) {
  thread_local std::unordered_map<const ir::RecordType*, StagedFunction> staged;
  const auto place = staged.find(&record);
  if (place != staged.end()) return place->second;
  OpenRecursion open(key_of_sum(record), "add_" + record.name, {2, type_of(record)});
  StagedFunction function = open.stage([&](std::span<const Tensor> given) {
    const auto fieldwise = [&](std::span<const Tensor> both) {
      return Tensors{sum_of_fields(record, both[0], both[1])};
    };
    const auto second = [](std::span<const Tensor> both) { return Tensors{both[1]}; };
    const auto first = [](std::span<const Tensor> both) { return Tensors{both[0]}; };
    const auto where_first = [&](std::span<const Tensor> both) {
      return control::cond(records::is_there(both[1]), fieldwise, first, both);
    };
    return control::cond(records::is_there(given[0]), where_first, second, given);
  });
  if (!has_open_calls(function.program)) staged.emplace(&record, function);
  return function;
}

}  // namespace

namespace records {

void declare(std::string_view name, std::span<const ir::Type> fields) {
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

Tensor make(std::string_view name, std::span<const Tensor> fields) {
  const ir::RecordType& record = record_named(name);
  if (fields.size() != record.fields.size()) {
    throw ValueError("@{} has {} fields, {} are given", name, record.fields.size(), fields.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const ir::Type given = fields[i].type().without_sharding();
    if (given == record.fields[i]) continue;
    throw TypeError("@{}: field {} is {}, expected {}", name, i, given.text(),
                    record.fields[i].text())
        .at(Location::of_caller());
  }
  return present(packed(record, fields));
}

Tensor none(std::string_view name) {
  const ir::RecordType& record = record_named(name);
  const ir::Type type = type_of(record);
  Trace* const trace = Trace::current();
  if (trace == nullptr) return Tensor(RecordValue{type, ir::Value::absent()});
  tell(*trace, record);
  return record_one(ir::Structure::absent, {}, {&type, 1});
}

Tensor is_there(const Tensor& record) {
  record_of(record);
  const Tensor plain = underived(record);
  if (Trace::current() != nullptr) return record_one(ir::Structure::is_present, {&plain, 1});
  return Tensor(Array::of(record.record().is_present()));
}

std::vector<Tensor> fields(const Tensor& record) {
  const ir::RecordType& type = record_of(record);
  return unpacked(type, unwrapped(record));
}

void declare_all(const ir::Program& program) {
  for (const ir::RecordType& record : program.records()) {
    const bool is_of_user = is_users_name(record.name) && record.parameters.empty() &&
                            record.held.empty() && std::ranges::all_of(record.fields, can_be_field);
    if (is_of_user) declare(record.name, record.fields);
  }
}

}  // namespace records

Record::Record(std::string_view name, std::initializer_list<std::string_view> fields) : name(name) {
  std::vector<ir::Type> types;
  for (const std::string_view text : fields) types.push_back(parse_whole(text, ir::parse_type));
  records::declare(name, types);
}

bool is_record_instruction(const ir::Instruction& instruction) {
  const auto is_ours = [](const ir::Type& type) {
    return is_of_user(type) || is_optional_of_user(type);
  };
  switch (instruction.primitive().structure) {
    case ir::Structure::pack:
    case ir::Structure::present:
    case ir::Structure::absent: return is_ours(instruction.result_types()[0]);
    case ir::Structure::unpack:
    case ir::Structure::unwrap:
    case ir::Structure::is_present: return is_ours(instruction.operand_type(0));
    default: return false;
  }
}

std::vector<Tensor> run_record_instruction(const ir::Instruction& instruction,
                                           std::span<const Tensor> operands) {
  switch (instruction.primitive().structure) {
    case ir::Structure::pack:
      return {packed(record_named(instruction.result_types()[0].record_name()), operands)};
    case ir::Structure::present: return {present(operands[0])};
    case ir::Structure::absent:
      return {records::none(instruction.result_types()[0].element().record_name())};
    case ir::Structure::unpack: return unpacked(record_of(operands[0]), operands[0]);
    case ir::Structure::unwrap: return {unwrapped(operands[0])};
    default: return {records::is_there(operands[0])};
  }
}

Tensor zero_record(const ir::Type& type) {
  if (is_of_user(type)) return records::none(type.record_name());
  if (is_optional_of_user(type)) return records::none(type.element().record_name());
  if (type.is_optional() && Trace::current() != nullptr) {
    return record_one(ir::Structure::absent, {}, {&type, 1});
  }
  throw TypeError("a {} has no derivative", type.text()).at(Location::of_caller());
}

Tensor sum_of_records(const Tensor& a, const Tensor& b) {
  const ir::RecordType& record = record_of(a);
  if (Trace::current() == nullptr) return sum_now(a, b);
  const Tensor both[] = {a, b};
  const std::vector<ir::Type> types = ir_types_of(both);
  if (OpenRecursion* const open = OpenRecursion::find(key_of_sum(record), types)) {
    return open->call(both)[0];
  }
  const StagedFunction sum = staged_sum(record);
  return run_recursive(sum.program, *sum.function, both)[0];
}

}  // namespace plait
