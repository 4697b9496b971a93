#include "plait/ir/rewriting/rewrite.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/rewriting/pattern.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"

#include "tests/support/errors.h"
#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class Rewriting : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }

  static std::string rewritten(std::string_view text, std::vector<RewriteRule> rules) {
    Program program = Rewriter(std::move(rules)).rewrite(Program::parse(text));
    verify(program, "rewrite");
    return program.text();
  }
  // The message of the CompileError that rewriting throws.
  static std::string refusal(std::string_view text, std::vector<RewriteRule> rules) {
    return what_of<CompileError>([&] { rewritten(text, std::move(rules)); });
  }
};

RewriteRule rule(std::string_view root,
                 std::function<std::optional<Replacement>(const Candidate&)> apply) {
  return {.name = fmt::format("the {} rule", root),
          .root = &primitive(root),
          .apply = std::move(apply)};
}

constexpr std::string_view kRewrittenProgram = R"(plait 1

type @box<n> = <k> {f32[n, k]}

func @main<n>(%x: f32[n], %p1: i64[], %b: @box<n>) -> <m> (f32[m], f32[n, m]) over {data: 2} where 1 <= n {  ; model.cpp:1
  %y = negate %x : f32[n]                       ; model.cpp:2
  %z = add %x, %y : f32[n]                      ; model.cpp:3
  %w = call @sub<n>(%z) : f32[n]                ; model.cpp:4
  <k> %f = unpack %b : f32[n, k]                ; model.cpp:5
  %v = refine %w : f32[k]                       ; model.cpp:6
  return <k> %v, %f
}

func @sub<m>(%p0: f32[m]) -> (f32[m]) {
  return %p0
}
)";

TEST_F(Rewriting, WithoutRulesKeepsEverything) {
  Program program = Program::parse(kRewrittenProgram);
  EXPECT_EQ(rewritten(kRewrittenProgram, {}), program.text());
  RewriteRule never{.name = "never", .apply = [](const Candidate&) { return std::nullopt; }};
  EXPECT_EQ(rewritten(kRewrittenProgram, {never}), program.text());
  Program same = Rewriter({never}).rewrite(program);
  EXPECT_EQ(same.functions()[0], program.functions()[0]) << "untouched functions are shared";
}

TEST_F(Rewriting, ReplacementsTakeLabelAndLocation) {
  std::string text =
      rewritten(kRewrittenProgram, {parse_rule("add(?x, negate(?y)) => subtract(?x, ?y)")});
  EXPECT_NE(text.find("  %y = negate %x : f32[n]"), std::string::npos)
      << "unused, but not its task";
  size_t place = text.find("  %z = subtract %x, %x : f32[n]");
  ASSERT_NE(place, std::string::npos) << text;
  std::string line = text.substr(place, text.find('\n', place) - place);
  EXPECT_TRUE(line.ends_with("; model.cpp:3")) << line;
}

TEST_F(Rewriting, ReplacementsAreRewrittenInTurn) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[], %y: f32[]) -> (f32[]) {
  %a = exp %x
  %b = multiply %a, %y
  return %b
}
)";
  std::string text = rewritten(
      kText, {parse_rule("exp(?x) => sin(cos(?x))"), parse_rule("cos(?x) => negate(log(?x))"),
              parse_rule("sin(negate(?x)) => negate(sin(?x))"), parse_rule("log(?x) => sqrt(?x)")});
  EXPECT_EQ(text, R"(plait 1

func @main(%x: f32[], %y: f32[]) -> (f32[]) {
  %0 = sqrt %x : f32[]
  %1 = negate %0 : f32[]
  %2 = sin %0 : f32[]
  %a = negate %2 : f32[]
  %b = multiply %a, %y : f32[]
  return %b
}
)");
}

TEST_F(Rewriting, AReplacementMayBeAValue) {
  std::string text = rewritten(kRewrittenProgram,
                               {parse_rule("negate(?x) => ?x"), parse_rule("add(?x, ?x) => ?x")});
  EXPECT_EQ(text.find("add"), std::string::npos) << text;
  EXPECT_NE(text.find("call @sub<n>(%x)"), std::string::npos) << text;
}

TEST_F(Rewriting, AnEarlierValueKeepsItsLabel) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[]) -> (f32[], f32[]) {
  %first = exp %x
  %second = negate %first
  %0 = cos %x
  %third = negate %0
  return %second, %third
}
)";
  std::string text = rewritten(kText, {parse_rule("negate(?x) => ?x")});
  EXPECT_NE(text.find("%first = exp"), std::string::npos) << text;
  EXPECT_NE(text.find("%1 = cos"), std::string::npos) << text;
  EXPECT_NE(text.find("return %first, %1"), std::string::npos) << text;
}

TEST_F(Rewriting, EarlierRulesGoFirst) {
  constexpr std::string_view kText = "func @main(%x: f32[]) -> (f32[]) { %0 = exp %x return %0 }";
  RewriteRule to_sin = parse_rule("exp(?x) => sin(?x)"), to_cos = parse_rule("exp(?x) => cos(?x)");
  EXPECT_NE(rewritten(kText, {to_sin, to_cos}).find("sin"), std::string::npos);
  EXPECT_NE(rewritten(kText, {to_cos, to_sin}).find("cos"), std::string::npos);
  RewriteRule anywhere = to_sin;
  anywhere.root = nullptr;
  anywhere.apply = [to_sin](const Candidate& candidate) {
    return candidate.instruction.primitive->name == "exp" ? to_sin.apply(candidate) : std::nullopt;
  };
  EXPECT_NE(rewritten(kText, {anywhere, to_cos}).find("sin"), std::string::npos);
  EXPECT_NE(rewritten(kText, {to_cos, anywhere}).find("cos"), std::string::npos);
}

TEST_F(Rewriting, RulesThatGoOnForEverAreNamed) {
  constexpr std::string_view kText =
      "func @main(%x: f32[]) -> (f32[]) { %y = exp %x ; model.cpp:9\n return %y }";
  std::string message =
      refusal(kText, {parse_rule("exp(?x) => sin(?x)"), parse_rule("log(?x) => ?x"),
                      parse_rule("sin(?x) => exp(?x)")});
  EXPECT_NE(message.find("`exp(?x) => sin(?x)`, `sin(?x) => exp(?x)`"), std::string::npos)
      << message;
  EXPECT_NE(message.find("1000 times"), std::string::npos) << message;
  EXPECT_NE(message.find("%y = exp %x"), std::string::npos) << message;
  EXPECT_NE(message.find("model.cpp:9"), std::string::npos) << message;
  EXPECT_EQ(message.find("log"), std::string::npos) << message;
  EXPECT_NE(refusal(kText, {parse_rule("exp(?x) => exp(exp(?x))")}).find("1000 times"),
            std::string::npos);
}

TEST_F(Rewriting, TheLimitCountsFromOneInstruction) {
  std::string text = "func @main(%x: f32[]) -> (f32[]) {\n";
  for (int i = 0; i < 50; ++i)
    text += fmt::format("%v{} = exp {}\n", i, i ? fmt::format("%v{}", i - 1) : "%x");
  Program program = Program::parse(text + "return %v49\n}\n");
  Rewriter rewriter({parse_rule("exp(?x) => sin(?x)")}, {.most_firings = 1});
  rewriter.rewrite(program);
  EXPECT_EQ(rewriter.statistics().firings, 50u);
  EXPECT_EQ(rewriter.statistics().candidates, 100u);
}

TEST_F(Rewriting, ALongExpansionUsesNoStack) {
  constexpr uint64_t kDeep = 200'000;
  uint64_t left = kDeep;
  RewriteRule deepen = rule("exp", [&](const Candidate& candidate) -> std::optional<Replacement> {
    if (left == 0) return std::nullopt;
    --left;
    Replacement replacement;
    auto inner = replacement.add(primitive("exp"), {candidate.instruction.operands[0]});
    replacement.give({replacement.add(primitive("negate"), {inner})});
    return replacement;
  });
  Program program = Program::parse("func @main(%x: f32[]) -> (f32[]) { %0 = exp %x return %0 }");
  Rewriter rewriter({deepen}, {.most_firings = kDeep});
  EXPECT_EQ(rewriter.rewrite(program).entry().size(), kDeep + 1);
}

TEST_F(Rewriting, AMillionInstructionsInOneStepEach) {
  constexpr size_t kMany = 1'000'000;
  ProgramBuilder builder;
  FunctionBuilder f = builder.function("main");
  ValueId x = f.parameter(Type::scalar(DType::f32)), y = x;
  const Primitive &exp = primitive("exp"), &negate = primitive("negate");
  for (size_t i = 0; i < kMany; ++i) y = f.add(i % 2 ? exp : negate, {y});
  builder.add(f.finish({y}));
  Rewriter rewriter({parse_rule("exp(?x) => sin(?x)"), parse_rule("negate(negate(?x)) => ?x")});
  Program rewritten = rewriter.rewrite(builder.finish());
  EXPECT_EQ(rewritten.entry().size(), kMany);
  EXPECT_EQ(rewriter.statistics().firings, kMany / 2);
  EXPECT_EQ(rewriter.statistics().candidates, kMany + kMany / 2);
}

TEST_F(Rewriting, DataDependentSizesMayBeReplaced) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[], %v: f32[6]) -> <m> (f32[m], i64[]) {
  %c = literal {value = i64[](6)}
  <k> = as_size %c
  %r = refine %v : f32[k]
  %s = size {value = 2*k}
  return <k> %r, %s
}
)";
  RewriteRule known = rule("as_size", [](const Candidate& candidate) -> std::optional<Replacement> {
    auto definition = candidate.definition(0);
    if (!definition || definition->primitive().structure != Structure::literal) return std::nullopt;
    Replacement replacement;
    const Literal& value = definition->attributes_as<LiteralAttributes>().value;
    replacement.give_sizes({Dim(static_cast<int64_t>(value.as_double(0)))});
    return replacement;
  });
  EXPECT_EQ(rewritten(kText, {known}), R"(plait 1

func @main(%x: f32[], %v: f32[6]) -> <m> (f32[m], i64[]) {
  %c = literal {value = i64[](6)} : i64[]
  %r = refine %v : f32[6]
  %s = size {value = 12} : i64[]
  return <6> %r, %s
}
)");
}

TEST_F(Rewriting, TheReplacementMayDefineDataDependentSizes) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[4]) -> <m> (i64[m]) {
  <indices> %i = nonzero %x
  <more> %j = nonzero %x
  %both = concat %i, %j
  return <indices + more> %both
}
)";
  RewriteRule by_negation =
      rule("nonzero", [](const Candidate& candidate) -> std::optional<Replacement> {
        auto definition = candidate.definition(0);
        if (definition) return std::nullopt;
        Replacement replacement;
        auto negated = replacement.add(primitive("negate"), {candidate.instruction.operands[0]});
        replacement.give({replacement.add(primitive("nonzero"), {negated})});
        return replacement;
      });
  EXPECT_EQ(rewritten(kText, {by_negation}), R"(plait 1

func @main(%x: f32[4]) -> <m> (i64[m]) {
  %0 = negate %x : f32[4]
  <k> %i = nonzero %0 : i64[k]
  %2 = negate %x : f32[4]
  <k.1> %j = nonzero %2 : i64[k.1]
  %both = concat %i, %j : i64[k + k.1]
  return <k + k.1> %both
}
)");
}

TEST_F(Rewriting, SourceSizesGiveWayToThoseOfReplacements) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[4]) -> <m> (i64[m]) {
  <first> %i = nonzero %x
  <k> %j = nonzero %i
  return <k> %j
}
)";
  RewriteRule again = rule("nonzero", [](const Candidate& candidate) -> std::optional<Replacement> {
    if (candidate.definition(0) || candidate.instruction.size_names.empty()) return std::nullopt;
    Replacement replacement;
    replacement.give({replacement.add(primitive("nonzero"), {candidate.instruction.operands[0]})});
    return replacement;
  });
  std::string text = rewritten(kText, {again});
  EXPECT_NE(text.find("<k> %i = nonzero %x : i64[k]"), std::string::npos) << text;
  EXPECT_NE(text.find("<k.1> %j = nonzero %i : i64[k.1]\n  return <k.1> %j"), std::string::npos)
      << text;
}

TEST_F(Rewriting, SeveralResultsTogether) {
  constexpr std::string_view kText = R"(
func @main(%x: f32[], %y: i64[]) -> (f32[], i64[]) {
  %a, %b = call @swap(%y, %x)
  return %a, %b
}
func @swap(%y: i64[], %x: f32[]) -> (f32[], i64[]) { return %x, %y }
)";
  RewriteRule inline_swap =
      rule("call", [](const Candidate& candidate) -> std::optional<Replacement> {
        Replacement replacement;
        replacement.give({candidate.instruction.operands[1], candidate.instruction.operands[0]});
        return replacement;
      });
  EXPECT_NE(rewritten(kText, {inline_swap}).find("  return %x, %y\n}\n\nfunc @swap"),
            std::string::npos);
}

TEST_F(Rewriting, FaultyRulesAreNamed) {
  constexpr std::string_view kText =
      "func @main(%x: f32[], %i: i64[]) -> (f32[]) { %y = exp %x ; model.cpp:3\n return %y }";
  using Values = std::vector<Replacement::Value>;
  auto giving = [&](std::function<Values(Replacement&)> values) {
    return rule("exp", [values](const Candidate&) -> std::optional<Replacement> {
      Replacement replacement;
      Values results = values(replacement);
      replacement.give(std::move(results));
      return replacement;
    });
  };
  auto expect = [&](std::function<Values(Replacement&)> values, std::string_view message) {
    std::string said = refusal(kText, {giving(values)});
    EXPECT_NE(said.find("rule `the exp rule`, replacing %y = exp %x"), std::string::npos) << said;
    EXPECT_NE(said.find(message), std::string::npos) << said;
    EXPECT_NE(said.find("model.cpp:3"), std::string::npos) << said;
  };
  expect([](Replacement&) { return Values{ValueId{1}}; }, "returns i64[] instead of f32[]");
  expect([](Replacement&) { return Values{}; }, "returns 0 values instead of 1");
  expect([](Replacement&) { return Values{ValueId{77}}; }, "uses value 77 of 2");
  expect([](Replacement& r) { return Values{r.add(primitive("add"), {ValueId{0}})}; }, "operands");
  expect([](Replacement& r) { return Values{r.add(primitive("sin"), {ValueId{77}})}; },
         "uses value 77");
  expect(
      [](Replacement& r) {
        auto sin = r.add(primitive("sin"), {ValueId{0}});
        return Values{Replacement::result_of(sin, 3)};
      },
      "uses result 3 of its instruction 0");
  expect([](Replacement& r) { return Values{r.add(primitive("add"), {ValueId{0}, ValueId{1}})}; },
         "dtypes");
  expect([](Replacement&) -> Values { throw ValueError("no way"); }, "no way");
  std::string sizes =
      refusal("func @main(%x: f32[4]) -> () { <k> %i = nonzero %x\n return }",
              {rule("nonzero", [](const Candidate& candidate) -> std::optional<Replacement> {
                Replacement replacement;
                replacement.give({candidate.instruction.operands[0]});
                return replacement;
              })});
  EXPECT_NE(sizes.find("returns 0 sizes instead of 1"), std::string::npos) << sizes;
}

TEST_F(Rewriting, OneFunction) {
  Program program = Program::parse(kRewrittenProgram);
  Rewriter rewriter({parse_rule("negate(?x) => exp(?x)")});
  auto function = rewriter.rewrite(program.entry(), declarations_of(program));
  EXPECT_EQ(function->instruction(0).primitive().name, "exp");
  EXPECT_EQ(program.entry().instruction(0).primitive().name, "negate");
}

}  // namespace
}  // namespace plait::ir
