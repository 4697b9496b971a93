// Parses types, records, and the heads of functions.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/inside/text/location_text.h"
#include "plait/ir/text/parser.h"

namespace plait::ir {
namespace {

// Expressions may contain negative numbers, but a size is not negative.
Dim parse_size(TextReader& reader) {
  reader.skip_space();
  const size_t begin = reader.position();
  const Dim size = parse_dim(reader);
  if (size.is_number() && size.number() < 0) {
    reader.fail_at(begin, fmt::format("a size of {}, below 0", size));
  }
  return size;
}

// `f32[n @data, m @(model, x)]`: parses the axes of one dimension.
std::vector<std::string> parse_split(TextReader& reader) {
  std::vector<std::string> axes;
  if (!reader.accept("(")) return {std::string(reader.name())};
  do axes.emplace_back(reader.name());
  while (reader.accept(","));
  reader.expect(")");
  return axes;
}

Type parse_array(TextReader& reader) {
  DType dtype{};
  parse_value(reader, dtype);
  std::vector<Dim> sizes;
  Sharding sharding;
  bool is_split = false;
  reader.expect("[");
  if (!reader.accept("]")) {
    do {
      sizes.push_back(parse_size(reader));
      sharding.splits.emplace_back();
      if (!reader.accept("@")) continue;
      sharding.splits.back() = parse_split(reader);
      is_split = true;
    } while (reader.accept(","));
    reader.expect("]");
  }
  if (!is_split) sharding.splits.clear();
  AxisSet varying;
  if (reader.accept("^")) varying = parse_axes(reader);
  if (reader.accept("+")) sharding.partial = parse_axes(reader);
  return Type::array(dtype, Shape(sizes), std::move(varying), std::move(sharding));
}

std::vector<Type> parse_types_until(TextReader& reader, std::string_view closing) {
  std::vector<Type> types;
  if (reader.accept(closing)) return types;
  do types.push_back(parse_type(reader));
  while (reader.accept(","));
  reader.expect(closing);
  return types;
}

Type parse_without_suffix(TextReader& reader) {
  if (reader.accept("(")) return Type::tuple(parse_types_until(reader, ")"));
  if (reader.accept("@")) {
    std::string name(reader.name());
    std::vector<Dim> arguments;
    if (reader.next_adjacent_is("<") && reader.accept("<")) arguments = parse_dims(reader);
    return Type::record(std::move(name), std::move(arguments));
  }
  if (!reader.next_is_name()) reader.fail_expecting("a type");
  return parse_array(reader);
}

// The sizes that are a whole dimension of some parameter, in order.
std::vector<Dim> sizes_shown_by(const std::vector<Type>& parameters) {
  std::vector<Dim> sizes;
  std::unordered_map<Dim, bool> seen;
  for (const Type& type : parameters) {
    type.for_each_dim([&](Dim size) {
      if (size.is_symbol() && seen.try_emplace(size, true).second) sizes.push_back(size);
    });
  }
  return sizes;
}

void parse_parameters(TextReader& reader, FunctionHead& head) {
  reader.expect("(");
  if (reader.accept(")")) return;
  do {
    reader.expect("%");
    head.label_positions.push_back(reader.position() - 1);
    head.labels.emplace_back(reader.name());
    reader.expect(":");
    head.signature.parameters.push_back(parse_type(reader));
  } while (reader.accept(","));
  reader.expect(")");
}

Mesh parse_mesh(TextReader& reader) {
  Mesh mesh;
  reader.expect("{");
  do {
    reader.skip_space();
    const size_t begin = reader.position();
    const std::string_view name = reader.name();
    if (mesh.find(name)) reader.fail_at(begin, fmt::format("the axis {} appears twice", name));
    reader.expect(":");
    mesh.axes.push_back({std::string(name), parse_size(reader)});
  } while (reader.accept(","));
  reader.expect("}");
  return mesh;
}

}  // namespace

Type parse_type(TextReader& reader) {
  const TextReader::Nesting nesting(reader);
  reader.skip_space();
  const size_t begin = reader.position();
  try {
    Type type = parse_without_suffix(reader);
    while (reader.accept("?")) type = Type::optional(std::move(type));
    return type;
  } catch (const ParseError&) {
    throw;
  } catch (const Error& error) {
    reader.fail_at(begin, error.message());
  }
}

AxisSet parse_axes(TextReader& reader) {
  AxisSet axes;
  reader.expect("{");
  if (reader.accept("}")) return axes;
  do axes.insert(reader.name());
  while (reader.accept(","));
  reader.expect("}");
  return axes;
}

std::vector<Dim> parse_dims(TextReader& reader) {
  std::vector<Dim> dims;
  if (reader.accept(">")) return dims;
  do dims.push_back(parse_size(reader));
  while (reader.accept(","));
  reader.expect(">");
  return dims;
}

std::vector<Dim> parse_size_names(TextReader& reader) {
  std::vector<Dim> names;
  if (reader.accept(">")) return names;
  do {
    reader.skip_space();
    const size_t begin = reader.position();
    const Dim name = Dim::symbol(reader.name());
    if (std::ranges::any_of(names, is_same_as(name))) {
      reader.fail_at(begin, fmt::format("the size {} appears twice", name.name()));
    }
    names.push_back(name);
  } while (reader.accept(","));
  reader.expect(">");
  return names;
}

RecordType parse_record(TextReader& reader) {
  RecordType record;
  reader.expect("@");
  record.name = reader.name();
  if (reader.accept("<")) record.parameters = parse_size_names(reader);
  reader.expect("=");
  if (reader.accept("<")) record.held = parse_size_names(reader);
  reader.expect("{");
  record.fields = parse_types_until(reader, "}");
  return record;
}

FunctionHead parse_function_head(TextReader& reader) {
  FunctionHead head;
  Signature& signature = head.signature;
  reader.expect("@");
  head.name_position = reader.position() - 1;
  head.name = reader.name();
  const bool names_sizes = reader.accept("<");
  if (names_sizes) signature.size_parameters = parse_size_names(reader);
  parse_parameters(reader, head);
  if (!names_sizes) signature.size_parameters = sizes_shown_by(signature.parameters);
  reader.expect("->");
  if (reader.accept("<")) signature.result_sizes = parse_size_names(reader);
  reader.expect("(");
  signature.results = parse_types_until(reader, ")");
  if (reader.accept_word("over")) signature.axes = parse_mesh(reader);
  if (reader.accept_word("where")) {
    do signature.facts.push_back(SizeFact::parse(reader));
    while (reader.accept(","));
  }
  reader.expect("{");
  head.brace = reader.position() - 1;
  head.location = parse_location(reader.comment());
  return head;
}

bool is_unlabelled_name(std::string_view written, size_t parameter) {
  while (written.ends_with('_')) written.remove_suffix(1);
  return written == fmt::format("p{}", parameter);
}

}  // namespace plait::ir
