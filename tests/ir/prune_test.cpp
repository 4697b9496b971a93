#include "plait/ir/rewriting/prune.h"

#include <gtest/gtest.h>

#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"
#include "plait/ir/text/graph.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class Pruned : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }

  // The names of the remaining primitives, in order.
  static std::string kept(std::string_view text) {
    Program pruned = prune(Program::parse(text));
    verify(pruned, "prune");
    std::string names;
    for (const auto& function : pruned.functions()) {
      names += "@" + function->name() + ":";
      for (Instruction instruction : function->instructions())
        names += " " + instruction.primitive().name;
      names += "\n";
    }
    return names;
  }
};

TEST_F(Pruned, DropsUnusedInstructions) {
  EXPECT_EQ(kept(R"(
func @main(%x: f32[]) -> (f32[]) {
  %a = exp %x
  %b = sin %a
  %c = cos %a
  %d = negate %b
  return %c
}
)"),
            "@main: exp cos\n");
}

TEST_F(Pruned, KeepsObservableAndCollectiveInstructions) {
  EXPECT_EQ(kept(R"(
func @main(%x: f32[]^{data}, %p: bool[]) -> () over {data: 2} {
  %a = exp %x
  print %a
  %t = tick
  guard %p
  size_guard {fact = 1 == 1}
  %s = all_reduce_sum %x {axes = {data}}
  %n = negate %s
  %o = present %s
  %u = unwrap %o
  return
}
)"),
            "@main: exp print tick guard size_guard all_reduce_sum\n");
}

TEST_F(Pruned, CallsGoByWhatTheyDo) {
  EXPECT_EQ(kept(R"(
func @main(%x: f32[]) -> (f32[]) {
  %a = call @pure(%x)
  %b = call @noisy(%x)
  %c = call @loops(%x)
  return %x
}
func @pure(%x: f32[]) -> (f32[]) {
  %y = exp %x
  return %y
}
func @noisy(%x: f32[]) -> (f32[]) {
  %0 = call @deep(%x)
  return %0
}
func @deep(%x: f32[]) -> (f32[]) {
  %y = exp %x
  print %x
  return %x
}
func @loops(%x: f32[]) -> (f32[]) {
  %0 = call @loops(%x)
  return %0
}
)"),
            "@main: call\n@noisy: call\n@deep: print\n");
}

TEST_F(Pruned, SizesThatAreUsedKeepWhatBearsThem) {
  constexpr std::string_view body = R"(
func @main(%x: f32[4], %y: f32[4]) -> {} {{
  <k> %i = nonzero %x
  <j> %u = nonzero %y
  {}
}}
func @sized<n>() -> (i64[]) {{
  %0 = size {{value = n}}
  return %0
}}
)";
  auto with = [&](std::string_view results, std::string_view end) {
    return kept(fmt::format(body, results, end));
  };
  EXPECT_EQ(with("(i64[])", "%s = size {value = k + 1}\nreturn %s"), "@main: nonzero size\n");
  EXPECT_EQ(with("(i64[])", "%s = call @sized<k>()\nreturn %s"),
            "@main: nonzero call\n@sized: size\n");
  EXPECT_EQ(with("<m> (f32[m])", "%s = refine %x : f32[k]\nreturn <k> %s"),
            "@main: nonzero refine\n");
  EXPECT_EQ(with("(f32[])", "%r = refine %x : f32[k]\n%s = sum %r\nreturn %s"),
            "@main: nonzero refine sum\n");
  EXPECT_EQ(with("<m> ()", "return <k>"), "@main: nonzero\n");
  EXPECT_EQ(with("(i64[])", "%l = literal {value = i64[](1)}\nreturn %l"), "@main: literal\n");
}

TEST_F(Pruned, NothingToDoSharesTheFunction) {
  Program program = Program::parse("func @main(%x: f32[]) -> (f32[]) { %y = exp %x return %y }");
  Program pruned = prune(program);
  EXPECT_EQ(pruned.functions()[0], program.functions()[0]);
  EXPECT_TRUE(prune(Program()).empty());
}

TEST_F(Pruned, NamesAndPlacesStay) {
  Program program = Program::parse(R"(
func @main(%x: f32[]) -> (f32[]) {  ; model.cpp:1
  %a = exp %x                       ; model.cpp:2
  %b = sin %x                       ; model.cpp:3
  return %b
}
)");
  EXPECT_EQ(prune(program).text(), Program::parse(R"(
func @main(%x: f32[]) -> (f32[]) {  ; model.cpp:1
  %b = sin %x                       ; model.cpp:3
  return %b
}
)")
                                       .text());
}

TEST(Drawing, HasABoxForEachFunctionAndAnArrowForEachUse) {
  register_scalar_ops();
  EXPECT_EQ(dot(Program::parse(R"(
func @main(%x: f32[]) -> (f32[]) {
  %a = add %x, %x
  %b = call @next(%a)
  return %b
}
func @next(%y: f32[]) -> (f32[]) { return %y }
)")),
            R"(digraph program {
  compound=true; node [shape=box, fontname="monospace"]; edge [fontname="monospace"];
  subgraph cluster_0 {
    label="@main";
    f0_begin [shape=point, style=invis];
    f0_p0 [label="%x", shape=ellipse];
    f0_0 [label="add"];
    f0_p0 -> f0_0 [label="f32[]"];
    f0_p0 -> f0_0 [label="f32[]"];
    f0_1 [label="call"];
    f0_0 -> f0_1 [label="f32[]"];
    f0_return [label="return", shape=ellipse];
    f0_1 -> f0_return [label="f32[]"];
  }
  subgraph cluster_1 {
    label="@next";
    f1_begin [shape=point, style=invis];
    f1_p0 [label="%y", shape=ellipse];
    f1_return [label="return", shape=ellipse];
    f1_p0 -> f1_return [label="f32[]"];
  }
  f0_1 -> f1_begin [lhead=cluster_1, style=dashed];
}
)");
}

}  // namespace
}  // namespace plait::ir
