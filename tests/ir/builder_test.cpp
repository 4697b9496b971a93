#include "plait/ir/builder.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

const Type kF32 = Type::scalar(DType::f32);

class Builder : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
  ProgramBuilder program;
};

TEST_F(Builder, BuildsWhatItPrints) {
  FunctionBuilder f = program.function("main");
  Dim n = f.size_parameter("n");
  f.require(SizeFact{1, SizeFact::less_equal, n});
  ValueId x = f.parameter(Type::array(DType::f32, {n}), "x");
  ValueId y = f.add("add", {x, x});
  f.label(y, "twice");
  program.add(f.finish({y}));
  EXPECT_EQ(program.finish().text(),
            "plait 1\n\n"
            "func @main<n>(%x: f32[n]) -> (f32[n]) where 1 <= n {\n"
            "  %twice = add %x, %x : f32[n]\n"
            "  return %twice\n"
            "}\n");
}

TEST_F(Builder, RefusesWhatDoesNotFitWhereItIsMade) {
  FunctionBuilder f = program.function("main");
  ValueId x = f.parameter(kF32, "x"), p = f.parameter(Type::scalar(DType::boolean), "p");
  size_t before = f.so_far().size();
  EXPECT_THROW(f.add("add", {x, p}), TypeError);
  EXPECT_THROW(f.add("add", {x}), TypeError);
  EXPECT_THROW(f.add("add", {x, 99}), ValueError);
  EXPECT_THROW(f.add("ad", {x, x}), KeyError);
  EXPECT_THROW(f.add("add", {x, x}, Attributes::of(GuardAttributes{})), TypeError);
  EXPECT_THROW(f.call("nowhere", {x}), KeyError);
  EXPECT_EQ(f.so_far().size(), before);
  EXPECT_THROW(f.parameter(Type(), "none"), TypeError);
  f.add("add", {x, x});
  EXPECT_THROW(f.parameter(kF32, "late"), ValueError);
  EXPECT_THROW(f.finish({42}), ValueError);
}

TEST_F(Builder, NearMissesAreNamed) {
  try {
    primitive("subtrct");
    FAIL();
  } catch (const KeyError& error) {
    EXPECT_NE(error.hint().find("subtract"), std::string::npos) << error.what();
  }
}

TEST_F(Builder, LabelsAndSizesAreMadeUnique) {
  FunctionBuilder f = program.function("main");
  ValueId a = f.parameter(kF32, "a b"), b = f.parameter(kF32, "a b"), c = f.parameter(kF32, "7");
  EXPECT_EQ(f.so_far().label(a), "a_b");
  EXPECT_EQ(f.so_far().label(b), "a_b.1");
  EXPECT_EQ(f.so_far().label(c), "_7");
  f.size_parameter("n");
  EXPECT_THROW(f.size_parameter("n"), ValueError);
  EXPECT_EQ(f.fresh_size("n").text(), "n.1");
}

TEST_F(Builder, DataDependentSizesOfResultsBecomeResultSizes) {
  FunctionBuilder f = program.function("main");
  ValueId count = f.parameter(Type::scalar(DType::i64), "count");
  ValueId x = f.parameter(Type::array(DType::f32, {5}), "x");
  Added counted = f.add("as_size", {count});
  Dim k = f.so_far().instruction(counted.instruction).size_results()[0];
  Type refined = Type::array(DType::f32, {k});
  ValueId y = f.add({.primitive = primitive(Structure::refine),
                     .operands = {&x, 1},
                     .stated_types = {&refined, 1}});
  auto function = f.finish({y});
  ASSERT_EQ(function->signature().result_sizes.size(), 1u);
  EXPECT_EQ(function->signature().result_sizes[0], k);
  program.add(function);
  verify(program.finish());
}

TEST_F(Builder, DeclaredSignaturesAreHeldTo) {
  Signature signature{.parameters = {kF32}, .results = {kF32}};
  program.declare("f", signature);
  FunctionBuilder wrong = program.function("f");
  wrong.declare(signature);
  ValueId twice = wrong.add("tuple", {0, 0});
  EXPECT_THROW(wrong.finish({twice}), TypeError);
  EXPECT_THROW(wrong.finish({}), TypeError);
  Signature other{.parameters = {}, .results = {kF32}};
  EXPECT_THROW(program.declare("f", other), CompileError);
}

TEST_F(Builder, RecursionNeedsOnlyADeclaration) {
  program.declare("f", {.parameters = {kF32}, .results = {kF32}});
  FunctionBuilder f = program.function("f");
  f.declare(*program.declarations().find_function("f"), std::vector<std::string>{"x"});
  ValueId again = f.call("f", {0});
  program.add(f.finish({again}));
  Program built = program.finish();
  verify(built);
  Instruction call = built.entry().instruction(0);
  EXPECT_EQ(built.callees_of(0, call)[0], 0u);
}

TEST(Programs, NamesAreUniqueAndCalleesThere) {
  register_scalar_ops();
  ProgramBuilder builder;
  FunctionBuilder f = builder.function("f");
  auto function = f.finish({f.parameter(kF32)});
  EXPECT_THROW(Program::of({function, function}), CompileError);
  builder.declare("g", {.parameters = {kF32}, .results = {kF32}});
  FunctionBuilder h = builder.function("h");
  ValueId x = h.parameter(kF32);
  auto caller = h.finish({h.call("g", {x})});
  EXPECT_THROW(Program::of({caller}), CompileError);
  EXPECT_THROW((void)Program().entry(), ValueError);
  EXPECT_THROW((void)Program::of({function}).function("g"), KeyError);
  EXPECT_EQ(Program::of({function}).find("g"), nullptr);
}

TEST(Primitives, NamesAreTakenOnce) {
  EXPECT_THROW(register_primitive({.name = "call"}), ValueError);
  EXPECT_THROW(primitive(Structure::machine), ValueError);
  EXPECT_EQ(&primitive("while"), &primitive(Structure::while_));
}

}  // namespace
}  // namespace plait::ir
