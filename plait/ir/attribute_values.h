// The types that an attribute may have, and for each: printing, parsing, writing, reading and
// visiting of sizes. A new type needs one more set of overloads.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/core/text.h"
#include "plait/ir/bytes.h"
#include "plait/ir/type.h"

namespace plait::ir {

using SizeMap = std::function<Dim(Dim)>;

void print_value(std::string& out, bool value);
void print_value(std::string& out, int64_t value);
void print_value(std::string& out, double value);
void print_value(std::string& out, const std::string& value);
void print_value(std::string& out, DType value);
void print_value(std::string& out, Dim value);
void print_value(std::string& out, const Type& value);
void print_value(std::string& out, const Literal& value);
void print_value(std::string& out, const SizeFact& value);
void print_value(std::string& out, const AxisSet& value);

void parse_value(TextReader& reader, bool& value);
void parse_value(TextReader& reader, int64_t& value);
void parse_value(TextReader& reader, double& value);
void parse_value(TextReader& reader, std::string& value);
void parse_value(TextReader& reader, DType& value);
void parse_value(TextReader& reader, Dim& value);
void parse_value(TextReader& reader, Type& value);
void parse_value(TextReader& reader, Literal& value);
void parse_value(TextReader& reader, SizeFact& value);
void parse_value(TextReader& reader, AxisSet& value);

void write_value(ByteWriter& writer, bool value);
void write_value(ByteWriter& writer, int64_t value);
void write_value(ByteWriter& writer, double value);
void write_value(ByteWriter& writer, const std::string& value);
void write_value(ByteWriter& writer, DType value);
void write_value(ByteWriter& writer, Dim value);
void write_value(ByteWriter& writer, const Type& value);
void write_value(ByteWriter& writer, const Literal& value);
void write_value(ByteWriter& writer, const SizeFact& value);
void write_value(ByteWriter& writer, const AxisSet& value);

void read_value(ByteReader& reader, bool& value);
void read_value(ByteReader& reader, int64_t& value);
void read_value(ByteReader& reader, double& value);
void read_value(ByteReader& reader, std::string& value);
void read_value(ByteReader& reader, DType& value);
void read_value(ByteReader& reader, Dim& value);
void read_value(ByteReader& reader, Type& value);
void read_value(ByteReader& reader, Literal& value);
void read_value(ByteReader& reader, SizeFact& value);
void read_value(ByteReader& reader, AxisSet& value);

void map_sizes(Dim& value, const SizeMap& map);
void map_sizes(Type& value, const SizeMap& map);
void map_sizes(SizeFact& value, const SizeMap& map);

// True if T contains sizes; then it has an overload of map_sizes.
template <class T>
inline constexpr bool kHoldsSizes =
    std::is_same_v<T, Dim> || std::is_same_v<T, Type> || std::is_same_v<T, SizeFact>;
template <class T>
inline constexpr bool kHoldsSizes<std::vector<T>> = kHoldsSizes<T>;
template <class T>
inline constexpr bool kHoldsSizes<std::optional<T>> = kHoldsSizes<T>;

// Lists and optional values of these types, also nested. Declared before their definitions, so that
// each finds the others.
template <class T>
void print_value(std::string& out, const std::vector<T>& values);
template <class T>
void print_value(std::string& out, const std::optional<T>& value);
template <class T>
void map_sizes(std::vector<T>& values, const SizeMap& map);
template <class T>
void parse_value(TextReader& reader, std::optional<T>& value);
template <class T>
void write_value(ByteWriter& writer, const std::optional<T>& value);
template <class T>
void read_value(ByteReader& reader, std::optional<T>& value);
template <class T>
void map_sizes(std::optional<T>& value, const SizeMap& map);

// An enumeration lists the names of its enumerators: `std::span<const std::string_view>
// names_of(Relation)` found by ADL.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  { enumerator_names(e) } -> std::convertible_to<std::span<const std::string_view>>;
};
size_t parse_enumerator(TextReader& reader, std::span<const std::string_view> names);
size_t read_enumerator(ByteReader& reader, size_t count);

template <NamedEnum E>
void print_value(std::string& out, E value) {
  out += enumerator_names(value)[static_cast<size_t>(value)];
}
template <NamedEnum E>
void parse_value(TextReader& reader, E& value) {
  value = static_cast<E>(parse_enumerator(reader, enumerator_names(value)));
}
template <NamedEnum E>
void write_value(ByteWriter& writer, E value) {
  writer.number(static_cast<uint64_t>(value));
}
template <NamedEnum E>
void read_value(ByteReader& reader, E& value) {
  value = static_cast<E>(read_enumerator(reader, std::size(enumerator_names(value))));
}

template <class T>
void print_value(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out += ", ";
    print_value(out, static_cast<const T&>(values[i]));
  }
  out += ']';
}
template <class T>
void parse_value(TextReader& reader, std::vector<T>& values) {
  TextReader::Nesting nesting(reader);
  values.clear();
  reader.expect("[");
  if (reader.accept("]")) return;
  do {
    T value{};
    parse_value(reader, value);
    values.push_back(std::move(value));
  } while (reader.accept(","));
  reader.expect("]");
}
template <class T>
void write_value(ByteWriter& writer, const std::vector<T>& values) {
  writer.number(values.size());
  for (const T& value : values) write_value(writer, value);
}
template <class T>
void read_value(ByteReader& reader, std::vector<T>& values) {
  values.clear();
  for (size_t n = reader.count(); n > 0; --n) {
    T value{};
    read_value(reader, value);
    values.push_back(std::move(value));
  }
}
template <class T>
void map_sizes(std::vector<T>& values, const SizeMap& map) {
  for (T& value : values) map_sizes(value, map);
}

template <class T>
void print_value(std::string& out, const std::optional<T>& value) {
  if (value)
    print_value(out, *value);
  else
    out += "none";
}
template <class T>
void parse_value(TextReader& reader, std::optional<T>& value) {
  value.reset();
  if (!reader.accept_word("none")) parse_value(reader, value.emplace());
}
template <class T>
void write_value(ByteWriter& writer, const std::optional<T>& value) {
  writer.byte(value.has_value());
  if (value) write_value(writer, *value);
}
template <class T>
void read_value(ByteReader& reader, std::optional<T>& value) {
  bool present = false;
  read_value(reader, present);
  value.reset();
  if (present) read_value(reader, value.emplace());
}
template <class T>
void map_sizes(std::optional<T>& value, const SizeMap& map) {
  if (value) map_sizes(*value, map);
}

// Type-erased versions, so that the code that visits attributes is not a template.
struct AttributeValueOps {
  bool (*equal)(const void* a, const void* b);
  void (*print)(std::string& out, const void* value);
  void (*parse)(TextReader& reader, void* value);
  void (*write)(ByteWriter& writer, const void* value);
  void (*read)(ByteReader& reader, void* value);
  void (*map_sizes)(void* value, const SizeMap& map);  // null if T has no sizes
};

// Floating-point numbers are compared bitwise, including NaN and −0: an attribute equals its text.
inline bool same_value(Dim a, Dim b) { return same(a, b); }
inline bool same_value(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
template <class T>
bool same_value(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b);
template <class T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same_value(x, y); });
}
template <class T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same_value(*a, *b));
}

template <class T>
constexpr auto size_mapper() -> void (*)(void*, const SizeMap&) {
  if constexpr (kHoldsSizes<T>) {
    return [](void* value, const SizeMap& map) { map_sizes(*static_cast<T*>(value), map); };
  } else {
    return nullptr;
  }
}

template <class T>
const AttributeValueOps& attribute_value_ops() {
  static constexpr AttributeValueOps ops{
      [](const void* a, const void* b) {
        return same_value(*static_cast<const T*>(a), *static_cast<const T*>(b));
      },
      [](std::string& out, const void* value) { print_value(out, *static_cast<const T*>(value)); },
      [](TextReader& reader, void* value) { parse_value(reader, *static_cast<T*>(value)); },
      [](ByteWriter& writer, const void* value) {
        write_value(writer, *static_cast<const T*>(value));
      },
      [](ByteReader& reader, void* value) { read_value(reader, *static_cast<T*>(value)); },
      size_mapper<T>(),
  };
  return ops;
}

}  // namespace plait::ir
