// The attributes of an instruction: a plain struct that its primitive declares. Equality, hash,
// text and binary form, and visiting of sizes are derived from the fields of the struct.
//
//   struct ReduceAttributes { std::vector<int64_t> axes; bool keepdims = false; };
//   Attributes::of(ReduceAttributes{.axes = {0}})      prints as {axes = [0]}
//
// A field without a sensible default is listed as required; it must be given and is always printed:
//
//   struct CastAttributes {
//     DType dtype = DType::f32;
//     static constexpr std::string_view kRequired[] = {"dtype"};
//   };
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "plait/core/trees/reflect.h"
#include "plait/ir/attribute_values.h"

namespace plait::ir {

struct AttributeField {
  std::string_view name;
  size_t offset;
  const AttributeValueOps* ops;
  bool required;

  void* in(void* attributes) const { return static_cast<std::byte*>(attributes) + offset; }
  const void* in(const void* attributes) const {
    return static_cast<const std::byte*>(attributes) + offset;
  }
};

// Metadata of an attribute struct; one object for each struct, never freed.
struct AttributeSchema {
  std::string_view name;
  std::vector<AttributeField> fields;
  std::function<std::shared_ptr<void>()> make;  // with default values
  std::function<std::shared_ptr<void>(const void*)> copy;
  std::shared_ptr<const void> defaults;  // the result of make(), cached

  const AttributeField* find(std::string_view field) const;
  // A required field that `given` does not mark; null if there is none.
  const AttributeField* missing(const std::vector<bool>& given = {}) const;
};

namespace detail {
template <class T>
bool is_required(std::string_view field) {
  if constexpr (requires { T::kRequired; }) {
    return std::ranges::find(T::kRequired, field) != std::end(T::kRequired);
  } else {
    return false;
  }
}

// Fields are located in an object of their own struct: their addresses give the offsets.
template <class T>
AttributeSchema make_schema(std::string_view name) {
  AttributeSchema schema{
      .name = name,
      .fields = {},
      .make = [] { return std::make_shared<T>(); },
      .copy = [](const void* from) { return std::make_shared<T>(*static_cast<const T*>(from)); },
      .defaults = std::make_shared<const T>()};
  T sample{};
  reflect::for_each_field(sample, [&](std::string_view field_name, auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    size_t offset =
        reinterpret_cast<const std::byte*>(&field) - reinterpret_cast<const std::byte*>(&sample);
    schema.fields.push_back(
        {field_name, offset, &attribute_value_ops<Field>(), is_required<T>(field_name)});
  });
  return schema;
}
}  // namespace detail

template <class T>
const AttributeSchema& schema_of() {
  static const AttributeSchema schema = detail::make_schema<T>(typeid(T).name());
  return schema;
}

// Immutable and shared; empty for a primitive without attributes.
class Attributes {
 public:
  Attributes() = default;
  template <class T>
  static Attributes of(T value) {
    return Attributes(&schema_of<T>(), std::make_shared<const T>(std::move(value)));
  }
  static Attributes defaults(const AttributeSchema* schema);  // null gives the empty attributes

  const AttributeSchema* schema() const { return schema_; }
  explicit operator bool() const { return schema_ != nullptr; }

  template <class T>
  const T& as() const {
    if (schema_ != &schema_of<T>()) wrong_struct(schema_of<T>());
    return *static_cast<const T*>(value_.get());
  }

  // Calls visit(field, value) for each field that is required or differs from its default.
  void for_each_stated(
      const std::function<void(const AttributeField& field, const void* value)>& visit) const;

  // The text of the stated fields, without the braces.
  std::string text() const;
  static Attributes parse(const AttributeSchema* schema,
                          TextReader& reader);  // after the opening brace
  void write(ByteWriter& writer) const;
  static Attributes read(const AttributeSchema* schema, ByteReader& reader);

  Attributes map_sizes(
      const std::function<Dim(Dim)>& map) const;  // shares the value if nothing changes
  void for_each_dim(const std::function<void(Dim)>& visit) const;

  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  Attributes(const AttributeSchema* schema, std::shared_ptr<const void> value)
      : schema_(schema), value_(std::move(value)) {}
  [[noreturn]] void wrong_struct(const AttributeSchema& wanted) const;

  const AttributeSchema* schema_ = nullptr;
  std::shared_ptr<const void> value_;
};

}  // namespace plait::ir
