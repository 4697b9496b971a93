// Layout: "PLIR", version, records (name, content), function heads (name, signature), bodies in the
// same order.
#include "plait/ir/attribute_values.h"
#include "plait/ir/inside/text/binary.h"
#include "plait/ir/inside/text/binary_format.h"
#include "plait/ir/inside/text/location_text.h"
#include "plait/ir/primitive.h"
#include "plait/ir/program.h"

namespace plait::ir {
namespace {

void write_location(ByteWriter& writer, Location location) {
  std::string text;
  print_location(text, location);
  writer.string(text);
}

void write_label(ByteWriter& writer, const Function& function, ValueId value,
                 const BodyOptions& options) {
  if (options.names) writer.string(function.label(value));
}

// An operand is written as the distance to its definition: small, and independent of the position.
void write_values(ByteWriter& writer, std::span<const ValueId> values, size_t defined) {
  writer.number(values.size());
  for (const ValueId value : values) writer.number(defined - value);
}

void write_dims(ByteWriter& writer, std::span<const Dim> dims) {
  writer.number(dims.size());
  for (const Dim dim : dims) writer.dim(dim);
}

void write_instruction(ByteWriter& writer, const Instruction& instruction, size_t defined,
                       const BodyOptions& options) {
  writer.string(instruction.primitive().name);
  write_dims(writer, instruction.size_results());
  write_dims(writer, instruction.size_arguments());
  writer.number(instruction.callees().size());
  for (const Callee& callee : instruction.callees()) {
    if (options.write_callee)
      options.write_callee(writer, callee);
    else
      writer.string(callee.name);
    write_dims(writer, callee.sizes);
  }
  write_values(writer, instruction.operands(), defined);
  instruction.attributes().write(writer);
  writer.number(instruction.result_count());
  for (size_t i = 0; i < instruction.result_count(); ++i) {
    writer.type(instruction.result_types()[i]);
    write_label(writer, instruction.function(), instruction.result(i), options);
  }
  if (options.names) write_location(writer, instruction.location());
}

}  // namespace

void write_record(ByteWriter& writer, const RecordType& record) {
  write_dims(writer, record.parameters);
  write_dims(writer, record.held);
  write_value(writer, record.fields);
}

void write_signature(ByteWriter& writer, const Function& function, const BodyOptions& options) {
  const Signature& signature = function.signature();
  write_dims(writer, signature.size_parameters);
  writer.number(signature.parameters.size());
  for (ValueId parameter = 0; parameter < signature.parameters.size(); ++parameter) {
    writer.type(signature.parameters[parameter]);
    write_label(writer, function, parameter, options);
  }
  write_dims(writer, signature.result_sizes);
  write_value(writer, signature.results);
  writer.number(signature.axes.axes.size());
  for (const Mesh::Axis& axis : signature.axes.axes) {
    writer.string(axis.name);
    writer.dim(axis.size);
  }
  write_value(writer, signature.facts);
  if (options.names) write_location(writer, function.location());
}

void write_body(ByteWriter& writer, const Function& function, const BodyOptions& options) {
  size_t defined = function.parameter_count();
  writer.number(function.size());
  for (const Instruction instruction : function.instructions()) {
    write_instruction(writer, instruction, defined, options);
    defined += instruction.result_count();
  }
  write_dims(writer, function.result_sizes());
  write_values(writer, function.results(), defined);
}

std::string Program::bytes() const {
  ByteWriter writer;
  for (const char c : kBinaryMagic) writer.byte(static_cast<uint8_t>(c));
  writer.number(kBinaryVersion);
  writer.number(records().size());
  for (const RecordType& record : records()) {
    writer.string(record.name);
    write_record(writer, record);
  }
  writer.number(functions().size());
  for (const auto& function : functions()) {
    writer.string(function->name());
    write_signature(writer, *function);
  }
  for (const auto& function : functions()) write_body(writer, *function);
  return writer.take();
}

}  // namespace plait::ir
