#include "plait/ir/analysis/effect_analysis.h"

#include <gtest/gtest.h>

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class EffectsOf : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }

  void analyse(std::string_view text) {
    analysis = std::make_unique<EffectAnalysis>(Program::parse(text));
  }
  Effects of(std::string_view name) const {
    return analysis->of(analysis->program().index_of(name));
  }
  Effects of(std::string_view name, size_t instruction) const {
    size_t function = analysis->program().index_of(name);
    return analysis->of(function, analysis->program().function(function).instruction(instruction));
  }

  std::unique_ptr<EffectAnalysis> analysis;
};

TEST_F(EffectsOf, InstructionsAndTheFunctionsThatHoldThem) {
  analyse(R"(
func @main(%x: f32[]) -> (f32[]) {
  %0 = add %x, %x
  %1 = call @noisy(%0)
  return %1
}
func @noisy(%x: f32[]) -> (f32[]) {
  print %x
  %o = present %x
  %y = unwrap %o
  return %y
}
func @quiet(%x: f32[]) -> (f32[]) {
  %y = add %x, %x
  return %y
}
)");
  EXPECT_TRUE(of("main", 0).pure());
  EXPECT_EQ(of("noisy", 0), (Effects{.observable = true}));
  EXPECT_EQ(of("noisy", 2), (Effects{.may_fail = true}));
  EXPECT_EQ(of("main", 1), (Effects{.observable = true, .may_fail = true}));
  EXPECT_EQ(of("main"), of("noisy"));
  EXPECT_TRUE(of("quiet").pure());
}

// Whichever of the functions prints.
TEST_F(EffectsOf, FunctionsThatCallOneAnother) {
  for (std::string printing : {"a", "b", "c"}) {
    std::string text = R"(
func @main(%x: f32[]) -> (f32[]) {
  %0 = call @a(%x)
  return %0
}
func @silent(%x: f32[]) -> (f32[]) {
  %0 = call @silent(%x)
  return %0
}
)";
    for (auto [name, next] : {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "a")})
      text +=
          fmt::format("func @{}(%x: f32[]) -> (f32[]) {{\n{}\n%0 = call @{}(%x)\nreturn %0\n}}\n",
                      name, name == printing ? "print %x" : "", next);
    analyse(text);
    for (auto name : {"main", "a", "b", "c"}) EXPECT_TRUE(of(name).observable) << name;
    EXPECT_TRUE(of("silent").pure());
  }
}

TEST_F(EffectsOf, OnlyWhatRunsCounts) {
  analyse(R"(
func @main(%x: f32[]) -> (f32[]) {
  %0 = custom_vjp @f, @forward, @backward(%x)
  return %0
}
func @f(%x: f32[]) -> (f32[]) { return %x }
func @forward(%x: f32[]) -> (f32[], f32[]) {
  print %x
  return %x, %x
}
func @backward(%r: f32[], %d: f32[]) -> (f32[]) {
  print %d
  return %d
}
)");
  EXPECT_TRUE(of("main", 0).pure());
  EXPECT_TRUE(of("forward").observable);
}

constexpr std::string_view kGuardsInBranches = R"(
func @main(%x: f32[]^{data}, %p: bool[]^{data}, %q: bool[]) -> () over {data: 4, model: 2} {
  %s = all_reduce_sum %x {axes = {data}}
  guard %q
  guard %p
  cond @checks, @skips(%p, %q)
  cond @checks, @skips(%q, %q)
  cond @prints, @skips(%p, %q)
  call @outer(%p, %q)
  return
}
func @checks(%q: bool[]) -> () {
  guard %q
  return
}
func @skips(%q: bool[]) -> () { return }
func @prints(%q: bool[]) -> () {
  print %q
  return
}
func @outer(%p: bool[]^{data}, %q: bool[]) -> () over {data: 4} {
  cond @inner, @skips(%p, %q)
  return
}
func @inner(%q: bool[]) -> () {
  call @checks(%q)
  return
}
)";

TEST_F(EffectsOf, GuardsAndWhatDecidesWhetherTheyRun) {
  analyse(kGuardsInBranches);
  AxisSet none, data{"data"};
  EXPECT_EQ(of("main", 1).guarded, none);
  EXPECT_EQ(of("main", 2).guarded, data);
  EXPECT_EQ(of("main", 3).guarded, data) << "the guard runs where %p says so";
  EXPECT_EQ(of("main", 4).guarded, none);
  EXPECT_EQ(of("main", 5).guarded, none) << "printing ends nothing";
  EXPECT_EQ(of("main", 6).guarded, data);
  EXPECT_EQ(of("inner").guarded, none);
  EXPECT_EQ(of("main", 0).collective, data);
  EXPECT_FALSE(of("main", 0).removable());
  EXPECT_EQ(of("main").guarded, data);
}

TEST_F(EffectsOf, DecidingAxes) {
  analyse(R"(
func @main(%p: bool[]^{data}, %i: i64[]^{model}, %x: f32[]^{data, model}) -> () over {data: 4, model: 2} {
  %0 = cond @same, @same(%p, %x)
  %1 = switch @same, @same(%i, %x)
  %2 = while @test, @same(%x)
  %3 = call @same(%x)
  return
}
func @same(%x: f32[]^{data, model}) -> (f32[]^{data, model}) over {data: 4, model: 2} { return %x }
func @test(%x: f32[]^{data, model}) -> (bool[]^{data, model}) over {data: 4, model: 2} {
  %0 = less %x, %x
  return %0
}
)");
  const Program& program = analysis->program();
  auto axes = [&](size_t i) {
    return deciding_axes(program, 0, program.entry().instruction(i)).text();
  };
  EXPECT_EQ(axes(0), "{data}");
  EXPECT_EQ(axes(1), "{model}");
  EXPECT_EQ(axes(2), "{data, model}");
  EXPECT_EQ(axes(3), "{}");
}

}  // namespace
}  // namespace plait::ir
