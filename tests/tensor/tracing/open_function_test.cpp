// Traces record into these: a function, and the program that nested traces share.
#include "plait/tensor/inside/tracing/open_function.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/structure.h"

namespace plait {
namespace {

const ir::Type kRow = ir::Type::array(DType::f32, {2});

Tensor zeros_here() { return Tensor(Array::filled(DType::f32, {2}, Element::of_signed(0))); }

void use(OpenFunction& function, Dim size) {
  function.builder().add(ir::primitive(ir::Structure::size), {},
                         ir::Attributes::of(ir::SizeAttributes{size, DType::i64}));
}

std::vector<std::string> texts(std::span<const Dim> sizes) {
  std::vector<std::string> all;
  for (const Dim size : sizes) all.push_back(size.text());
  return all;
}

using Texts = std::vector<std::string>;

TEST(OpenFunction, CapturesBecomeParametersAfterItsOwn) {
  OpenFunction function("f", std::make_shared<TraceProgram>(), nullptr);
  const ir::ValueId x = function.builder().parameter(kRow);
  const Tensor outside = zeros_here();
  const ir::ValueId captured = function.capture(outside.identity(), outside);
  EXPECT_EQ(function.captures().find(outside.identity()), captured);
  EXPECT_EQ(function.captures().find_equal(zeros_here()), captured);
  const std::vector<ir::ValueId> results{captured, x};
  const RecordedFunction recorded = function.finish(results, {});
  EXPECT_EQ(recorded.function->parameter_count(), 2u);
  EXPECT_EQ(recorded.function->results()[0], 1u);
  EXPECT_EQ(recorded.function->results()[1], 0u);
  ASSERT_EQ(recorded.captures.size(), 1u);
  EXPECT_EQ(recorded.captures[0].identity(), outside.identity());
  EXPECT_EQ(recorded.values[captured], 1u);
}

TEST(OpenFunction, DeclaresEachSizeOnce) {
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  OpenFunction function("f", std::make_shared<TraceProgram>(), nullptr);
  function.declare_sizes(ir::Type::array(DType::f32, {n, n + m}));
  function.declare_sizes(ir::Type::array(DType::f32, {m}));
  EXPECT_EQ(texts(function.sizes().parameters()), (Texts{"n", "m"}));
  EXPECT_THROW(function.declare_size(n), ValueError);
  EXPECT_EQ(function.fresh_size("n").text(), "n.1");
  EXPECT_FALSE(function.has_dimension(n));
  function.builder().parameter(ir::Type::array(DType::f32, {n, n + m}));
  EXPECT_TRUE(function.has_dimension(n));
  EXPECT_FALSE(function.has_dimension(m));
}

TEST(OpenFunction, FindsSizesOfEnclosingFunctions) {
  const auto program = std::make_shared<TraceProgram>();
  OpenFunction outer("f", program, nullptr);
  outer.declare_size(Dim::symbol("n"));
  OpenFunction inner("g", program, &outer);
  inner.declare_size(Dim::symbol("own"));
  for (const char* name : {"n", "own", "other", "n"}) use(inner, Dim::symbol(name));
  EXPECT_EQ(texts(inner.undeclared_sizes()), (Texts{"n", "other"}));
  EXPECT_EQ(texts(inner.outer_sizes()), (Texts{"n"}));
  EXPECT_EQ(inner.fresh_size("n").text(), "n.1");
}

TEST(OpenFunction, BeginsAnotherAfterItsEnd) {
  const auto program = std::make_shared<TraceProgram>();
  OpenFunction function("f", program, nullptr);
  const Tensor outside = zeros_here();
  function.declare_size(Dim::symbol("n"));
  const std::vector<ir::ValueId> results{function.capture(outside.identity(), outside)};
  function.finish(results, {});
  function.begin_next();
  EXPECT_EQ(function.so_far().size(), 0u);
  EXPECT_TRUE(function.captures().empty());
  EXPECT_FALSE(function.captures().find(outside.identity()).has_value());
  EXPECT_TRUE(function.sizes().parameters().empty());
  function.begin_in_new_program();
  EXPECT_NE(function.program(), program);
  EXPECT_EQ(program->free_name("f"), "f");
  EXPECT_EQ(function.program()->free_name("f"), "f.1");
}

TEST(TraceProgram, NamesOfOpenFunctionsAreTaken) {
  const auto program = std::make_shared<TraceProgram>();
  EXPECT_EQ(program->free_name("f"), "f");
  {
    const OpenFunction function("f", program, nullptr);
    EXPECT_EQ(program->free_name("f"), "f.1");
    const OpenFunction nested("f.1", program, &function);
    EXPECT_EQ(program->free_name("f"), "f.2");
    EXPECT_EQ(program->free_name("g"), "g");
  }
  EXPECT_EQ(program->free_name("f"), "f");
  program->declare("f", ir::Signature{});
  EXPECT_EQ(program->free_name("f"), "f.1");
}

TEST(TraceProgram, AnUnfinishedFunctionMayHaveEffects) {
  const auto program = std::make_shared<TraceProgram>();
  program->declare("g", ir::Signature{});
  OpenFunction function("f", program, nullptr);
  use(function, 2);
  function.builder().call("g", {});
  EXPECT_FALSE(program->has_effects(function.so_far().instruction(0)));
  EXPECT_TRUE(program->has_effects(function.so_far().instruction(1)));
  program->builder().add(program->builder().function("g").finish({}));
  EXPECT_FALSE(program->has_effects(function.so_far().instruction(1)));
}

}  // namespace
}  // namespace plait
