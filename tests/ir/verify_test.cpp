// Each rule of the verifier is violated at least once, and named in the error.
#include "plait/ir/analysis/verify.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/structure.h"

#include "tests/support/programs/function_surgeon.h"
#include "tests/support/scalar_ops.h"
#include "tests/support/sizes.h"

namespace plait::ir {
namespace {

struct Parts {
  std::vector<std::shared_ptr<const Function>> functions;
  std::vector<RecordType> records;
};

constexpr std::string_view kGoodProgram = R"(
type @list<n> = <k> {f32[n, k], @list<n>?}
func @main<n>(%x: f32[n], %list: @list<n>?, %c: f32[]) -> <m> (f32[m]) over {data: n} where 1 <= n {
  %y = add %x, %x                    ; model.cpp:3
  %t = tuple %y, %x                  ; model.cpp:4
  %e = element %t {index = 1}        ; model.cpp:5
  %z = call @half<n>(%e)             ; model.cpp:6
  %u = unwind @node<n>(%list, %c)    ; model.cpp:7
  %i = iota {size = n//2}            ; model.cpp:8
  <k> %j = nonzero %z                ; model.cpp:9
  %v = vary %c {axes = {data}}       ; model.cpp:10
  %s = all_reduce_sum %v {axes = {data}} ; model.cpp:11
  return <n//2> %z
}
func @half<n>(%x: f32[n]) -> (f32[n//2]) over {data: n} {
  %0 = halve %x
  return %0
}
func @node<k, n>(%v: f32[n, k], %c: f32[]) -> (f32[]) {
  return %c
}
)";
enum Place : size_t { add, tuple, element, call, unwind, iota, nonzero, vary, all_reduce };

Parts good_parts() {
  register_scalar_ops();
  Program program = Program::parse(kGoodProgram);
  return {{program.functions().begin(), program.functions().end()},
          {program.records().begin(), program.records().end()}};
}

const Dim unknown = Dim::symbol("unknown");
Type vector_of(Dim size) { return Type::array(DType::f32, {size}); }

struct Damage {
  std::string rule;
  std::string name;
  std::function<void(Parts&, FunctionSurgeon& main)> apply;
  std::string message;  // a part of the report
};

std::vector<Damage> form_damages() {
  return {
      {"names", "TwoFunctions",
       [](Parts& parts, auto&) { parts.functions.push_back(parts.functions[1]); },
       "two functions are named @half"},
      {"names", "TwoRecords",
       [](Parts& parts, auto&) { parts.records.push_back(parts.records[0]); },
       "two records are named @list"},
      {"values", "ResultsElsewhere", [](Parts&, auto& main) { ++main.first_result(tuple); },
       "the results of instruction 1 are not values 4 to 5"},
      {"values", "DefinitionsElsewhere", [](Parts&, auto& main) { main.definition(4) = 1; },
       "value 4 is not marked as defined by instruction 1"},
      {"values", "ParameterTypes",
       [](Parts&, auto& main) { main.value_type(0) = Type::scalar(DType::f32); },
       "value 0 is not parameter 0 of type f32[n]"},
      {"values", "MoreParametersThanValues",
       [](Parts&, auto& main) { main.signature().parameters.resize(50, vector_of(n)); },
       "and 50 parameters"},
      {"operands", "UsedBeforeDefined", [](Parts&, auto& main) { main.operand(add, 1) = 3; },
       "instruction 0 (add) uses value 3"},
      {"operands", "NoValue", [](Parts&, auto& main) { main.operand(add, 1) = 4000; },
       "uses value 4000"},
      {"operands", "ReturnsNoValue", [](Parts&, auto& main) { main.returned(0) = 4000; },
       "returns value 4000"},
      {"counts", "Operands", [](Parts&, auto& main) { main.operand_count(add) = 1; },
       "add takes 2 operands, but has 1"},
      {"counts", "Callees", [](Parts&, auto& main) { main.callee_count(call) = 0; },
       "call takes 1 callees, but has 0"},
      {"attributes", "OfAnother",
       [](Parts&, auto& main) { main.set_attributes(element, Attributes::of(GuardAttributes{})); },
       "element declares"},
      {"attributes", "Missing",
       [](Parts&, auto& main) { main.set_attributes(element, Attributes()); }, "but has none"},
      {"attributes", "NotDeclared",
       [](Parts&, auto& main) { main.set_attributes(add, Attributes::of(GuardAttributes{})); },
       "add declares no attributes"},
  };
}

void replace(Type& type, Type by) { type = std::move(by); }

std::vector<Damage> link_damages() {
  return {
      {"records", "UnknownSize",
       [](Parts& parts, auto&) { parts.records[0].fields.push_back(vector_of(unknown)); },
       "size unknown of f32[unknown] is neither an argument nor held"},
      {"records", "OneNameTwice", [](Parts& parts, auto&) { parts.records[0].held = {n}; },
       "n is not a unique name"},
      {"records", "ContainsItself",
       [](Parts& parts, auto&) {
         parts.records.push_back({.name = "loop",
                                  .parameters = {},
                                  .held = {},
                                  .fields = {Type::tuple({Type::record("loop")})}});
       },
       "record @loop contains itself"},
      {"records", "ContainOneAnother",
       [](Parts& parts, auto&) {
         for (auto [name, other] : {std::pair("a", "b"), std::pair("b", "a")})
           parts.records.push_back(
               {.name = name, .parameters = {}, .held = {}, .fields = {Type::record(other)}});
       },
       "contains itself"},
      {"records", "FieldUnknown",
       [](Parts& parts, auto&) { parts.records[0].fields.push_back(Type::record("nowhere")); },
       "record @list: unknown record @nowhere"},
      {"record uses", "Undeclared", [](Parts& parts, auto&) { parts.records.clear(); },
       "unknown record @list"},
      {"record uses", "Arguments",
       [](Parts&, auto& main) {
         Type list = Type::optional(Type::record("list", {n, n}));
         replace(main.signature().parameters[1], list);
         replace(main.value_type(1), list);
       },
       "@list takes 1 sizes, but @list<n, n> has 2"},
      {"callees", "Missing", [](Parts&, auto& main) { main.callee(call, 0).name = "nowhere"; },
       "unknown function @nowhere"},
      {"callees", "Sizes", [](Parts&, auto& main) { main.callee(call, 0).sizes = {n, n}; },
       "@half takes 1 sizes, but 2 are given"},
      {"callees", "SizesOfAnUnwoundBody",
       [](Parts&, auto& main) { main.callee(unwind, 0).sizes = {n, n}; },
       "@node takes 2 sizes, but 3 are given"},
  };
}

std::vector<Damage> size_damages() {
  return {
      {"size names", "ParametersTwice",
       [](Parts&, auto& main) { main.signature().size_parameters.push_back(n); },
       "a size named n exists already"},
      {"size names", "DefinedTwice", [](Parts&, auto& main) { main.size_result(nonzero, 0) = n; },
       "a size named n exists already"},
      {"size names", "Expression", [](Parts&, auto& main) { main.size_result(nonzero, 0) = n + 1; },
       "n + 1 is an expression"},
      {"size names", "ResultSizes",
       [](Parts&, auto& main) { main.signature().result_sizes[0] = n; }, "a size named n"},
      {"scope", "ParameterType",
       [](Parts&, auto& main) {
         replace(main.signature().parameters[0], vector_of(unknown));
         replace(main.value_type(0), vector_of(unknown));
       },
       "size unknown of the parameters"},
      {"scope", "ResultType",
       [](Parts&, auto& main) { replace(main.signature().results[0], vector_of(unknown)); },
       "size unknown of the signature's results"},
      {"scope", "ValueType",
       [](Parts&, auto& main) { replace(main.value_type(3), vector_of(unknown)); },
       "size unknown of the result types"},
      {"scope", "BeforeItsDefinition",
       [](Parts&, auto& main) {
         main.set_attributes(iota, Attributes::of(IotaAttributes{Dim::symbol("k")}));
       },
       "size k of the attributes"},
      {"scope", "CalleeSize", [](Parts&, auto& main) { main.callee(call, 0).sizes = {unknown}; },
       "size unknown of @half's arguments"},
      {"scope", "GivenBack", [](Parts&, auto& main) { main.returned_sizes()[0] = unknown; },
       "size unknown of the returned sizes"},
      {"scope", "Axis", [](Parts&, auto& main) { main.signature().axes.axes[0].size = unknown; },
       "size unknown of the axes"},
      {"facts", "UnknownSize",
       [](Parts&, auto& main) { main.signature().facts[0].right = Dim::symbol("m"); },
       "size m of 1 <= m"},
  };
}

std::vector<Damage> meaning_damages() {
  return {
      {"types", "ResultType",
       [](Parts&, auto& main) { replace(main.value_type(3), vector_of(n + 1)); },
       "%y = add %x, %x : f32[n + 1]"},
      {"types", "OperandType", [](Parts&, auto& main) { main.operand(element, 0) = 0; },
       "takes a tuple"},
      {"types", "NewSizes", [](Parts&, auto& main) { main.size_result_count(nonzero) = 0; },
       "defines"},
      {"returns", "Type", [](Parts&, auto& main) { main.returned(0) = 0; },
       "result 0 is f32[n], but the signature declares f32[n//2]"},
      {"returns", "Count", [](Parts&, auto& main) { main.returned().clear(); },
       "returns 0 values, but declares 1"},
      {"returns", "Sizes", [](Parts&, auto& main) { main.returned_sizes().clear(); },
       "returns 0 sizes, but declares 1"},
      {"axes", "Undeclared",
       [](Parts&, auto& main) { main.signature().axes.axes[0].name = "other"; },
       "@main has no axis data"},
      {"axes", "Twice",
       [](Parts&, auto& main) {
         main.signature().axes.axes.push_back(main.signature().axes.axes[0]);
       },
       "two axes are named data"},
      {"axes", "ShardingOverNoAxis",
       [](Parts&, auto& main) {
         replace(main.value_type(3),
                 Type::array(DType::f32, {n}, {}, Sharding{.splits = {{"far"}}, .partial = {}}));
       },
       "@main has no axis far"},
      {"axes", "ShardedTwice",
       [](Parts&, auto& main) {
         replace(
             main.value_type(3),
             Type::array(DType::f32, {n}, {}, Sharding{.splits = {{"data"}}, .partial = {"data"}}));
       },
       "uses axis data twice"},
      {"callee axes", "Size",
       [](Parts&, auto& main) { main.signature().axes.axes[0].size = n + 1; },
       "axis data has size n in @half, and n + 1 in @main"},
      {"callee axes", "Missing",
       [](Parts&, auto& main) { main.signature().axes.axes[0].name = "other"; },
       "@half uses axis data, which @main does not have"},
  };
}

std::vector<Damage> all_damages() {
  std::vector<Damage> all;
  for (auto some : {form_damages, link_damages, size_damages, meaning_damages})
    for (Damage& damage : some()) all.push_back(std::move(damage));
  return all;
}

std::string text_of(const std::vector<Violation>& found) {
  std::string text;
  for (const Violation& violation : found) text += violation.text() + "\n";
  return text;
}

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsFoundByItsRule) {
  Parts parts = good_parts();
  ASSERT_EQ(text_of(violations(parts.functions, parts.records)), "");
  FunctionSurgeon main(*parts.functions[0]);
  GetParam().apply(parts, main);
  parts.functions[0] = main.done();
  std::vector<Violation> found = violations(parts.functions, parts.records);
  bool named = false;
  for (const Violation& violation : found)
    named |= violation.rule == GetParam().rule &&
             violation.text().find(GetParam().message) != std::string::npos;
  EXPECT_TRUE(named) << GetParam().rule << ": " << GetParam().message << "\nfound:\n"
                     << text_of(found);
}

INSTANTIATE_TEST_SUITE_P(Rules, Damaged, testing::ValuesIn(all_damages()), [](const auto& info) {
  std::string name = info.param.rule + "_" + info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

// A condition that decides whether a collective runs, in the body of a function.
struct Decision {
  std::string name;
  std::string body;
  bool allowed = false;
};

constexpr std::string_view kDecided = R"(
func @sums(%x: f32[]^{data}) -> (f32[]^{data}) over {data: 4} {
  %s = all_reduce_sum %x {axes = {data}}
  %v = vary %s {axes = {data}}
  return %v
}
func @reduces(%x: f32[]^{data}) -> () over {data: 4} {
  %s = all_reduce_sum %x {axes = {data}}
  return
}
func @nothing(%x: f32[]^{data}) -> () over {data: 4} { return }
func @keeps(%x: f32[]^{data}) -> (f32[]^{data}) over {data: 4} { return %x }
func @deep(%x: f32[]^{data}) -> (f32[]^{data}) over {data: 4} {
  %y = call @sums(%x)
  return %y
}
func @checks(%p: bool[]^{data}) -> () over {data: 4} {
  guard %p
  return
}
func @insists(%q: bool[]) -> () {
  guard %q
  return
}
func @skips(%q: bool[]) -> () { return }
func @prints(%q: bool[]) -> () {
  print %q
  return
}
func @unsure(%x: f32[]^{data}) -> (bool[]^{data}) over {data: 4} {
  %0 = less %x, %x
  return %0
}
func @unsure_sum(%x: f32[]^{data}) -> (bool[]^{data}) over {data: 4} {
  %y = call @sums(%x)
  %0 = less %x, %y
  return %0
}
func @sure(%x: f32[]^{data}) -> (bool[]) over {data: 4} {
  %s = all_reduce_sum %x {axes = {data}}
  %0 = less %s, %s
  return %0
}
func @late_guard(%x: f32[]^{data}, %e: f32[]^{data}) -> (f32[]^{data}) over {data: 4} {
  %y = call @sums(%x)
  %0 = less %y, %y
  guard %0
  return %y
}
)";

std::vector<Decision> decisions() {
  return {
      {"CondVarying", "%y = cond @sums, @keeps(%p, %x)"},
      {"CondInvariant", "%y = cond @sums, @keeps(%q, %x)", true},
      {"CondVaryingWithoutResults", "cond @reduces, @nothing(%p, %x)"},
      {"CondVaryingAlongAnother", "cond @reduces, @nothing(%m, %x)", true},
      {"CondThroughACall", "%y = cond @deep, @keeps(%p, %x)"},
      {"CondWithoutCollective", "%y = cond @keeps, @keeps(%p, %x)", true},
      {"Switch", "%y = switch @keeps, @sums(%i, %x)"},
      {"GuardBefore", "guard %p\n%y = call @sums(%x)"},
      {"GuardBeforeInvariant", "guard %q\n%y = call @sums(%x)", true},
      {"GuardAfter", "%y = call @sums(%x)\nguard %p", true},
      {"GuardInACallee", "call @checks(%p)\n%s = all_reduce_sum %x {axes = {data}}"},
      {"GuardThatRunsSomewhere", "cond @insists, @skips(%p, %q)\n%y = call @sums(%x)"},
      {"PrintThatRunsSomewhere", "cond @prints, @skips(%p, %q)\n%y = call @sums(%x)", true},
      {"WhileTest", "%y = while @unsure, @sums(%x)"},
      {"WhileTestInvariant", "%y = while @sure, @sums(%x)", true},
      {"WhileTestThatSums", "%y = while @unsure_sum, @keeps(%x)"},
      {"WhileWithoutCollective", "%y = while @unsure, @keeps(%x)", true},
      {"GuardAtTheEndOfAStep", "%y = scan @late_guard(%x, %xs) {carries = 1, length = 3}"},
      {"GuardAtTheEndOfACall", "%y = call @late_guard(%x, %x)", true},
  };
}

class Decided : public testing::TestWithParam<Decision> {};

TEST_P(Decided, CollectivesRunEverywhereOrNowhere) {
  register_scalar_ops();
  std::string text =
      "func @main(%x: f32[]^{data}, %xs: f32[3]^{data}, %p: bool[]^{data}, %q: bool[], "
      "%m: bool[]^{model}, %i: i64[]^{data}) -> () over {data: 4, model: 2} {\n" +
      GetParam().body + "\nreturn\n}\n" + std::string(kDecided);
  try {
    Program::parse(text);
    EXPECT_TRUE(GetParam().allowed);
  } catch (const CompileError& error) {
    EXPECT_FALSE(GetParam().allowed) << error.what();
    EXPECT_NE(error.message().find("rule `collectives`: @main: "), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Decided, testing::ValuesIn(decisions()),
                         [](const auto& info) { return info.param.name; });

TEST(Collectives, InAFunctionThatCallsItselfAfterAGuard) {
  register_scalar_ops();
  constexpr std::string_view kText = R"(
func @f(%x: f32[]^{data}, %p: bool[]^{data}) -> (f32[]^{data}) over {data: 4} {
  %s = all_reduce_sum %x {axes = {data}}
  %v = vary %s {axes = {data}}
  guard %p
  %y = call @f(%v, %p)
  return %y
}
)";
  try {
    Program::parse(kText);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_NE(error.message().find("%y = call @f"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("a guard before it varies along {data}"), std::string::npos)
        << error.what();
  }
}

TEST(Verify, EveryRuleHasACaseAndAStatement) {
  std::set<std::string> broken{"collectives"};  // Decided
  for (const Damage& damage : all_damages()) broken.insert(damage.rule);
  for (const RuleStatement& rule : verifier_rules()) {
    EXPECT_TRUE(broken.erase(std::string(rule.name)))
        << "no test breaks rule `" << rule.name << "`";
    EXPECT_TRUE(rule.statement.ends_with(".")) << rule.name;
  }
  EXPECT_TRUE(broken.empty()) << *broken.begin() << " is not a rule";
}

TEST(Verify, SaysWhatItFoundInWhichPassAndWhere) {
  Parts parts = good_parts();
  FunctionSurgeon main(*parts.functions[0]);
  replace(main.value_type(3), vector_of(unknown));
  parts.functions[0] = main.done();
  try {
    verify(Program::of(parts.functions, parts.records), "fuse");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_TRUE(error.message().starts_with(
        "after fuse: rule `scope`: @main: %y = add %x, %x : f32[unknown]: size unknown of the "
        "result types is not known here"))
        << error.message();
    EXPECT_EQ(error.location().text(), "model.cpp:3");
  }
}

TEST(Verify, ShowsTheFirstOfMany) {
  Parts parts = good_parts();
  for (auto& function : parts.functions) {
    FunctionSurgeon surgeon(*function);
    for (int i = 0; i < 20; ++i) surgeon.returned().push_back(4000);
    function = surgeon.done();
  }
  EXPECT_EQ(violations(parts.functions, parts.records).size(), 60u);
  try {
    verify(Program::of(parts.functions, parts.records));
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_NE(error.message().find("and 50 more"), std::string::npos) << error.message();
  }
}

TEST(Verify, RefusesNullFunctions) {
  Parts parts;
  parts.functions.push_back(nullptr);
  EXPECT_THROW(violations(parts.functions, parts.records), ValueError);
}

}  // namespace
}  // namespace plait::ir
