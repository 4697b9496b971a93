#include "plait/ir/inside/text/parser_heads.h"

#include "plait/ir/inside/text/location_text.h"
#include "plait/ir/text/parser_types.h"

namespace plait::ir {
namespace {

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

RecordType parse_record(TextReader& reader) {
  RecordType record;
  reader.expect("@");
  record.name = reader.name();
  if (reader.accept("<")) record.parameters = parse_size_names(reader);
  reader.expect("=");
  if (reader.accept("<")) record.held = parse_size_names(reader);
  reader.expect("{");
  record.fields = parse_types(reader, "}");
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
  signature.results = parse_types(reader, ")");
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

}  // namespace plait::ir
