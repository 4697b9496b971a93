#include "plait/io/inside/gguf/gguf_values.h"

#include <bit>
#include <optional>
#include <utility>

#include "plait/core/error.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

// As files number them.
enum class GgufKind : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  list,
  u64,
  i64,
  f64
};
constexpr uint32_t kGgufKinds = 13;
constexpr int kDeepestList = 16;
constexpr uint64_t kLeastText = 8, kLeastList = 12;  // bytes

// That of a number or a bool.
std::optional<DType> dtype_of_kind(GgufKind kind) {
  switch (kind) {
    case GgufKind::u8: return DType::u8;
    case GgufKind::i8: return DType::i8;
    case GgufKind::u16: return DType::u16;
    case GgufKind::i16: return DType::i16;
    case GgufKind::u32: return DType::u32;
    case GgufKind::i32: return DType::i32;
    case GgufKind::f32: return DType::f32;
    case GgufKind::boolean: return DType::boolean;
    case GgufKind::u64: return DType::u64;
    case GgufKind::i64: return DType::i64;
    case GgufKind::f64: return DType::f64;
    default: return std::nullopt;
  }
}

GgufKind read_kind(FieldReader& reader) {
  const uint64_t position = reader.position();
  const auto number = reader.number<uint32_t>();
  if (number < kGgufKinds) return static_cast<GgufKind>(number);
  throw ParseError("byte {}: the type of a value is {}, expected 0 to {}", position, number,
                   kGgufKinds - 1);
}

Array read_numbers(FieldReader& reader, DType dtype, uint64_t count) {
  const auto size = static_cast<uint64_t>(size_of(dtype));
  expect_room(reader, count, size, "numbers");
  const uint64_t position = reader.position();
  const auto bytes = reader.take(count * size);
  Array numbers = array_of_bytes(dtype, {static_cast<int64_t>(count)}, bytes, nullptr);
  check_booleans(numbers, position);
  return numbers;
}

GgufValue read_scalar(FieldReader& reader, DType dtype) {
  const Element element = read_numbers(reader, dtype, 1).element();
  switch (element.kind) {
    case DTypeKind::boolean: return GgufValue(element.integer != 0);
    case DTypeKind::floating: return GgufValue(element.number.real());
    default: break;
  }
  if (!element.is_signed && element.integer > INT64_MAX) return GgufValue(element.integer);
  return GgufValue(static_cast<int64_t>(element.integer));
}

GgufValue read_list(FieldReader& reader, int depth);

GgufValue::List read_lists(FieldReader& reader, uint64_t count, int depth) {
  expect_room(reader, count, kLeastList, "lists");
  if (depth == kDeepestList) {
    throw ParseError("byte {}: more than {} levels of lists", reader.position(), kDeepestList);
  }
  GgufValue::List lists;
  for (uint64_t i = 0; i < count; ++i) lists.push_back(read_list(reader, depth + 1));
  return lists;
}

GgufValue read_list(FieldReader& reader, int depth) {
  const GgufKind kind = read_kind(reader);
  const auto count = reader.number<uint64_t>();
  if (const auto dtype = dtype_of_kind(kind)) return {read_numbers(reader, *dtype, count)};
  if (kind == GgufKind::list) return {read_lists(reader, count, depth)};
  expect_room(reader, count, kLeastText, "texts");
  GgufValue::Strings texts;
  texts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) texts.push_back(read_gguf_text(reader));
  return {std::move(texts)};
}

}  // namespace

void expect_room(const FieldReader& reader, uint64_t count, uint64_t least,
                 std::string_view things) {
  if (count <= reader.left() / least) return;
  throw ParseError("byte {}: {} {} do not fit into the {} bytes that are left", reader.position(),
                   count, things, reader.left());
}

std::string read_gguf_text(FieldReader& reader) {
  const auto length = reader.number<uint64_t>();
  const uint64_t position = reader.position();
  const std::string_view text = characters_of(reader.take(length));
  if (const size_t valid = valid_utf8_bytes(text); valid != text.size()) {
    throw ParseError("byte {}: this text is not UTF-8", position + valid);
  }
  return std::string(text);
}

GgufValue read_gguf_value(FieldReader& reader) {
  const GgufKind kind = read_kind(reader);
  if (kind == GgufKind::text) return {read_gguf_text(reader)};
  if (kind == GgufKind::list) return read_list(reader, 1);
  return read_scalar(reader, *dtype_of_kind(kind));
}

}  // namespace plait
