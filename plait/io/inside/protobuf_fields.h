// The wire format of Protocol Buffers: a message is a sequence of fields, each with a number and a
// value. The schema is known to the caller, who asks for the right kind of value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plait/io/inside/byte_fields.h"

namespace plait {

enum class ProtobufKind : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Appends fields in the order of the calls. Fields with the default value of proto3 (0, "") may be
// left out by the caller; they are written if they are passed.
class ProtobufWriter {
 public:
  ProtobufWriter& integer(uint32_t field, int64_t value);  // also enumerations and booleans
  ProtobufWriter& real(uint32_t field, double value);
  ProtobufWriter& narrow_real(uint32_t field, float value);
  ProtobufWriter& text(uint32_t field, std::string_view value);  // also bytes
  ProtobufWriter& message(uint32_t field, const ProtobufWriter& value);
  ProtobufWriter& packed(uint32_t field, std::span<const double> values);

  const std::string& bytes() const { return bytes_; }

 private:
  void tag(uint32_t field, ProtobufKind kind);
  void varint(uint64_t value);
  template <class T>
  void fixed(T value);

  std::string bytes_;
};

struct ProtobufField {
  uint32_t number = 0;
  ProtobufKind kind = ProtobufKind::varint;
  uint64_t bits = 0;                      // bits of a varint, fixed64 or fixed32
  std::span<const std::byte> bytes = {};  // bytes of text, messages and packed fields
  uint64_t position = 0;                  // offset of the field

  // ParseErrors if the kind is another.
  int64_t integer() const;
  double real() const;
  float narrow_real() const;
  std::string_view text() const;
  std::span<const std::byte> message() const;

 private:
  void expect(ProtobufKind kind) const;
};

// The fields of a message in order. ParseErrors name the byte, where the message begins at `origin`
// in its file.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::span<const std::byte> message, uint64_t origin = 0)
      : fields_(message), origin_(origin) {}

  std::optional<ProtobufField> next();  // nothing at the end

 private:
  uint64_t varint();
  [[noreturn]] void fail(uint64_t position, std::string_view message) const;
  std::span<const std::byte> take(uint64_t count);

  FieldReader fields_;
  uint64_t origin_;
};

}  // namespace plait
