#include "plait/io/inside/protobuf_fields.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace std::string_literals;

ProtobufReader reader_of(std::string_view message) {
  return ProtobufReader(bytes_of(message), 100);
}

std::string protobuf_error(std::string_view message) {
  return message_of<ParseError>([&] {
    ProtobufReader reader = reader_of(message);
    while (reader.next()) continue;
  });
}

TEST(Protobuf, IsWrittenAsTheFormatSays) {
  EXPECT_EQ(ProtobufWriter().integer(1, 150).bytes(),
            "\x08\x96\x01");  // the example of the documentation
  EXPECT_EQ(ProtobufWriter().text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtobufWriter().integer(1, -1).bytes(), "\x08" + std::string(9, '\xff') + "\x01");
  EXPECT_EQ(ProtobufWriter().narrow_real(20, 1.0F).bytes(), "\xa5\x01\x00\x00\x80\x3f"s);
  const double values[] = {1, -2};
  EXPECT_EQ(ProtobufWriter().packed(6, values).bytes(),
            "\x32\x10\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0"s);
}

TEST(Protobuf, IsReadAsItWasWritten) {
  ProtobufWriter inner, outer;
  inner.text(3, "a");
  outer.integer(1, INT64_MIN).real(2, 0.1).narrow_real(3, -2.5F);
  outer.message((1 << 29) - 1, inner).text(4, "");
  ProtobufReader reader = reader_of(outer.bytes());
  EXPECT_EQ(reader.next()->integer(), INT64_MIN);
  EXPECT_EQ(reader.next()->real(), 0.1);
  EXPECT_EQ(reader.next()->narrow_real(), -2.5F);
  const auto message = reader.next();
  EXPECT_EQ(message->number, (1u << 29) - 1);
  EXPECT_EQ(characters_of(message->message()), inner.bytes());
  EXPECT_EQ(reader.next()->text(), "");
  EXPECT_FALSE(reader.next());
}

TEST(Protobuf, RefusesMalformedMessages) {
  expect_contains(protobuf_error("\x08"), {"byte 101: expected 1 bytes"});
  expect_contains(protobuf_error("\x12\x05"
                                 "ab"),
                  {"byte 102: expected 5 bytes of a message, 2 are"});
  expect_contains(protobuf_error("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                  {"expected 9223372036"});
  expect_contains(protobuf_error("\x08" + std::string(10, '\xff')),
                  {"a number of more than 64 bits"});
  expect_contains(protobuf_error("\x08" + std::string(9, '\xff') + "\x02"), {"more than 64 bits"});
  expect_contains(protobuf_error("\x00\x01"s), {"byte 100: not the number of a field"});
  expect_contains(protobuf_error("\x80\x80\x80\x80\x10\x01"s), {"not the number of a field"});
  for (const char group : {'\x0b', '\x0c', '\x0e', '\x0f'}) {
    expect_contains(protobuf_error(std::string(1, group)), {"byte 100: an unknown wire type"});
  }
}

TEST(Protobuf, OtherKindsAreRefused) {
  const std::string message = ProtobufWriter().integer(5, 1).bytes();
  const ProtobufField field = *reader_of(message).next();
  expect_contains(message_of<ParseError>([&] { field.text(); }),
                  {"byte 100: field 5 has the wire type 0, expected 2"});
  expect_contains(message_of<ParseError>([&] { field.real(); }), {"expected 1"});
}

}  // namespace
}  // namespace plait
