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

// The rows are added in a branch.
bool is_rewritten(const ir::Program& program) {
  for (const ir::Instruction each : program.entry().instructions()) {
    if (each.primitive().structure == ir::Structure::cond) return true;
  }
  return false;
}
void expect_same(const ir::Program& program, const Tensors& given) {
  expect_as_good_as_same("rewritten", evaluate(with_row_updates(program), given),
                         evaluate(program, given), 1e-6);
  expect_as_evaluated(program, given, 1e-6);
}

constexpr std::string_view kDescent = "%c = multiply %ss, %g\n %r = subtract %p, %c";
constexpr std::string_view kDecayed =
    "%w = multiply %dd, %finite\n %h = add %g, %w\n %c = multiply %ss, %h\n %r = subtract %p, %c";

TEST(RowUpdates, SumsThatAreAddedToATableAreAddedToItsRows) {
  for (const std::string_view rest : {
           kDescent,
           std::string_view("%c = divide %g, %ss\n %n = negative %c\n %r = add %n, %p"),
           std::string_view("%c = multiply %g, %ss\n %d2 = multiply %dd, %c\n %r = add %d2, %p"),
           std::string_view("%c = subtract %p, %g\n %e = multiply %ss, %c\n %r = negative %e"),
           std::string_view("%c = add %g, %p\n %r = subtract %finite, %c"),
           std::string_view("%r = subtract %p, %g"),
       }) {
    const ir::Program program = step(rest);
    EXPECT_TRUE(is_rewritten(with_row_updates(program))) << rest;
    expect_same(program, arguments(0.5));
  }
}

TEST(RowUpdates, ADecayOfZeroLeavesTheOtherRows) {
  for (const std::string_view dtype : {"f32", "f64"}) {
    const ir::Program program = step(kDecayed, dtype);
    EXPECT_TRUE(is_rewritten(with_row_updates(program)));
    for (const float decay : {0.F, -0.F, 0.5F, NAN, INFINITY}) {
      expect_same(program, arguments(decay, *parse_dtype(dtype)));
    }
  }
}

// Where 0 times a number is not 0, all rows change. Scales are not multiplied with each other.
TEST(RowUpdates, NumbersThatAreNotFiniteReachAllRows) {
  constexpr std::string_view kDivided = "%c = divide %g, %ss\n %r = subtract %p, %c";
  constexpr std::string_view kTwice =
      "%c = multiply %ss, %g\n %e = multiply %dd, %c\n %r = subtract %p, %e";
  for (const std::string_view rest : {kDescent, kDecayed, kDivided, kTwice}) {
    const ir::Program program = step(rest);
    for (const float scale : {NAN, INFINITY, -INFINITY, 0.F, 1e-39F, 1e38F}) {
      for (const float decay : {0.F, 1e30F, INFINITY}) {
        Tensors given = arguments(decay);
        given[3] = full({}, scale, DType::f32);
        for (const double update : {1., 1e-30}) {
          given[1] = full({5, 3}, update, DType::f32);
          expect_same(program, given);
        }
      }
    }
  }
}

TEST(RowUpdates, NumbersOfATableThatAreNotFiniteStay) {
  const ir::Program program = step(kDecayed);
  for (const float number : {NAN, INFINITY, -INFINITY, 1e30F}) {
    for (const float decay : {0.F, 0.5F}) {
      Tensors given = arguments(decay);
      given[0] = where(reshape(iota(120), {40, 3}) == 5, number, given[0]);
      expect_same(program, given);
    }
  }
}

TEST(RowUpdates, NumbersOfRowsMayBeSymbolicAndUpdatesViews) {
  const ir::Program program = parsed(R"(
    func @main<n>(%p: f32[400, 3], %u: f32[n, 3], %at: i64[n, 2], %s: f32[]) -> (f32[400, 3]) {
      %zero = literal {value = f32[](0)}
      %zeros = broadcast %zero {sizes = [400, 3]}
      %e = multiply %u, %u
      %f = reshape %e {sizes = [n, 1, 3]}
      %v = broadcast %f {sizes = [n, 2, 3]}
      %g = scatter_add %zeros, %v, %at {axes = [0]}
      %ss = broadcast %s {sizes = [400, 3]}
      %c = multiply %ss, %g
      %r = subtract %p, %c
      return %r
    })");
  EXPECT_TRUE(is_rewritten(with_row_updates(program)));
  for (const int64_t n : {0, 1, 5, 70}) {
    expect_as_evaluated(program,
                        {numbers({400, 3}, 1), numbers({n, 3}, 2), reshape(iota(2 * n), {n, 2}),
                         full({}, 0.5, DType::f32)},
                        1e-6);
  }
}

// The rows are added to a part of the sum.
TEST(RowUpdates, ValuesThatDoNotVanishAreComputed) {
  for (const std::string_view rest : {
           // 0 · infinity
           std::string_view("%w = multiply %dd, %p\n %h = add %g, %w\n %r = subtract %p, %h"),
           // Two numbers would have to be 0.
           std::string_view("%w = multiply %dd, %finite\n %v = multiply %ss, %finite\n "
                            "%h = add %g, %w\n %i = add %h, %v\n %r = subtract %p, %i"),
           // A NaN would come from another array.
           std::string_view("%q = sqrt %p\n %f = clamp %lows, %q, %highs\n "
                            "%w = multiply %dd, %f\n %h = add %g, %w\n %r = subtract %p, %h"),
       }) {
    for (const float decay : {0.F, 0.5F}) {
      Tensors given = arguments(decay);
      given[0] = where(reshape(iota(120), {40, 3}) == 5, INFINITY, given[0]);
      expect_same(step(rest), given);
    }
  }
}

TEST(RowUpdates, OthersStay) {
  const auto stays = [](const ir::Program& program) {
    EXPECT_EQ(with_row_updates(program).text(), program.text());
    for (const float decay : {0.F, 0.5F}) {
      const auto& types = program.entry().signature().parameters;
      const bool fits = types.size() == 5 && types[1].text() == "f32[5, 3]";
      if (fits) expect_as_evaluated(program, arguments(decay), 1e-6);
    }
  };
  stays(step("%r = multiply %ss, %g"));                            // added to nothing
  stays(step("%r = multiply %p, %g"));                             // scaled by row
  stays(step("%c = divide %ss, %g\n %r = add %c, %p"));            // not linear
  stays(step("%c = multiply %g, %g\n %r = add %c, %p"));           // read twice
  stays(step("%c = add %g, %p\n %e = exp %g\n %r = add %c, %e"));  // read by two
  stays(step("%r = subtract %g, %p"));                             // the table is negated
  stays(step(kDescent, "f32", 40, "25"));                          // many updates
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
