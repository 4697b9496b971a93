#include "plait/ir/attribute_values.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/ir/text/parser_types.h"

namespace plait::ir {
namespace {

Type map_type(const Type& type, const SizeMap& map) {
  switch (type.kind()) {
    case Type::Kind::none: return type;
    case Type::Kind::array: {
      std::vector<Dim> sizes(type.shape().begin(), type.shape().end());
      for (Dim& size : sizes) size = map(size);
      return Type::array(type.dtype(), Shape(sizes), type.varying(), type.sharding());
    }
    case Type::Kind::tuple: {
      std::vector<Type> elements = type.elements();
      for (Type& element : elements) element = map_type(element, map);
      return Type::tuple(std::move(elements));
    }
    case Type::Kind::record: {
      std::vector<Dim> arguments = type.record_arguments();
      for (Dim& argument : arguments) argument = map(argument);
      return Type::record(type.record_name(), std::move(arguments));
    }
    case Type::Kind::optional: return Type::optional(map_type(type.element(), map));
  }
  return type;
}

}  // namespace

void print_value(std::string& out, bool value) { out += value ? "true" : "false"; }
void print_value(std::string& out, int64_t value) { print_number(out, value); }
void print_value(std::string& out, double value) { append_real(out, value); }
void print_value(std::string& out, const std::string& value) { print_quoted(out, value); }
void print_value(std::string& out, DType value) { out += name_of(value); }
void print_value(std::string& out, Dim value) {
  if (value.is_number())
    print_number(out, value.number());
  else if (value.is_symbol())
    out += value.name();
  else
    out += value.text();
}
void print_value(std::string& out, const Type& value) { out += value.text(); }
void print_value(std::string& out, const Literal& value) { out += value.text(); }
void print_value(std::string& out, const SizeFact& value) { out += value.text(); }
void print_value(std::string& out, const AxisSet& value) { out += value.text(); }

void parse_value(TextReader& reader, bool& value) {
  if (reader.accept_word("true"))
    value = true;
  else if (reader.accept_word("false"))
    value = false;
  else
    reader.fail_expecting("true or false");
}
void parse_value(TextReader& reader, int64_t& value) { value = reader.integer(); }
void parse_value(TextReader& reader, double& value) { value = read_real(reader); }
void parse_value(TextReader& reader, std::string& value) { value = reader.quoted(); }
void parse_value(TextReader& reader, DType& value) { value = parse_dtype(reader); }
void parse_value(TextReader& reader, Dim& value) { value = parse_dim(reader); }
void parse_value(TextReader& reader, Type& value) { value = parse_type(reader); }
void parse_value(TextReader& reader, Literal& value) { value = parse_literal(reader); }
void parse_value(TextReader& reader, SizeFact& value) { value = SizeFact::parse(reader); }
void parse_value(TextReader& reader, AxisSet& value) { value = parse_axes(reader); }

void write_value(ByteWriter& writer, bool value) { writer.byte(value ? 1 : 0); }
void write_value(ByteWriter& writer, int64_t value) { writer.signed_number(value); }
void write_value(ByteWriter& writer, double value) { writer.real(value); }
void write_value(ByteWriter& writer, const std::string& value) { writer.string(value); }
void write_value(ByteWriter& writer, DType value) { writer.byte(static_cast<uint8_t>(value)); }
void write_value(ByteWriter& writer, Dim value) { writer.dim(value); }
void write_value(ByteWriter& writer, const Type& value) { writer.type(value); }
void write_value(ByteWriter& writer, const Literal& value) { writer.literal(value); }
void write_value(ByteWriter& writer, const SizeFact& value) {
  writer.dim(value.left);
  writer.byte(static_cast<uint8_t>(value.relation));
  writer.dim(value.right);
}
void write_value(ByteWriter& writer, const AxisSet& value) { writer.axes(value); }

void read_value(ByteReader& reader, bool& value) { value = reader.flag(); }
void read_value(ByteReader& reader, int64_t& value) { value = reader.signed_number(); }
void read_value(ByteReader& reader, double& value) { value = reader.real(); }
void read_value(ByteReader& reader, std::string& value) { value = reader.string(); }
void read_value(ByteReader& reader, DType& value) { value = reader.dtype(); }
void read_value(ByteReader& reader, Dim& value) { value = reader.dim(); }
void read_value(ByteReader& reader, Type& value) { value = reader.type(); }
void read_value(ByteReader& reader, Literal& value) { value = reader.literal(); }
void read_value(ByteReader& reader, SizeFact& value) {
  value.left = reader.dim();
  const uint8_t relation = reader.byte();
  if (relation > static_cast<uint8_t>(SizeFact::less)) {
    reader.fail(fmt::format("{} is not the number of a relation", relation));
  }
  value.relation = static_cast<SizeFact::Relation>(relation);
  value.right = reader.dim();
}
void read_value(ByteReader& reader, AxisSet& value) { value = reader.axes(); }

void map_sizes(Dim& value, const SizeMap& map) { value = map(value); }
void map_sizes(Type& value, const SizeMap& map) { value = map_type(value, map); }
void map_sizes(SizeFact& value, const SizeMap& map) {
  value.left = map(value.left);
  value.right = map(value.right);
}

size_t parse_enumerator(TextReader& reader, std::span<const std::string_view> names) {
  reader.skip_space();
  const size_t begin = reader.position();
  const std::string_view name = reader.name();
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) {
    reader.fail_at(begin, fmt::format("{} is not one of {}", name, fmt::join(names, ", ")));
  }
  return static_cast<size_t>(place - names.begin());
}

size_t read_enumerator(ByteReader& reader, size_t count) {
  const uint64_t number = reader.number();
  if (number >= count) reader.fail(fmt::format("enumerator {} of {}", number, count));
  return number;
}

}  // namespace plait::ir
