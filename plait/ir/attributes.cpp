#include "plait/ir/attributes.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait::ir {
namespace {

std::string names_of_fields(const AttributeSchema& schema) {
  std::string names;
  for (const AttributeField& field : schema.fields) {
    if (!names.empty()) names += ", ";
    names += field.name;
  }
  return names.empty() ? "none" : names;
}

// Looks up a field of the schema by its name in a text or file; a repeated field is an error.
const AttributeField* find_new(const AttributeSchema* schema, std::string_view name,
                               std::vector<bool>& seen) {
  const AttributeField* field = schema ? schema->find(name) : nullptr;
  if (!field) return nullptr;
  const auto index = static_cast<size_t>(field - schema->fields.data());
  if (seen[index]) return nullptr;
  seen[index] = true;
  return field;
}

std::string why_not(const AttributeSchema* schema, std::string_view name) {
  if (schema && schema->find(name)) return fmt::format("the attribute {} appears twice", name);
  return fmt::format("unknown attribute {}; the attributes are: {}", name,
                     schema ? names_of_fields(*schema) : "none");
}

std::string why_missing(const AttributeField& field) {
  return fmt::format("the attribute {} is missing", field.name);
}

}  // namespace

const AttributeField* AttributeSchema::find(std::string_view field) const {
  const auto place = std::find_if(fields.begin(), fields.end(),
                                  [&](const AttributeField& f) { return f.name == field; });
  return place == fields.end() ? nullptr : &*place;
}

const AttributeField* AttributeSchema::missing(const std::vector<bool>& given) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && !(i < given.size() && given[i])) return &fields[i];
  }
  return nullptr;
}

Attributes Attributes::defaults(const AttributeSchema* schema) {
  return schema ? Attributes(schema, schema->defaults) : Attributes();
}

void Attributes::for_each_stated(
    const std::function<void(const AttributeField& field, const void* value)>& visit) const {
  if (!schema_) return;
  for (const AttributeField& field : schema_->fields) {
    const void* value = field.in(value_.get());
    if (field.required || !field.ops->equal(value, field.in(schema_->defaults.get()))) {
      visit(field, value);
    }
  }
}

std::string Attributes::text() const {
  std::string out;
  for_each_stated([&](const AttributeField& field, const void* value) {
    if (!out.empty()) out += ", ";
    out += field.name;
    out += " = ";
    field.ops->print(out, value);
  });
  return out;
}

Attributes Attributes::parse(const AttributeSchema* schema, TextReader& reader) {
  const size_t start = reader.position();
  std::vector<bool> seen(schema ? schema->fields.size() : 0);
  std::shared_ptr<void> value = schema ? schema->make() : nullptr;
  if (!reader.accept("}")) {
    do {
      reader.skip_space();
      const size_t begin = reader.position();
      const std::string_view name = reader.name();
      const AttributeField* field = find_new(schema, name, seen);
      if (!field) reader.fail_at(begin, why_not(schema, name));
      reader.expect("=");
      field->ops->parse(reader, field->in(value.get()));
    } while (reader.accept(","));
    reader.expect("}");
  }
  if (const AttributeField* field = schema ? schema->missing(seen) : nullptr) {
    reader.fail_at(start, why_missing(*field));
  }
  return Attributes(schema, std::move(value));
}

void Attributes::write(ByteWriter& writer) const {
  size_t count = 0;
  for_each_stated([&](const AttributeField&, const void*) { ++count; });
  writer.number(count);
  for_each_stated([&](const AttributeField& field, const void* value) {
    writer.string(field.name);
    field.ops->write(writer, value);
  });
}

Attributes Attributes::read(const AttributeSchema* schema, ByteReader& reader) {
  std::vector<bool> seen(schema ? schema->fields.size() : 0);
  std::shared_ptr<void> value = schema ? schema->make() : nullptr;
  for (size_t count = reader.count(); count > 0; --count) {
    const std::string_view name = reader.string();
    const AttributeField* field = find_new(schema, name, seen);
    if (!field) reader.fail(why_not(schema, name));
    field->ops->read(reader, field->in(value.get()));
  }
  if (const AttributeField* field = schema ? schema->missing(seen) : nullptr) {
    reader.fail(why_missing(*field));
  }
  return Attributes(schema, std::move(value));
}

Attributes Attributes::map_sizes(const std::function<Dim(Dim)>& map) const {
  if (!schema_) return *this;
  bool changes = false;
  for_each_dim([&](Dim size) { changes |= !same(map(size), size); });
  if (!changes) return *this;
  std::shared_ptr<void> mapped = schema_->copy(value_.get());
  for (const AttributeField& field : schema_->fields) {
    if (field.ops->map_sizes) field.ops->map_sizes(field.in(mapped.get()), map);
  }
  return Attributes(schema_, std::move(mapped));
}

void Attributes::for_each_dim(const std::function<void(Dim)>& visit) const {
  if (!schema_) return;
  const auto holds_sizes = [](const AttributeField& field) {
    return field.ops->map_sizes != nullptr;
  };
  if (std::none_of(schema_->fields.begin(), schema_->fields.end(), holds_sizes)) return;
  // Visits by mapping each size of a copy to itself.
  const std::shared_ptr<void> copy = schema_->copy(value_.get());
  const SizeMap look = [&](Dim size) {
    visit(size);
    return size;
  };
  for (const AttributeField& field : schema_->fields) {
    if (field.ops->map_sizes) field.ops->map_sizes(field.in(copy.get()), look);
  }
}

bool operator==(const Attributes& a, const Attributes& b) {
  if (a.schema_ != b.schema_) return false;
  if (a.value_ == b.value_) return true;
  return std::all_of(a.schema_->fields.begin(), a.schema_->fields.end(),
                     [&](const AttributeField& field) {
                       return field.ops->equal(field.in(a.value_.get()), field.in(b.value_.get()));
                     });
}

void Attributes::wrong_struct(const AttributeSchema& wanted) const {
  throw TypeError("the attributes are {}, expected {}",
                  schema_ ? names_of_fields(*schema_) : "none", names_of_fields(wanted));
}

}  // namespace plait::ir
