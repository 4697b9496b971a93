// Type rules of literals, sizes, guards, tuples, records and optional values.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/numbers/dtype.h"
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"

namespace plait::ir {

namespace {

void infer_literal(Inference& in) {
  const Literal& value = in.attributes_as<LiteralAttributes>().value;
  std::vector<Dim> dims(value.sizes().begin(), value.sizes().end());
  in.give(Type::array(value.dtype(), Shape(dims)));
}

void infer_size(Inference& in) {
  DType dtype = in.attributes_as<SizeAttributes>().dtype;
  if (!is_integer(dtype) && !is_floating(dtype))
    in.fail("a size is a number, not {}", name_of(dtype));
  in.give(Type::scalar(dtype));
}

std::string range_of(DType dtype) {
  if (is_floating(dtype)) {
    const double most = float_limits(dtype).max;
    return fmt::format("{} to {}", -most, most);
  }
  const IntegerLimits limits = integer_limits(dtype);
  return fmt::format("{} to {}", limits.min, limits.max);
}

// A float rounds the size, but an infinity would be another number.
bool holds(DType dtype, int64_t size) {
  if (is_floating(dtype)) return std::abs(static_cast<double>(size)) <= float_limits(dtype).max;
  const IntegerLimits limits = integer_limits(dtype);
  return limits.min <= size && (size < 0 || static_cast<uint64_t>(size) <= limits.max);
}

Effects effects_of_size(const Instruction& instruction) {
  return {.may_fail = !holds_every_size(instruction.attributes_as<SizeAttributes>().dtype)};
}

void infer_as_size(Inference& in) {
  const Type& count = in.operands[0];
  if (!count.is_array() || count.rank() != 0 || !is_integer(count.dtype())) {
    in.fail("takes one integer, not {}", count.text());
  }
  if (!count.varying().empty() && !in.attributes_as<AsSizeAttributes>().at_least) {
    throw TypeError("as_size: the number varies along {}, and a size must not",
                    count.varying().text())
        .at(in.location)
        .hint("use the padded form: a fixed size and the number of valid entries");
  }
  in.new_size("k");
}

// True if two types are equal except for their sizes.
bool same_but_sizes(const Type& a, const Type& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Type::Kind::none: return true;
    case Type::Kind::array:
      return a.dtype() == b.dtype() && a.rank() == b.rank() && a.varying() == b.varying();
    case Type::Kind::tuple:
      return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(),
                        b.elements().end(), same_but_sizes);
    case Type::Kind::record: return a.record_name() == b.record_name();
    case Type::Kind::optional: return same_but_sizes(a.element(), b.element());
  }
  return false;
}

void infer_refine(Inference& in) {
  const Type& wanted = in.stated_result(0);
  if (!same_but_sizes(in.operands[0], wanted)) {
    in.fail("changes sizes only: {} cannot become {}", in.operands[0].text(), wanted.text());
  }
  in.give(wanted);
}

void infer_nothing(Inference&) {}

void infer_guard(Inference& in) {
  const Type& predicate = in.operands[0];
  if (!predicate.is_array() || predicate.rank() != 0 || predicate.dtype() != DType::boolean) {
    in.fail("takes a bool[], not {}", predicate.text());
  }
}

void infer_vary(Inference& in) {
  const AxisSet& added = in.attributes_as<VaryAttributes>().axes;
  AxisSet axes = in.operands[0].all_varying();
  if (axes.intersects(added)) in.fail("{} varies along these axes already", in.operands[0].text());
  for (const std::string& axis : added) {
    if (!in.axes.find(axis)) in.fail("the function has no axis `{}`", axis);
  }
  axes.insert(added);
  in.give(in.operands[0].with_varying(axes));
}

void infer_tuple(Inference& in) {
  in.give(Type::tuple(std::vector<Type>(in.operands.begin(), in.operands.end())));
}

void infer_element(Inference& in) {
  if (!in.operands[0].is_tuple()) in.fail("takes a tuple, not {}", in.operands[0].text());
  const std::vector<Type>& elements = in.operands[0].elements();
  int64_t index = in.attributes_as<ElementAttributes>().index;
  if (index < 0 || index >= static_cast<int64_t>(elements.size())) {
    throw IndexError("element: index {} is out of range for a tuple of {}", index, elements.size())
        .at(in.location);
  }
  in.give(elements[index]);
}

void infer_pack(Inference& in) {
  const Type& type = in.stated_result(0);
  if (!type.is_record()) in.fail("makes a record, not {}", type.text());
  const RecordType& record = in.record(type);
  if (in.size_arguments.size() != record.held.size()) {
    in.fail("@{} holds {} sizes, {} are given", record.name, record.held.size(),
            in.size_arguments.size());
  }
  std::vector<Type> fields = record.fields_of(type.record_arguments(), in.size_arguments);
  if (fields.size() != in.operands.size()) {
    in.fail("@{} has {} fields, {} values are given", record.name, fields.size(),
            in.operands.size());
  }
  for (size_t i = 0; i < fields.size(); ++i) in.expect_operand(i, fields[i]);
  in.give(type);
}

void infer_unpack(Inference& in) {
  const Type& type = in.operands[0];
  if (!type.is_record()) in.fail("takes a record, not {}", type.text());
  const RecordType& record = in.record(type);
  std::vector<Dim> held;
  for (Dim size : record.held) held.push_back(in.new_size(size.name()));
  for (Type& field : record.fields_of(type.record_arguments(), held)) in.give(std::move(field));
}

void infer_absent(Inference& in) {
  const Type& type = in.stated_result(0);
  if (!type.is_optional()) in.fail("makes an optional value, not {}", type.text());
  in.give(type);
}

void infer_present(Inference& in) { in.give(Type::optional(in.operands[0])); }

const Type& expect_optional(Inference& in) {
  if (!in.operands[0].is_optional())
    in.fail("takes an optional value, not {}", in.operands[0].text());
  return in.operands[0].element();
}

void infer_is_present(Inference& in) {
  const Type& element = expect_optional(in);
  in.give(Type::array(DType::boolean, {}, element.all_varying()));
}

void infer_unwrap(Inference& in) { in.give(expect_optional(in)); }

Effects observable(const Instruction&) { return {.observable = true}; }
Effects guarded(const Instruction& instruction) {
  return {.observable = true, .guarded = instruction.operand_type(0).varying()};
}

}  // namespace

bool has_tangent(const Type& type) {
  switch (type.kind()) {
    case Type::Kind::none: return false;
    case Type::Kind::array: return is_inexact(type.dtype());
    case Type::Kind::tuple:
      return std::any_of(type.elements().begin(), type.elements().end(), has_tangent);
    case Type::Kind::record: return true;
    case Type::Kind::optional: return has_tangent(type.element());
  }
  return false;
}

bool holds_every_size(DType dtype) {
  return dtype == DType::i64 || (is_floating(dtype) && float_limits(dtype).max > 0x1p63);
}

void expect_holds(DType dtype, int64_t size) {
  if (holds_every_size(dtype) || holds(dtype, size)) return;
  throw ValueError("the size {} does not fit into {}, whose range is {}", size, name_of(dtype),
                   range_of(dtype));
}

std::vector<Primitive> data_primitives() {
  return {
      {.name = "literal",
       .summary = "A constant.",
       .structure = Structure::literal,
       .attributes = &schema_of<LiteralAttributes>(),
       .infer = infer_literal},
      {.name = "size",
       .summary = "A size as a value.",
       .structure = Structure::size,
       .attributes = &schema_of<SizeAttributes>(),
       .infer = infer_size,
       .effects = effects_of_size},
      {.name = "as_size",
       .summary = "An integer as a new size.",
       .structure = Structure::as_size,
       .attributes = &schema_of<AsSizeAttributes>(),
       .operands = exactly(1),
       .infer = infer_as_size,
       .effects = may_fail},
      {.name = "refine",
       .summary = "The same value with sizes that are checked to be equal at run time.",
       .structure = Structure::refine,
       .operands = exactly(1),
       .infer = infer_refine,
       .infers_axes = true,
       .effects = may_fail},
      {.name = "size_guard",
       .summary = "A condition on sizes that held when this was traced.",
       .structure = Structure::size_guard,
       .attributes = &schema_of<SizeGuardAttributes>(),
       .infer = infer_nothing,
       .effects = observable},
      {.name = "guard",
       .summary = "A condition that had this outcome when this was traced.",
       .structure = Structure::guard,
       .attributes = &schema_of<GuardAttributes>(),
       .operands = exactly(1),
       .infer = infer_guard,
       .effects = guarded},
      {.name = "vary",
       .summary = "The same value, declared to vary along more axes.",
       .structure = Structure::vary,
       .attributes = &schema_of<VaryAttributes>(),
       .operands = exactly(1),
       .infer = infer_vary,
       .infers_axes = true},
      {.name = "tuple",
       .summary = "Several values as one.",
       .structure = Structure::tuple,
       .operands = at_least(0),
       .infer = infer_tuple,
       .infers_axes = true},
      {.name = "element",
       .summary = "One value of a tuple.",
       .structure = Structure::element,
       .attributes = &schema_of<ElementAttributes>(),
       .operands = exactly(1),
       .infer = infer_element,
       .infers_axes = true},
      {.name = "pack",
       .summary = "A record from its fields.",
       .structure = Structure::pack,
       .operands = at_least(0),
       .size_arguments = at_least(0),
       .infer = infer_pack,
       .infers_axes = true},
      {.name = "unpack",
       .summary = "The fields of a record.",
       .structure = Structure::unpack,
       .operands = exactly(1),
       .infer = infer_unpack,
       .infers_axes = true},
      {.name = "absent",
       .summary = "The absent optional value; it means zero.",
       .structure = Structure::absent,
       .infer = infer_absent},
      {.name = "present",
       .summary = "A present optional value.",
       .structure = Structure::present,
       .operands = exactly(1),
       .infer = infer_present,
       .infers_axes = true},
      {.name = "is_present",
       .summary = "Whether an optional value is present.",
       .structure = Structure::is_present,
       .operands = exactly(1),
       .infer = infer_is_present,
       .infers_axes = true},
      {.name = "unwrap",
       .summary = "The value of an optional value that must be present.",
       .structure = Structure::unwrap,
       .operands = exactly(1),
       .infer = infer_unwrap,
       .infers_axes = true,
       .effects = may_fail},
  };
}

}  // namespace plait::ir
