// Updates of the rows of a table, which are added to the table instead of being summed in a
// gradient of its size.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/pass.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/primitives.h"

#include "tests/compile/as_evaluated.h"
#include "tests/compile/passes_left_out.h"

namespace plait::compile {
namespace {

// The sum of 5 updates, %g, and what `rest` computes of it, the table %p and the numbers %s and %d.
ir::Program step(std::string_view rest, std::string_view dtype = "f32", int rows = 40,
                 std::string_view updates = "5") {
  std::string text = fmt::format(R"(
    func @main(%p: f32[{0}, 3], %u: f32[{1}, 3], %at: i64[{1}], %s: f32[], %d: f32[]) -> (f32[{0}, 3]) {{
      %zero = literal {{value = f32[](0)}}
      %zeros = broadcast %zero {{sizes = [{0}, 3]}}
      %g = scatter_add %zeros, %u, %at {{axes = [0]}}
      %ss = broadcast %s {{sizes = [{0}, 3]}}
      %dd = broadcast %d {{sizes = [{0}, 3]}}
      %least = literal {{value = f32[](-9)}}
      %most = literal {{value = f32[](9)}}
      %lows = broadcast %least {{sizes = [{0}, 3]}}
      %highs = broadcast %most {{sizes = [{0}, 3]}}
      %finite = clamp %lows, %p, %highs
      {2}
      return %r
    }})",
                                 rows, updates, rest);
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += dtype.size()) {
    text.replace(at, 3, dtype);
  }
  return parsed(text);
}

Tensors arguments(float decay, DType dtype = DType::f32) {
  const Tensor at = tensor<int64_t>({1, 7, 1, -1, 39});
  return {numbers({40, 3}, 1, dtype), numbers({5, 3}, 2, dtype), at, full({}, 0.25, dtype),
          full({}, decay, dtype)};
}

bool has_cond(const ir::Program& program) {
  for (const ir::Instruction each : program.entry().instructions()) {
    if (each.primitive().structure == ir::Structure::cond) return true;
  }
  return false;
}
// True if nothing is added to zeros.
bool is_rewritten(const ir::Program& program) {
  for (const ir::Instruction each : program.entry().instructions()) {
    if (&each.primitive() != &scatter_add_primitive()) continue;
    const auto to = program.entry().definition(each.operands()[0]);
    if (to && &to->primitive() == &broadcast_primitive()) return false;
  }
  return true;
}

constexpr std::string_view kDescent = "%c = multiply %ss, %g\n %r = subtract %p, %c";
constexpr std::string_view kDecayed =
    "%w = multiply %dd, %finite\n %h = add %g, %w\n %c = multiply %ss, %h\n %r = subtract %p, %c";

TEST(RowUpdates, WhatIsAddedToATableIsAddedToItsRows) {
  for (const std::string_view rest : {
           kDescent,
           std::string_view("%c = divide %g, %ss\n %n = negative %c\n %r = add %n, %p"),
           std::string_view("%c = subtract %g, %p\n %e = multiply %c, %ss\n %r = divide %e, %dd"),
           std::string_view("%c = subtract %p, %g\n %e = multiply %ss, %c\n %r = negative %e"),
           std::string_view("%c = add %g, %p\n %r = subtract %finite, %c"),
           std::string_view("%r = subtract %p, %g"),
       }) {
    const ir::Program program = step(rest);
    const ir::Program rewritten = with_row_updates(program);
    EXPECT_TRUE(is_rewritten(rewritten)) << rewritten.text();
    EXPECT_FALSE(has_cond(rewritten)) << rest;
    expect_as_good_as_same(std::string(rest).c_str(), evaluate(rewritten, arguments(0.5)),
                           evaluate(program, arguments(0.5)), 1e-6);
    expect_as_evaluated(program, arguments(0.5), 1e-6);
  }
}

TEST(RowUpdates, ADecayOfZeroLeavesTheOtherRows) {
  for (const std::string_view dtype : {"f32", "f64"}) {
    const ir::Program program = step(kDecayed, dtype);
    const ir::Program rewritten = with_row_updates(program);
    EXPECT_TRUE(is_rewritten(rewritten) && has_cond(rewritten)) << rewritten.text();
    for (const float decay : {0.F, -0.F, 0.5F, NAN}) {
      const Tensors given = arguments(decay, *parse_dtype(dtype));
      expect_as_good_as_same("rewritten", evaluate(rewritten, given), evaluate(program, given),
                             1e-6);
      expect_as_evaluated(program, given, 1e-6);
    }
  }
}

// 0 times infinity is NaN, and stays so.
TEST(RowUpdates, AFactorThatMayBeInfiniteIsMultiplied) {
  const ir::Program program = step(
      "%w = multiply %dd, %p\n %h = add %g, %w\n %c = multiply %ss, %h\n %r = subtract %p, %c");
  const ir::Program rewritten = with_row_updates(program);
  EXPECT_TRUE(is_rewritten(rewritten));
  EXPECT_FALSE(has_cond(rewritten));
  Tensors given = arguments(0);
  given[0] = where(reshape(iota(120), {40, 3}) == 5, INFINITY, given[0]);
  expect_as_evaluated(program, given, 1e-6);
}

TEST(RowUpdates, WhatIsNotZeroIsComputed) {
  // The value without the decay is subtracted from it; two numbers would have to be 0.
  for (const std::string_view rest : {
           std::string_view("%w = multiply %dd, %finite\n %h = subtract %p, %g\n "
                            "%r = subtract %w, %h"),
           std::string_view("%w = multiply %dd, %finite\n %v = multiply %ss, %finite\n "
                            "%h = add %g, %w\n %i = add %h, %v\n %r = subtract %p, %i"),
       }) {
    const ir::Program program = step(rest);
    EXPECT_FALSE(has_cond(with_row_updates(program))) << rest;
    for (const float decay : {0.F, 0.5F}) expect_as_evaluated(program, arguments(decay), 1e-6);
  }
}

TEST(RowUpdates, OthersStay) {
  const auto stays = [](const ir::Program& program) {
    EXPECT_EQ(with_row_updates(program).text(), program.text());
  };
  stays(step("%r = multiply %ss, %g"));                            // added to nothing
  stays(step("%r = multiply %p, %g"));                             // scaled by row
  stays(step("%c = divide %ss, %g\n %r = add %c, %p"));            // not linear
  stays(step("%c = multiply %g, %g\n %r = add %c, %p"));           // read twice
  stays(step("%c = add %g, %p\n %e = exp %g\n %r = add %c, %e"));  // read by two
  stays(step(kDescent, "f32", 40, "25"));                          // many updates
  stays(step(kDescent, "bf16"));
  stays(parsed(R"(
    func @main(%p: f32[40, 3], %u: f32[5, 3], %at: i64[5], %x: f32[40, 3]) -> (f32[40, 3]) {
      %g = scatter_add %x, %u, %at {axes = [0]}
      %r = subtract %p, %g
      return %r
    })"));
}

// A table that is donated is overwritten, by any branch.
TEST(RowUpdates, ADonatedTableIsChangedInPlace) {
  for (const std::string_view rest : {kDescent, kDecayed}) {
    const ir::Program program = step(rest);
    const Compiled compiled(program);
    for (const float decay : {0.F, 0.5F}) {
      Tensors given = arguments(decay);
      const Tensors wanted = evaluate(program, given);
      given[0] = given[0] + 0.;
      const void* const place = given[0].array().data();
      const Tensors got = CompiledAccess::run_donated(compiled, std::move(given), {});
      expect_as_good_as_same("donated", got, wanted, 1e-6);
      EXPECT_EQ(got[0].array().data(), place) << rest << ' ' << decay;
    }
  }
}

// An argument that is not donated is copied once.
TEST(RowUpdates, OtherTablesStayAsTheyAre) {
  const ir::Program program = step(kDecayed);
  for (const float decay : {0.F, 0.5F}) {
    const Tensors given = arguments(decay);
    const Tensor before = given[0] + 0.;
    expect_as_evaluated(program, given, 1e-6);
    expect_same_bits("the table", {given[0]}, {before});
  }
}

}  // namespace
}  // namespace plait::compile
