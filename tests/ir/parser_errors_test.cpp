// Malformed programs: the kind, position and message of the error.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/program.h"

#include "tests/ir/form_examples.h"
#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

struct Malformed {
  std::string text;
  ErrorKind kind;
  std::string message;  // a prefix
};

class ParserErrors : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
};

void expect_error(const Malformed& malformed) {
  SCOPED_TRACE(malformed.text);
  try {
    Program::parse(malformed.text);
    ADD_FAILURE() << "parsed";
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.kind()), name_of(malformed.kind)) << error.what();
    EXPECT_EQ(error.message().substr(0, malformed.message.size()), malformed.message);
  }
}

// A function with this body, whose first line is line 2 of the text.
std::string with_body(std::string_view body) {
  return fmt::format("func @f<n>(%x: f32[n], %s: f32[]) -> (f32[n]) {{\n  {}\n}}\n", body);
}

constexpr ErrorKind kParse = ErrorKind::parse;

TEST_F(ParserErrors, OutsideFunctions) {
  for (const Malformed& malformed : std::vector<Malformed>{
           {"plait 2", kParse,
            "line 1, column 7: unknown version 2 of the text form; this build reads 1"},
           {"plait", kParse, "line 1, column 6: expected an integer, found the end of the text"},
           {"plait 1 1", kParse, "line 1, column 9: expected func or type, found '1'"},
           {"fun @f() -> () { return }", kParse,
            "line 1, column 1: expected func or type, found 'fun'"},
           {"\n\n  }", kParse, "line 3, column 3: expected func or type, found '}'"},
           {"\xff", kParse, "line 1, column 1: expected func or type"},
           // Columns count whole characters.
           {"func é", kParse, "line 1, column 6: expected '@', found 'é'"},
           {"; été\n \"é\" ", kParse, "line 2, column 2: expected func or type, found '\\\"'"},
           // Words are named as a whole.
           {"日本語", kParse, "line 1, column 1: expected func or type, found '日本語'"},
           {"funcé @f() -> () { return }", kParse,
            "line 1, column 1: expected func or type, found 'funcé'"},
           {"func @été() -> () { return }", kParse,
            "line 1, column 7: expected a name, found 'été'"},
           {"func @fé() -> () { return }", kParse,
            "line 1, column 7: expected a name of ASCII letters, found 'fé'"},
           {"func @f() -> () { retürn }", kParse,
            "line 1, column 19: expected a name of ASCII letters, found 'retürn'"},
           {"func @f(%x: f32[3]) -> (f32[3]) { %0 = sïn %x : f32[3] return %0 }", kParse,
            "line 1, column 40: expected a name of ASCII letters, found 'sïn'"},
       }) {
    expect_error(malformed);
  }
}

TEST_F(ParserErrors, HeadsOfFunctions) {
  for (const Malformed& malformed : std::vector<Malformed>{
           {"func f() -> () { return }", kParse, "line 1, column 6: expected '@', found 'f'"},
           {"func @1() -> () { return }", kParse, "line 1, column 7: expected a name, found '1'"},
           {"func @f -> () { return }", kParse, "line 1, column 9: expected '(', found '-'"},
           {"func @f(x: f32[]) -> () { return }", kParse,
            "line 1, column 9: expected '%', found 'x'"},
           {"func @f(%0: f32[]) -> () { return }", kParse,
            "line 1, column 10: expected a name, found '0'"},
           {"func @f(%x f32[]) -> () { return }", kParse,
            "line 1, column 12: expected ':', found 'f32'"},
           {"func @f(%x: f32[],) -> () { return }", kParse,
            "line 1, column 19: expected '%', found ')'"},
           {"func @f(%x: f32[]\n-> () { return }", kParse,
            "line 2, column 1: expected ')', found '-'"},
           {"func @f(%x: f32[], %x: f32[]) -> () { return }", kParse,
            "line 1, column 20: %x is defined already"},
           {"func @f() { return }", kParse, "line 1, column 11: expected '->', found '{'"},
           {"func @f() -> f32[] { return }", kParse,
            "line 1, column 14: expected '(', found 'f32'"},
           {"func @f<n, n>(%x: f32[n]) -> () { return }", kParse,
            "line 1, column 12: the size n appears twice"},
           {"func @f<2>(%x: f32[2]) -> () { return }", kParse,
            "line 1, column 9: expected a name, found '2'"},
           {"func @f() -> () over {} { return }", kParse,
            "line 1, column 23: expected a name, found '}'"},
           {"func @f() -> () over {a: 1, a: 2} { return }", kParse,
            "line 1, column 29: the axis a appears twice"},
           {"func @f<n>(%x: f32[n]) -> () where n { return }", kParse,
            "line 1, column 38: expected ==, !=, <=, <, >= or >"},
           {"func @f() -> () { return }\nfunc @f() -> () { return }", kParse,
            "line 2, column 6: function @f is defined twice"},
           {"func @f() -> () {\n return", kParse,
            "line 1, column 17: this '{' has no matching '}'"},
           {"func @f() -> ()", kParse,
            "line 1, column 16: expected '{', found the end of the text"},
       }) {
    expect_error(malformed);
  }
}

TEST_F(ParserErrors, Types) {
  const auto with_type = [](std::string_view type) {
    return fmt::format("func @f(%x: {}) -> () {{ return }}", type);
  };
  for (const Malformed& malformed : std::vector<Malformed>{
           {with_type("f31[]"), kParse, "line 1, column 13: f31 is not a dtype"},
           {with_type("f32"), kParse, "line 1, column 16: expected '[', found ')'"},
           {with_type("f32[2"), kParse, "line 1, column 18: expected ']', found ')'"},
           {with_type("f32[2,]"), kParse, "line 1, column 19: "},
           {with_type("f32[n + ]"), kParse, "line 1, column 21: "},
           {with_type("f32[n//0]"), kParse, "line 1, column "},
           {with_type("[2]"), kParse, "line 1, column 13: expected a type, found '['"},
           {with_type("(f32[], "), kParse, "line 1, column 21: expected a type, found ')'"},
           {with_type("@"), kParse, "line 1, column 14: expected a name, found ')'"},
           {with_type("f32[2 @]"), kParse, "line 1, column 20: expected a name, found ']'"},
           {with_type("f32[2 @(a]"), kParse, "line 1, column 22: expected ')', found ']'"},
           {with_type("f32[]^a"), kParse, "line 1, column 19: expected '{', found 'a'"},
           {with_type("f32[]+{a"), kParse, "line 1, column 21: expected '}', found ')'"},
           {with_type("f32[]" + std::string(300, '?')), kParse,
            "line 1, column 13: a type of 201 levels"},
           {with_type(std::string(300, '(')), kParse,
            "line 1, column 213: nested deeper than 200 levels"},
           {"type @r = {f32[]", kParse,
            "line 1, column 17: expected '}', found the end of the text"},
           {"type @r {f32[]}", kParse, "line 1, column 9: expected '=', found '{'"},
           {"type r = {}", kParse, "line 1, column 6: expected '@', found 'r'"},
           {"type @r = {}\ntype @r = {}", kParse, "line 2, column 6: record @r is defined twice"},
       }) {
    expect_error(malformed);
  }
}

TEST_F(ParserErrors, Instructions) {
  for (const Malformed& malformed : std::vector<Malformed>{
           {with_body("%0 = ad %x, %x\n  return %0"), kParse, "line 2, column 8: "},
           {with_body("%0 = add %x, %z\n  return %0"), kParse,
            "line 2, column 16: %z is not defined before this"},
           {with_body("%0 = add %0, %x\n  return %0"), kParse,
            "line 2, column 12: %0 is not defined before this"},
           {with_body("%0 = add %x, %x\n  %0 = add %x, %x\n  return %0"), kParse,
            "line 3, column 3: %0 is defined already"},
           {with_body("%x = add %x, %x\n  return %x"), kParse,
            "line 2, column 3: %x is defined already"},
           {with_body("%01 = add %x, %x\n  return %x"), kParse,
            "line 2, column 4: expected a value's name or number after %, found '01'"},
           {with_body("%0 add %x, %x\n  return %0"), kParse,
            "line 2, column 6: expected '=', found 'add'"},
           {with_body("%0 ="), kParse, "line 3, column 1: expected an instruction, found '}'"},
           {with_body("%0 = add %x, %x %x\n  return %0"), kParse,
            "line 3, column 3: expected '=', found 'return'"},
           {with_body("%0 = add %x,\n  return %0"), kParse,
            "line 3, column 3: expected '%', found 'return'"},
           {with_body("%0 = add %x, %x :\n  return %0"), kParse,
            "line 3, column 3: return is not a dtype"},
           {with_body("%0 = add %x, %x : f32[n], f32[n]\n  return %0"), kParse,
            "line 2, column 3: 1 values are named, 2 types are stated"},
           {with_body("%0 = size {valu = n}\n  return %x"), kParse,
            "line 2, column 14: unknown attribute valu; the attributes are: value, dtype"},
           {with_body("%0 = tick {a = 1}\n  return %x"), kParse,
            "line 2, column 14: unknown attribute a; the attributes are: none"},
           {with_body("%0 = call @g %x\n  return %0"), kParse,
            "line 2, column 16: expected '(', found '%'"},
           {with_body("%0 = call @g(%x\n  return %0"), kParse,
            "line 3, column 3: expected ')', found 'return'"},
           {with_body("%0 = call @g<n(%x)\n  return %0"), kParse,
            "line 2, column 17: expected '>', found '('"},
           {with_body("<k = nonzero %x\n  return %0"), kParse,
            "line 2, column 6: expected '>', found '='"},
           {with_body(""), kParse,
            "line 3, column 1: expected an instruction or return, found '}'"},
           {with_body("return %x\n  return %x"), kParse,
            "line 3, column 3: expected '}', found 'return'"},
           {with_body("return"), ErrorKind::type, "line 2, column 9: @f: "},
       }) {
    expect_error(malformed);
  }
}

TEST_F(ParserErrors, TypeRulesKeepTheirKindAndTellThePlace) {
  for (const Malformed& malformed : std::vector<Malformed>{
           {with_body("%0 = add %x, %s\n  return %0"), ErrorKind::shape, "line 2, column 3: add: "},
           {with_body("%0 = add %x\n  return %0"), ErrorKind::type,
            "line 2, column 3: add: takes 2 operands, 1 given"},
           {with_body("%0 = add %x, %x : f32[7]\n  return %0"), ErrorKind::type,
            "line 2, column 3: add: the stated type of result 0 is f32[7], expected f32[n]"},
           {with_body("%0, %1 = add %x, %x\n  return %0"), ErrorKind::type,
            "line 2, column 3: add: returns 1 values, 2 are named"},
           {with_body("add %x, %x\n  return %x"), ErrorKind::type,
            "line 2, column 3: add: returns 1 values, 0 are named"},
           {with_body("%0 = nonzero %x\n  return %x"), ErrorKind::type,
            "line 2, column 3: nonzero: defines 1 sizes, 0 are named"},
           {with_body("<a, b> %0 = nonzero %x\n  return %x"), ErrorKind::type,
            "line 2, column 3: nonzero: "},
           {with_body("<n> %0 = nonzero %x\n  return %x"), ErrorKind::value,
            "line 2, column 3: nonzero: "},
           {with_body("%0 = call @g(%x)\n  return %0"), ErrorKind::key,
            "line 2, column 3: call: unknown function @g"},
           {with_body("%0 = call @f<n, n>(%x, %s)\n  return %0"), ErrorKind::type,
            "line 2, column 3: call: @f takes 1 sizes, not 2"},
           {with_body("%0 = call @g(%s)\n  return %x") + "func @g<n>(%s: f32[]) -> () { return }",
            ErrorKind::type,
            "line 2, column 3: call: the size n of @g does not follow from the operands"},
           {with_body("%0 = absent\n  return %x"), ErrorKind::type, "line 2, column 3: absent: "},
           {with_body("return %s"), ErrorKind::type, "line 2, column 9: @f: "},
           {with_body("return <n> %x"), ErrorKind::type, "line 2, column 9: @f: "},
           {with_body("%t0 = tuple %x, %x\n  %t1 = tuple %t0, %t0\n  return %z"), kParse,
            "line 4, column 10: %z is not defined before this"},
       }) {
    expect_error(malformed);
  }
}

TEST_F(ParserErrors, TypeRulesTellTheLocationWhereThereIsOne) {
  for (const char* instruction : {"%0 = add %x, %s", "%0, %1 = add %x, %x", "%0 = tuple : f32[]"}) {
    try {
      Program::parse(with_body(fmt::format("{} ; model.cpp:14\n  return %0", instruction)));
      ADD_FAILURE() << instruction;
    } catch (const ParseError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_EQ(error.location().text(), "model.cpp:14") << instruction;
      EXPECT_TRUE(error.message().starts_with("line 2, column 3: ")) << error.message();
    }
  }
  // Thrown as its own type, not only with its kind.
  EXPECT_THROW(Program::parse(with_body("%0 = add %x, %s\n  return %0")), ShapeError);
}

TEST_F(ParserErrors, ReportErrorsOfTheVerifier) {
  EXPECT_THROW(Program::parse("func @f(%x: f32[2*n]) -> () { return }"), CompileError);
  EXPECT_THROW(Program::parse("type @r = {@r}\nfunc @f(%x: @r) -> (@r) { return %x }"),
               CompileError);
}

TEST_F(ParserErrors, AnUnknownPrimitiveNamesNearMisses) {
  try {
    Program::parse(with_body("%0 = subtrct %x, %x\n  return %0"));
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_NE(error.message().find("subtract"), std::string::npos) << error.message();
  }
}

TEST_F(ParserErrors, MalformedFilesOfTheCorpus) {
  for (const std::string& text : malformed_forms())
    EXPECT_THROW(Program::parse(text), Error) << text;
}

// A text that is truncated or has one character changed gives an error or a program, nothing else.
TEST_F(ParserErrors, TruncatedAnywhere) {
  for (const std::string& text : form_examples()) {
    for (size_t length = 0; length < text.size(); ++length) {
      try {
        const std::string again = Program::parse(std::string_view(text).substr(0, length)).text();
        EXPECT_EQ(Program::parse(again).text(), again);
      } catch (const Error&) {
        continue;
      }
    }
  }
}

TEST_F(ParserErrors, OneCharacterReplacedAnywhere) {
  for (const std::string& text : form_examples()) {
    for (size_t i = 0; i < text.size(); ++i) {
      for (const char c : {'%', '<', '}', '0', '"', '\n'}) {
        std::string damaged = text;
        damaged[i] = c;
        try {
          const std::string again = Program::parse(damaged).text();
          EXPECT_EQ(Program::parse(again).text(), again) << damaged;
        } catch (const Error&) {
          continue;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::ir
