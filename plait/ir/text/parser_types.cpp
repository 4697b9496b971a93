#include "plait/ir/text/parser_types.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait::ir {
namespace {

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
  const DType dtype = parse_dtype(reader);
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

Type parse_without_suffix(TextReader& reader) {
  if (reader.accept("(")) return Type::tuple(parse_types(reader, ")"));
  if (reader.accept("@")) {
    std::string name(reader.name());
    std::vector<Dim> arguments;
    if (reader.next_adjacent_is("<") && reader.accept("<")) arguments = parse_dims(reader);
    return Type::record(std::move(name), std::move(arguments));
  }
  if (!reader.next_is_name()) reader.fail_expecting("a type");
  return parse_array(reader);
}

}  // namespace

DType parse_dtype(TextReader& reader) {
  reader.skip_space();
  const size_t begin = reader.position();
  const std::string_view name = reader.name();
  const std::optional<DType> dtype = plait::parse_dtype(name);
  if (!dtype) reader.fail_at(begin, fmt::format("{} is not a dtype", name));
  return *dtype;
}

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

std::vector<Type> parse_types(TextReader& reader, std::string_view closing) {
  std::vector<Type> types;
  if (reader.accept(closing)) return types;
  do types.push_back(parse_type(reader));
  while (reader.accept(","));
  reader.expect(closing);
  return types;
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

Dim parse_size(TextReader& reader) {
  reader.skip_space();
  const size_t begin = reader.position();
  const Dim size = parse_dim(reader);
  if (size.is_number() && size.number() < 0) {
    reader.fail_at(begin, fmt::format("a size of {}, below 0", size));
  }
  return size;
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

}  // namespace plait::ir
