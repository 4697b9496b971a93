// Programs are printed as text and bytes and read again: the result is the same program.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/builder.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"

#include "tests/ir/form_examples.h"
#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class RoundTrip : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
};

std::vector<std::pair<ValueId, std::string>> labels_of(const Function& function) {
  std::vector<std::pair<ValueId, std::string>> labels;
  function.labels().for_each(
      [&](ValueId value, std::string_view label) { labels.emplace_back(value, label); });
  return labels;
}

void expect_same_functions(const Function& a, const Function& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.value_count(), b.value_count());
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.location().text(), b.location().text());
  EXPECT_EQ(labels_of(a), labels_of(b));
  EXPECT_TRUE(std::ranges::equal(a.results(), b.results()));
  EXPECT_TRUE(std::ranges::equal(a.result_sizes(), b.result_sizes()));
  const Signature &s = a.signature(), &t = b.signature();
  EXPECT_EQ(s.size_parameters, t.size_parameters);
  EXPECT_EQ(s.parameters, t.parameters);
  EXPECT_EQ(s.result_sizes, t.result_sizes);
  EXPECT_EQ(s.results, t.results);
  EXPECT_EQ(s.axes, t.axes);
  EXPECT_EQ(s.facts, t.facts);
  for (size_t i = 0; i < a.size(); ++i) {
    const Instruction x = a.instruction(i), y = b.instruction(i);
    SCOPED_TRACE(print(x));
    EXPECT_EQ(&x.primitive(), &y.primitive());
    EXPECT_EQ(x.attributes(), y.attributes());
    EXPECT_EQ(x.location().text(), y.location().text());
    EXPECT_TRUE(std::ranges::equal(x.operands(), y.operands()));
    EXPECT_TRUE(std::ranges::equal(x.result_types(), y.result_types()));
    EXPECT_TRUE(std::ranges::equal(x.callees(), y.callees()));
    EXPECT_TRUE(std::ranges::equal(x.size_arguments(), y.size_arguments()));
    EXPECT_TRUE(std::ranges::equal(x.size_results(), y.size_results()));
  }
}

void expect_same_programs(const Program& a, const Program& b) {
  ASSERT_EQ(a.functions().size(), b.functions().size());
  for (size_t i = 0; i < a.functions().size(); ++i)
    expect_same_functions(a.function(i), b.function(i));
  ASSERT_EQ(a.records().size(), b.records().size());
  for (size_t i = 0; i < a.records().size(); ++i) {
    EXPECT_EQ(a.records()[i].text(), b.records()[i].text());
  }
}

void expect_round_trip(const Program& program) {
  const std::string text = program.text();
  const Program parsed = Program::parse(text);
  EXPECT_EQ(parsed.text(), text);
  expect_same_programs(program, parsed);
  const std::string bytes = program.bytes();
  const Program read = Program::from_bytes(bytes);
  EXPECT_EQ(read.bytes(), bytes);
  EXPECT_EQ(read.text(), text);
  expect_same_programs(program, read);
}

TEST_F(RoundTrip, EveryInstructionAndEveryPieceOfSyntax) {
  for (const std::string& text : form_examples()) {
    SCOPED_TRACE(text);
    expect_round_trip(Program::parse(text));
  }
}

TEST_F(RoundTrip, CanonicalTextPrintsAsItIs) {
  const std::string text = R"(plait 1

type @list = <k> {f32[k], @list?}
type @pair<n> = {f32[n]}

func @main<n, m>(%x: f32[n], %p1: f32[m]) -> <k> (f32[k], (f32[n], i64[])) over {data: 8} where n == m, 1 <= n { ; model.cpp:3
  %0 = add %x, %x : f32[n]                              ; model.cpp:14
  %c = size {value = 2*n} : i64[]                       ; "my model.cpp":15
  <k> = as_size %c
  %y = refine %p1 : f32[k]
  %3 = tuple %0, %c : (f32[n], i64[])
  return <k> %y, %3
}

func @types<n, m>(%a: f32[n @data, m @(model, x)]^{y}+{z}, %b: (@list?, (), key[2])??, %c: @pair<n + 1>) -> (@pair<n + 1>) over {data: 2, model: n, x: 1, y: 4, z: 4} {
  return %c
}
)";
  EXPECT_EQ(Program::parse(text).text(), text);
}

TEST_F(RoundTrip, TheEmptyProgram) {
  EXPECT_EQ(Program().text(), "plait 1\n");
  EXPECT_TRUE(Program::parse("").empty());
  EXPECT_TRUE(Program::parse("plait 1 ; nothing").empty());
  EXPECT_TRUE(Program::from_bytes(Program().bytes()).empty());
}

TEST_F(RoundTrip, NumbersOfValuesArePlacesAndAnyOrderIsRead) {
  const Program program = Program::parse(
      "func @f(%x: f32[]) -> (f32[]) {\n"
      "  %9 = add %x, %x\n %y = add %9, %9\n %0 = add %y, %9\n  %100000 = add %0, %0\n return "
      "%100000\n}");
  EXPECT_EQ(print(program.entry()),
            "func @f(%x: f32[]) -> (f32[]) {\n"
            "  %0 = add %x, %x : f32[]\n"
            "  %y = add %0, %0 : f32[]\n"
            "  %2 = add %y, %0 : f32[]\n"
            "  %3 = add %2, %2 : f32[]\n"
            "  return %3\n"
            "}\n");
}

Program unlabelled_parameters(std::string_view other_label) {
  ProgramBuilder program;
  FunctionBuilder f = program.function("main");
  const ValueId x = f.parameter(Type::scalar(DType::f32));
  const ValueId y = f.parameter(Type::scalar(DType::f32), other_label);
  program.add(f.finish({f.add("add", {x, y})}));
  return program.finish();
}

TEST_F(RoundTrip, ParametersWithoutLabels) {
  EXPECT_NE(unlabelled_parameters("y").text().find("(%p0: f32[], %y: f32[])"), std::string::npos);
  EXPECT_NE(unlabelled_parameters("").text().find("(%p0: f32[], %p1: f32[])"), std::string::npos);
  EXPECT_NE(unlabelled_parameters("p0").text().find("(%p0_: f32[], %p0: f32[])"),
            std::string::npos);
  for (const char* label : {"y", "", "p0", "p0_"}) expect_round_trip(unlabelled_parameters(label));
  // A label that would be parsed as a missing one is not printed.
  const Program in_its_place = unlabelled_parameters("p1_");
  EXPECT_NE(in_its_place.text().find("(%p0: f32[], %p1: f32[])"), std::string::npos);
  EXPECT_EQ(Program::parse(in_its_place.text()).text(), in_its_place.text());
}

TEST_F(RoundTrip, OneLineForMessages) {
  const Program program = Program::parse(
      "func @f(%x: f32[]) -> (f32[]) {\n"
      "  %big = literal {value = f32[9](1, 2, 3, 4, 5, 6, 7, 8, 9)} ; a.cpp:1\n"
      "  %0 = call @g(%x) ; a.cpp:2\n return %0\n}\n"
      "func @g(%x: f32[]) -> (f32[]) { return %x }");
  const Function& f = program.entry();
  EXPECT_EQ(print(f.instruction(0)), "%big = literal {value = f32[9](...)} : f32[9]");
  EXPECT_EQ(print(f.instruction(1), {}), "%1 = call @g(%x) : f32[]  ; a.cpp:2");
  EXPECT_EQ(value_name(f, 0), "%x");
  EXPECT_EQ(value_name(f, 2), "%1");
  EXPECT_EQ(print(program, {.locations = false}).find("a.cpp"), std::string::npos);
}

// Size arguments of a callee can be omitted if the types of its parameters determine them.
TEST_F(RoundTrip, SizesOfCalleesAreCompleted) {
  const auto completed = [](std::string_view body, std::string_view callees) {
    const std::string text =
        fmt::format("type @list = <k> {{f32[k], @list?}}\n{}\n{}", body, callees);
    std::string printed = Program::parse(text).text();
    const size_t at = printed.find('@', printed.find("  %0"));
    return printed.substr(at, printed.find('(', at) - at);
  };
  EXPECT_EQ(completed("func @main<n>(%x: f32[2*n]) -> (f32[2*n]) { %0 = call @f(%x) return %0 }",
                      "func @f(%x: f32[m]) -> (f32[m]) { return %x }"),
            "@f<2*n>");
  EXPECT_EQ(
      completed(
          "func @main(%p: bool[], %x: f32[n]) -> (f32[n]) { %0 = cond @f, @f(%p, %x) return %0 }",
          "func @f(%x: f32[m]) -> (f32[m]) { return %x }"),
      "@f<n>, @f<n>");
  EXPECT_EQ(
      completed("func @main(%t: (f32[n], f32[m]?)) -> (f32[m]?) { %0 = call @f(%t) return %0 }",
                "func @f<b, a>(%t: (f32[a], f32[b]?)) -> (f32[b]?) "
                "{ %0 = element %t {index = 1} return %0 }"),
      "@f<m, n>");
  EXPECT_EQ(completed("func @main(%c: f32[m], %x: f32[n, m]) -> (f32[m]) "
                      "{ %0 = scan @f(%c, %x) {carries = 1, length = n} return %0 }",
                      "func @f(%c: f32[k], %x: f32[k]) -> (f32[k]) { %0 = add %c, %x return %0 }"),
            "@f<m>");
  EXPECT_EQ(
      completed(
          "func @main(%l: @list?, %c: f32[m]) -> (f32[m]) { %0 = unwind @f(%l, %c) return %0 }",
          "func @f(%x: f32[k], %c: f32[j]) -> (f32[j]) { return %c }"),
      "@f<m>");
}

TEST_F(RoundTrip, LiteralsOfEveryLength) {
  for (const int64_t count : {0, 1, 64, 65, 1000}) {
    std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(float));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
    ProgramBuilder program;
    FunctionBuilder f = program.function("main");
    const ValueId value = f.literal(Literal::of_bytes(DType::f32, {count}, std::move(bytes)));
    const ValueId splat = f.literal(Literal::splat({count, 3}, Literal::scalar(DType::f64, 0.5)));
    program.add(f.finish({value, splat}));
    expect_round_trip(program.finish());
  }
}

}  // namespace
}  // namespace plait::ir
