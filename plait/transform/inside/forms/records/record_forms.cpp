// `pack`, `unpack`, `absent`, `present`, `is_present`, `unwrap`, `tuple` and `element`. Those on
// user-defined records run like operations, with derivatives and for many samples. All others exist
// in traces only: Plait itself has put them there.
#include "plait/transform/inside/forms/records/record_forms.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/arrays/create.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/forms/records/declared_records.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace records {
namespace {

using Tensors = std::vector<Tensor>;

Tensor record_one(ir::Structure structure, std::span<const Tensor> operands,
                  std::span<const ir::Type> stated = {}) {
  return Trace::current()->record(
      {.primitive = ir::primitive(structure), .operands = operands, .stated_types = stated})[0];
}

// ---- Without derivatives.

Tensor packed_plain(const ir::RecordType& record, std::span<const Tensor> fields) {
  const ir::Type type = ir::Type::record(record.name);
  if (Trace* const trace = Trace::current()) {
    declare_in(*trace, record);
    return record_one(ir::Structure::pack, fields, {&type, 1});
  }
  std::vector<ir::Value> values;
  for (const Tensor& field : fields) values.push_back(TensorMachine::value_of(field));
  return Tensor(RecordValue{type, ir::Value::aggregate(std::move(values))});
}

Tensors unpacked_plain(const ir::RecordType& record, const Tensor& packed) {
  if (Trace* const trace = Trace::current()) {
    declare_in(*trace, record);
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

// ---- Derivatives.

Tensor zero_of(const ir::Type& field) {
  if (!field.is_array()) return absent(record_named(field.element().record_name()));
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
  return present(packed(record, fields));
}

// The tangents of the fields, empty for fields without one; zeros if the record's tangent
// is absent.
Tensors tangents_taken(const ir::RecordType& record, const Tensor& tangent) {
  const auto there = [&](std::span<const Tensor> given) {
    return unpacked(record, unwrapped(given[0]));
  };
  const auto absent = [&](std::span<const Tensor>) { return zeros_of_fields(record); };
  Tensors fields = control::cond(is_present(tangent), there, absent, {&tangent, 1});
  for (Tensor& field : fields) {
    if (!has_tangent(field)) field = Tensor();
  }
  return fields;
}

// The identity under another type: tangents are unchanged.
Tensor as_it_is(const Tensor& given, Tensor result) {
  if (!is_followed(given)) return result;
  return follow_custom(
      {.inputs = {given},
       .residuals = {},
       .results = {std::move(result)},
       .backward = [](auto cotangents, const Node::Kept&) { return Tensors{cotangents[0]}; },
       .forward = [](auto tangents, const Node::Kept&,
                     uint64_t) { return Tensors{tangents[0]}; }})[0];
}

}  // namespace

Tensor packed(const ir::RecordType& record, std::span<const Tensor> fields) {
  Tensor result = packed_plain(record, fields);
  if (!is_followed(fields)) return result;
  return follow_custom(
      {.inputs = {fields.begin(), fields.end()},
       .residuals = {},
       .results = {std::move(result)},
       .backward = [&record](auto cotangents,
                             const Node::Kept&) { return tangents_taken(record, cotangents[0]); },
       .forward = [&record](auto tangents, const Node::Kept&,
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
                       const Node::Kept&) { return Tensors{made_of_tangents(record, cotangents)}; },
       .forward = [&record](auto tangents, const Node::Kept&,
                            uint64_t) { return tangents_taken(record, tangents[0]); }});
}

Tensor present(const Tensor& given) { return as_it_is(given, present_plain(underived(given))); }
Tensor unwrapped(const Tensor& given) { return as_it_is(given, unwrapped_plain(underived(given))); }

Tensor absent(const ir::RecordType& record) {
  const ir::Type type = type_of(record);
  Trace* const trace = Trace::current();
  if (trace == nullptr) return Tensor(RecordValue{type, ir::Value::absent()});
  declare_in(*trace, record);
  return record_one(ir::Structure::absent, {}, {&type, 1});
}

Tensor is_present(const Tensor& record) {
  record_of(record);
  const Tensor plain = underived(record);
  if (Trace::current() != nullptr) return record_one(ir::Structure::is_present, {&plain, 1});
  return Tensor(Array::of(record.record().is_present()));
}

}  // namespace records

namespace {

// ---- The instructions.

using Tensors = std::vector<Tensor>;

// An instruction on a value that exists in traces only.
Tensors record_as_it_is(const OnTensors& here) {
  const ir::Instruction& instruction = here.instruction;
  Trace* const trace = Trace::current();
  if (trace == nullptr || is_followed(here.operands)) {
    throw TypeError("{} cannot be {} yet", ir::print(instruction),
                    trace == nullptr ? "run on tensors" : "differentiated")
        .at(instruction.location())
        .hint("take all derivatives in one trace, of the function that was traced here");
  }
  std::vector<Dim> held;
  for (const Dim size : instruction.size_arguments()) held.push_back(size.substitute(here.sizes));
  std::vector<ir::Type> types;
  if (instruction.size_results().empty()) {
    for (const ir::Type& type : instruction.result_types()) {
      types.push_back(type.substitute(here.sizes));
    }
  }
  return trace->record({.primitive = instruction.primitive(),
                        .operands = here.operands,
                        .attributes = instruction.attributes(),
                        .size_arguments = held,
                        .stated_types = types});
}

// The same for `pack` and `unpack`, whose trace must know the record.
Tensors record_with_type(const OnTensors& here) {
  Trace* const trace = Trace::current();
  if (trace != nullptr && here.run != nullptr) {
    trace->functions().declare_records(here.run->program().records());
  }
  return record_as_it_is(here);
}

bool is_record(const ir::Type& type) { return is_of_user(type) || is_optional_of_user(type); }
bool gives_record(const OnTensors& here) { return is_record(here.instruction.result_types()[0]); }
bool takes_record(const OnTensors& here) { return is_record(here.instruction.operand_type(0)); }

Tensors run_pack(const OnTensors& here) {
  if (!gives_record(here)) return record_with_type(here);
  const ir::Type& type = here.instruction.result_types()[0];
  return {records::packed(record_named(type.record_name()), here.operands)};
}

Tensors run_unpack(const OnTensors& here) {
  if (!takes_record(here)) return record_with_type(here);
  return records::unpacked(record_of(here.operands[0]), here.operands[0]);
}

Tensors run_absent(const OnTensors& here) {
  if (!gives_record(here)) return record_as_it_is(here);
  const ir::Type& type = here.instruction.result_types()[0];
  return {records::absent(record_named(type.element().record_name()))};
}

Tensors run_present(const OnTensors& here) {
  return gives_record(here) ? Tensors{records::present(here.operands[0])} : record_as_it_is(here);
}

Tensors run_is_present(const OnTensors& here) {
  return takes_record(here) ? Tensors{records::is_present(here.operands[0])}
                            : record_as_it_is(here);
}

Tensors run_unwrap(const OnTensors& here) {
  return takes_record(here) ? Tensors{records::unwrapped(here.operands[0])} : record_as_it_is(here);
}

// All samples share a record.
std::vector<BatchedValue> batch_record(const OnSamples& here, bool is_of_user) {
  const bool any = std::ranges::any_of(here.operands, &BatchedValue::is_batched);
  if (any || !is_of_user) refuse_batching(here.instruction);
  return run_for_all_samples(here);
}
std::vector<BatchedValue> batch_given_record(const OnSamples& here) {
  return batch_record(here, is_record(here.instruction.result_types()[0]));
}
std::vector<BatchedValue> batch_taken_record(const OnSamples& here) {
  return batch_record(here, is_record(here.instruction.operand_type(0)));
}

}  // namespace

namespace forms {

extern constexpr Form kTuple{.run = record_as_it_is};
extern constexpr Form kElement{.run = record_as_it_is};
extern constexpr Form kPack{.run = run_pack, .batch = batch_given_record};
extern constexpr Form kUnpack{.run = run_unpack, .batch = batch_taken_record};
extern constexpr Form kAbsent{.run = run_absent, .batch = batch_given_record};
extern constexpr Form kPresent{.run = run_present, .batch = batch_given_record};
extern constexpr Form kIsPresent{.run = run_is_present, .batch = batch_taken_record};
extern constexpr Form kUnwrap{.run = run_unwrap, .batch = batch_taken_record};

}  // namespace forms
}  // namespace plait
