#include "plait/ir/inside/text/binary.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/builder.h"
#include "plait/ir/program.h"

#include "tests/ir/form_examples.h"
#include "tests/support/errors.h"
#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class Binary : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
};

std::string reading_error(std::string_view bytes) {
  return message_of<ParseError>([&] { Program::from_bytes(bytes); });
}

TEST_F(Binary, NumbersReadBack) {
  ByteWriter writer;
  const uint64_t numbers[] = {0, 1, 127, 128, 300, uint64_t{1} << 62, ~uint64_t{0}};
  const int64_t signed_numbers[] = {
      0, -1, 1, -64, 64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  for (const uint64_t value : numbers) writer.number(value);
  for (const int64_t value : signed_numbers) writer.signed_number(value);
  writer.real(-0.0);
  writer.real(0.1);
  ByteReader reader(writer.bytes());
  for (const uint64_t value : numbers) EXPECT_EQ(reader.number(), value);
  for (const int64_t value : signed_numbers) EXPECT_EQ(reader.signed_number(), value);
  EXPECT_TRUE(std::signbit(reader.real()));
  EXPECT_EQ(reader.real(), 0.1);
  EXPECT_TRUE(reader.at_end());
  EXPECT_THROW(reader.byte(), ParseError);
}

TEST_F(Binary, StringsSizesAndTypesAreWrittenOnce) {
  const Dim n = Dim::symbol("n");
  const Type type = Type::tuple({Type::array(DType::f32, {n, n + 1}), Type::record("tape", {n})});
  ByteWriter writer;
  writer.string("a string");
  writer.dim(n + 1);
  writer.type(type);
  const size_t once = writer.bytes().size();
  writer.string("a string");
  writer.dim(n + 1);
  writer.type(type);
  writer.type(Type::array(DType::f32, {n, n + 1}));
  EXPECT_EQ(writer.bytes().size(), once + 4);
  ByteReader reader(writer.bytes());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(reader.string(), "a string");
    EXPECT_EQ(reader.dim(), n + 1);
    EXPECT_EQ(reader.type(), type);
  }
  EXPECT_EQ(reader.type(), type.elements()[0]);
}

TEST_F(Binary, SizesAreRenamed) {
  const auto bytes_of = [](Dim size) {
    ByteWriter writer;
    writer.rename_size = [&](Dim dim) { return dim.substitute({{size, Dim::symbol("first")}}); };
    writer.type(Type::array(DType::f32, {size, size + 1}));
    return writer.take();
  };
  EXPECT_EQ(bytes_of(Dim::symbol("n")), bytes_of(Dim::symbol("batch")));
}

TEST_F(Binary, LargeLiteralsCountByTheirBufferWhenAsked) {
  const Literal large = Literal::of_bytes(DType::u8, {64}, std::vector<std::byte>(64));
  const Literal equal = Literal::of_bytes(DType::u8, {64}, std::vector<std::byte>(64));
  const Literal copy = large;
  const auto bytes_of = [](const Literal& literal, bool by_identity) {
    ByteWriter writer;
    writer.literals_by_identity = by_identity;
    writer.literal(literal);
    return writer.take();
  };
  EXPECT_EQ(bytes_of(large, true), bytes_of(copy, true));
  EXPECT_NE(bytes_of(large, true), bytes_of(equal, true));
  EXPECT_EQ(bytes_of(large, false), bytes_of(equal, false));
  const Literal scalar = Literal::scalar(DType::f64, 1), other = Literal::scalar(DType::f64, 1);
  EXPECT_EQ(bytes_of(scalar, true), bytes_of(other, true));
}

TEST_F(Binary, AnAnonymousBodyHoldsNoNames) {
  const auto content = [](std::string_view text) {
    const Program program = Program::parse(text);
    ByteWriter writer;
    const BodyOptions options{.names = false,
                              .write_callee = [](ByteWriter& out, const Callee&) { out.byte(7); }};
    write_signature(writer, program.entry(), options);
    write_body(writer, program.entry(), options);
    return writer.take();
  };
  const std::string plain = content(
      "func @f(%x: f32[]) -> (f32[]) { %0 = call @g(%x) return %0 }"
      "func @g(%x: f32[]) -> (f32[]) { return %x }");
  EXPECT_EQ(plain, content("func @other(%y: f32[]) -> (f32[]) { ; a.cpp:1\n"
                           "%z = call @callee(%y) ; a.cpp:2\n return %z }"
                           "func @callee(%x: f32[]) -> (f32[]) { return %x }"));
  EXPECT_NE(plain, content("func @f(%x: f32[]) -> (f32[]) { %0 = call @g(%x) return %x }"
                           "func @g(%x: f32[]) -> (f32[]) { return %x }"));
}

TEST_F(Binary, RefusesInvalidPrograms) {
  EXPECT_EQ(reading_error(""), "byte 0: expected 1 bytes, 0 are left");
  EXPECT_EQ(reading_error("plait 1"),
            "byte 1: this is not a program in binary form: it does not begin with PLIR");
  EXPECT_EQ(reading_error("PLIR\x02"),
            "byte 5: unknown version 2 of the binary form; this build reads 1");
  EXPECT_EQ(reading_error(std::string("PLIR\x01\0\0x", 8)),
            "byte 7: unexpected bytes after the end of the program");
  EXPECT_EQ(reading_error(std::string("PLIR\x01\xff\xff\xff\xff\x0f", 10)),
            "byte 10: a count of 4294967295, but 0 bytes are left");
  EXPECT_EQ(reading_error("PLIR\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            "byte 15: a number of more than 64 bits");
  EXPECT_EQ(reading_error(std::string("PLIR\x01\x01\x05", 7)),
            "byte 7: entry 5 is referenced, but 0 were read");
  EXPECT_EQ(reading_error(std::string("PLIR\x01\x01\0\x02"
                                      "1a",
                                      10)),
            "byte 10: \"1a\" is not a name");
}

TEST_F(Binary, AValueThatIsNotDefinedIsRefused) {
  // A function without instructions that returns one value.
  EXPECT_EQ(reading_error(std::string("PLIR\x01\0\x01\0\x01"
                                      "f\0\0\0\0\0\0\x01\0\0\0\x01\x01",
                                      22)),
            "byte 22: a value 1 positions back, but 0 are defined");
}

TEST_F(Binary, DeepTypesAreRefusedBeforeTheyAreRead) {
  constexpr uint64_t kLevels = 200'000;
  ByteWriter writer;
  for (uint64_t i = 0; i < kLevels; ++i) {
    writer.number(i);
    writer.byte(static_cast<uint8_t>(Type::Kind::optional));
  }
  ByteReader reader(writer.bytes());
  EXPECT_THROW(reader.type(), ParseError);
}

// Nested optionals in which each refers to the previous one: the types nest, but not the bytes.
TEST_F(Binary, TypesThatReferToTypesNestNoDeeperThanAllowed) {
  ByteWriter writer;
  writer.type(Type::scalar(DType::f32));
  std::string bytes = writer.take();
  for (int i = 0; i < 300; ++i) {
    ByteWriter next;
    next.number(static_cast<uint64_t>(i) + 1);
    next.byte(static_cast<uint8_t>(Type::Kind::optional));
    next.number(static_cast<uint64_t>(i));
    bytes += next.bytes();
  }
  ByteReader reader(bytes);
  int read = 0;
  try {
    for (; read < 301; ++read) reader.type();
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(read, Type::kDeepest);
  }
}

TEST_F(Binary, ATypeIsNoPartOfItself) {
  std::string bytes{0, static_cast<char>(Type::Kind::optional), 0};
  ByteReader reader(bytes);
  EXPECT_THROW(reader.type(), ParseError);
}

void expect_error_or_program(std::string_view bytes) {
  try {
    const Program program = Program::from_bytes(bytes);
    const std::string text = program.text();
    EXPECT_EQ(Program::parse(text).text(), text);
    EXPECT_EQ(Program::from_bytes(program.bytes()).text(), text);
  } catch (const Error&) {
    return;
  }
}

TEST_F(Binary, TruncatedAnywhere) {
  for (const std::string& text : form_examples()) {
    const std::string bytes = Program::parse(text).bytes();
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THROW(Program::from_bytes(std::string_view(bytes).substr(0, length)), ParseError)
          << text;
    }
  }
}

TEST_F(Binary, OneByteFlippedAnywhere) {
  for (const std::string& text : form_examples()) {
    const std::string bytes = Program::parse(text).bytes();
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const int flip : {0x01, 0x02, 0x10, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        expect_error_or_program(damaged);
      }
    }
  }
}

}  // namespace
}  // namespace plait::ir
