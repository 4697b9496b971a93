#include "plait/io/inside/protobuf_fields.h"

#include <bit>

#include "plait/core/error.h"

namespace plait {
namespace {

constexpr int kWireTypeBits = 3;
constexpr uint64_t kMostFieldNumber = (uint64_t{1} << 29) - 1;
constexpr int kMostVarintBytes = 10;

}  // namespace

// ---- Writing.

void ProtobufWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtobufWriter::tag(uint32_t field, ProtobufKind kind) {
  varint(static_cast<uint64_t>(field) << kWireTypeBits | static_cast<uint64_t>(kind));
}

template <class T>
void ProtobufWriter::fixed(T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes_ += static_cast<char>(value >> (8 * i));
}

ProtobufWriter& ProtobufWriter::integer(uint32_t field, int64_t value) {
  tag(field, ProtobufKind::varint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::real(uint32_t field, double value) {
  tag(field, ProtobufKind::fixed64);
  fixed(std::bit_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::narrow_real(uint32_t field, float value) {
  tag(field, ProtobufKind::fixed32);
  fixed(std::bit_cast<uint32_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::text(uint32_t field, std::string_view value) {
  tag(field, ProtobufKind::bytes);
  varint(value.size());
  bytes_ += value;
  return *this;
}

ProtobufWriter& ProtobufWriter::message(uint32_t field, const ProtobufWriter& value) {
  return text(field, value.bytes());
}

ProtobufWriter& ProtobufWriter::packed(uint32_t field, std::span<const double> values) {
  tag(field, ProtobufKind::bytes);
  varint(values.size_bytes());
  for (const double value : values) fixed(std::bit_cast<uint64_t>(value));
  return *this;
}

// ---- Reading.

void ProtobufField::expect(ProtobufKind expected) const {
  if (kind == expected) return;
  throw ParseError("byte {}: field {} has the wire type {}, expected {}", position, number,
                   static_cast<int>(kind), static_cast<int>(expected));
}

int64_t ProtobufField::integer() const {
  expect(ProtobufKind::varint);
  return static_cast<int64_t>(bits);
}

double ProtobufField::real() const {
  expect(ProtobufKind::fixed64);
  return std::bit_cast<double>(bits);
}

float ProtobufField::narrow_real() const {
  expect(ProtobufKind::fixed32);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

std::string_view ProtobufField::text() const { return characters_of(message()); }

std::span<const std::byte> ProtobufField::message() const {
  expect(ProtobufKind::bytes);
  return bytes;
}

void ProtobufReader::fail(uint64_t position, std::string_view message) const {
  throw ParseError("byte {}: {}", origin_ + position, message);
}

std::span<const std::byte> ProtobufReader::take(uint64_t count) {
  if (count > fields_.left()) {
    fail(fields_.position(),
         fmt::format("expected {} bytes of a message, {} are left", count, fields_.left()));
  }
  return fields_.take(count);
}

uint64_t ProtobufReader::varint() {
  const uint64_t begin = fields_.position();
  uint64_t value = 0;
  for (int i = 0; i < kMostVarintBytes; ++i) {
    const auto byte = std::to_integer<uint64_t>(take(1)[0]);
    if (i == kMostVarintBytes - 1 && byte > 1) break;
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  fail(begin, "a number of more than 64 bits");
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (fields_.left() == 0) return std::nullopt;
  ProtobufField field;
  const uint64_t begin = fields_.position();
  field.position = origin_ + begin;
  const uint64_t tag = varint();
  const uint64_t number = tag >> kWireTypeBits;
  if (number == 0 || number > kMostFieldNumber) fail(begin, "not the number of a field");
  field.number = static_cast<uint32_t>(number);
  field.kind = static_cast<ProtobufKind>(tag & ((1 << kWireTypeBits) - 1));
  switch (field.kind) {
    case ProtobufKind::varint: field.bits = varint(); break;
    case ProtobufKind::fixed64: field.bits = FieldReader(take(8)).number<uint64_t>(); break;
    case ProtobufKind::fixed32: field.bits = FieldReader(take(4)).number<uint32_t>(); break;
    case ProtobufKind::bytes: field.bytes = take(varint()); break;
    default: fail(begin, "an unknown wire type");
  }
  return field;
}

}  // namespace plait
