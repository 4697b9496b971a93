// Attributes of primitives from keyword arguments. Each value is converted to the IR's text form
// and parsed by the schema's reader, so this file does not depend on the attribute structs.
#include "plait/core/error.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

enum class Strings : uint8_t { quoted, bare };

std::string text_of(nb::handle value, Strings strings);

std::string text_of_list(nb::handle values, Strings strings) {
  std::string text = "[";
  for (const nb::handle value : values) {
    if (text.size() > 1) text += ", ";
    text += text_of(value, strings);
  }
  return text + "]";
}

std::string text_of(nb::handle value, Strings strings) {
  if (value.is_none()) return "none";
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "true" : "false";
  if (nb::isinstance<PythonDType>(value)) {
    return std::string(name_of(nb::cast<PythonDType>(value).dtype));
  }
  if (nb::isinstance<nb::str>(value)) {
    const std::string given = utf8_of(value);
    if (strings == Strings::bare) return given;
    std::string text;
    print_quoted(text, given);
    return text;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    return text_of_list(value, strings);
  }
  if (PyIndex_Check(value.ptr())) {
    return utf8_of(nb::steal(PyNumber_Index(value.ptr())));
  }
  return utf8_of(nb::repr(value));
}

void read_field(const ir::AttributeField& field, std::string_view text, void* attributes) {
  TextReader reader(text);
  field.ops->parse(reader, field.in(attributes));
  if (!reader.at_end()) reader.fail_expecting("the end");
}

// The text from which the field is parsed. Strings are tried in quotes first: names of dtypes,
// sizes and enumerators have no quotes.
std::string readable_text(const ir::Primitive& primitive, const ir::AttributeField& field,
                          nb::handle value) {
  const std::shared_ptr<void> scratch = primitive.attributes->make();
  for (const Strings strings : {Strings::quoted, Strings::bare}) {
    std::string text = text_of(value, strings);
    try {
      read_field(field, text, scratch.get());
      return text;
    } catch (const ParseError& error) {
      if (strings == Strings::quoted) continue;
      throw TypeError("{}: the attribute {} cannot be {}: {}", primitive.name, field.name,
                      utf8_of(nb::repr(value)), error.message())
          .at(Location::of_caller());
    }
  }
  return {};
}

std::string names_of_fields(const ir::AttributeSchema* schema) {
  std::string names;
  if (schema != nullptr) {
    for (const ir::AttributeField& field : schema->fields) {
      names += (names.empty() ? "" : ", ") + std::string(field.name);
    }
  }
  return names.empty() ? "none" : names;
}

}  // namespace

ir::Attributes attributes_from(const ir::Primitive& primitive, const nb::kwargs& given) {
  const ir::AttributeSchema* schema = primitive.attributes;
  std::string text;
  for (const auto& [key, value] : given) {
    const std::string name = utf8_of(key);
    const ir::AttributeField* field = schema ? schema->find(name) : nullptr;
    if (field == nullptr) {
      throw TypeError("{}: unknown attribute {}; the attributes are: {}", primitive.name, name,
                      names_of_fields(schema))
          .at(Location::of_caller());
    }
    if (!text.empty()) text += ", ";
    text += name + " = " + readable_text(primitive, *field, value);
  }
  if (schema == nullptr) return {};
  text += "}";
  try {
    TextReader reader(text);
    return ir::Attributes::parse(schema, reader);
  } catch (const ParseError& error) {
    throw TypeError("{}: {}", primitive.name, error.message()).at(Location::of_caller());
  }
}

}  // namespace plait::python
