// Products in the rounds of scans, and those that are computed outside of them for all rounds.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/pass.h"
#include "plait/ir/structure.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

struct InAndOut {
  size_t outside, inside;
  friend bool operator==(const InAndOut&, const InAndOut&) = default;
};
void PrintTo(const InAndOut& counts, std::ostream* out) {
  *out << counts.outside << " outside, " << counts.inside << " inside";
}
InAndOut counts_of(const ir::Program& program, std::string_view primitive) {
  InAndOut counts{0, 0};
  for (const auto& function : program.functions()) {
    for (const ir::Instruction instruction : function->instructions()) {
      if (instruction.primitive().name != primitive) continue;
      ++(function.get() == &program.entry() ? counts.outside : counts.inside);
    }
  }
  return counts;
}

ir::ScanAttributes scan_of(const ir::Program& program) {
  for (const ir::Instruction instruction : program.entry().instructions()) {
    if (instruction.primitive().structure == ir::Structure::scan) {
      return instruction.attributes_as<ir::ScanAttributes>();
    }
  }
  return {};
}

// x[t] · W + h · U, and the pullback of a sum over rounds of such a product.
ir::Program recurrent(std::string_view order) {
  return parsed(fmt::format(R"(
    func @main<n>(%w: f32[16, 24], %u: f32[24, 24], %h: f32[4, 24], %xs: f32[n, 4, 16]) -> (f32[4, 24], f32[n, 4, 24]) {{
      %last, %all = scan @step(%w, %u, %h, %xs) {{constants = 2, carries = 1, length = n, reverse = {}}}
      return %last, %all
    }}
    func @step(%w: f32[16, 24], %u: f32[24, 24], %h: f32[4, 24], %x: f32[4, 16]) -> (f32[4, 24], f32[4, 24]) {{
      %0 = matmul %x, %w
      %1 = matmul %h, %u
      %2 = add %0, %1
      %3 = tanh %2
      return %3, %3
    }})",
                            order));
}

TEST(Fission, ProductsOfSlicesAreOneBeforeTheLoop) {
  for (const std::string_view order : {"false", "true"}) {
    const ir::Program program = with_fission(recurrent(order));
    EXPECT_EQ(counts_of(program, "matmul"), (InAndOut{1, 1}));
    for (const int64_t length : {0, 1, 5}) {
      expect_as_evaluated(recurrent(order),
                          {numbers({16, 24}, 1), numbers({24, 24}, 2), numbers({4, 24}, 3),
                           numbers({length, 4, 16}, 4)},
                          1e-5);
    }
  }
}

// Accumulates the gradients of a weight and of a bias; the results of rounds are one factor.
ir::Program gradients(std::string_view order) {
  return parsed(fmt::format(R"(
    func @main(%dw: f32[16, 24], %db: f32[24], %c: f32[4, 24], %xs: f32[5, 4, 16], %ys: f32[5, 4, 24]) -> (f32[16, 24], f32[24], f32[4, 24], f32[5, 4, 24]) {{
      %a, %b, %last, %all = scan @pull(%dw, %db, %c, %xs, %ys) {{constants = 0, carries = 3, length = 5, reverse = {}}}
      return %a, %b, %last, %all
    }}
    func @pull(%dw: f32[16, 24], %db: f32[24], %c: f32[4, 24], %x: f32[4, 16], %y: f32[4, 24]) -> (f32[16, 24], f32[24], f32[4, 24], f32[4, 24]) {{
      %sum = add %c, %y
      %dy = tanh %sum
      %t = permute %dy {{axes = [1, 0]}}
      %0 = matmul %t, %x
      %1 = permute %0 {{axes = [1, 0]}}
      %2 = add %1, %dw
      %3 = reduce_sum %dy {{axes = [0]}}
      %4 = add %db, %3
      return %2, %4, %dy, %dy
    }})",
                            order));
}

TEST(Fission, AccumulatedProductsAreOneAfterTheLoop) {
  for (const std::string_view order : {"false", "true"}) {
    const ir::Program program = with_fission(gradients(order));
    EXPECT_EQ(counts_of(program, "matmul"), (InAndOut{1, 0}));
    EXPECT_EQ(counts_of(program, "reduce_sum"), (InAndOut{1, 0}));
    EXPECT_EQ(scan_of(program).carries, 1);
    expect_as_evaluated(gradients(order),
                        {numbers({16, 24}, 1), numbers({24}, 2), numbers({4, 24}, 3),
                         numbers({5, 4, 16}, 4), numbers({5, 4, 24}, 5)},
                        1e-5);
  }
}

// Two products, one of a value that no result has yet, and an addend that stays.
ir::Program several_addends() {
  return parsed(R"(
    func @main<m>(%w: f32[160, 160], %dw: f32[160, 160], %c: f32[m, 160], %xs: f32[3, m, 160]) -> (f32[160, 160], f32[m, 160]) {
      %a, %last = scan @body<m>(%w, %dw, %c, %xs) {constants = 1, carries = 2, length = 3}
      return %a, %last
    }
    func @body<k>(%w: f32[160, 160], %dw: f32[160, 160], %c: f32[k, 160], %x: f32[k, 160]) -> (f32[160, 160], f32[k, 160]) {
      %0 = multiply %c, %x
      %1 = sin %0
      %xt = permute %x {axes = [1, 0]}
      %ct = permute %c {axes = [1, 0]}
      %2 = matmul %xt, %1
      %3 = matmul %ct, %1
      %4 = exp %w
      %5 = add %2, %dw
      %6 = add %4, %3
      %7 = add %5, %6
      return %7, %1
    })");
}

TEST(Fission, EachAddendOfACarry) {
  const ir::Program program = with_fission(several_addends());
  EXPECT_EQ(counts_of(program, "matmul"), (InAndOut{2, 0}));
  EXPECT_EQ(scan_of(program).carries, 2);
  expect_as_evaluated(several_addends(),
                      {numbers({160, 160}, 1), numbers({160, 160}, 2), numbers({2, 160}, 3),
                       numbers({3, 2, 160}, 4)},
                      1e-4);
}

ir::Program narrow_factors() {
  return parsed(R"(
    func @main(%dw: f32[32, 32], %xs: f32[6, 4, 32], %ys: bf16[6, 4, 32]) -> (f32[32, 32]) {
      %a = scan @body(%dw, %xs, %ys) {constants = 0, carries = 1, length = 6}
      return %a
    }
    func @body(%dw: f32[32, 32], %x: f32[4, 32], %y: bf16[4, 32]) -> (f32[32, 32]) {
      %0 = convert %x {dtype = bf16}
      %1 = permute %0 {axes = [1, 0]}
      %2 = matmul %1, %y
      %3 = convert %2 {dtype = f32}
      %4 = add %dw, %3
      return %4
    })");
}

// A sum of more precise numbers is not computed from a less precise sum.
TEST(Fission, KeepsThePrecisionOfSums) {
  const auto accumulating = [](std::string_view from, std::string_view to) {
    return parsed(fmt::format(R"(
      func @main(%c: {1}[32, 32], %xs: {0}[6, 4, 32]) -> ({1}[32, 32]) {{
        %a = scan @body(%c, %xs) {{constants = 0, carries = 1, length = 6}}
        return %a
      }}
      func @body(%c: {1}[32, 32], %x: {0}[4, 32]) -> ({1}[32, 32]) {{
        %0 = permute %x {{axes = [1, 0]}}
        %1 = matmul %0, %x
        %2 = convert %1 {{dtype = {1}}}
        %3 = add %c, %2
        return %3
      }})",
                              from, to));
  };
  const auto places = [&](std::string_view from, std::string_view to) {
    return counts_of(with_fission(accumulating(from, to)), "matmul");
  };
  EXPECT_EQ(places("f32", "f64"), (InAndOut{0, 1}));
  EXPECT_EQ(places("f16", "f32"), (InAndOut{0, 1}));
  EXPECT_EQ(places("i8", "i32"), (InAndOut{0, 1}));
  EXPECT_EQ(places("f32", "i32"), (InAndOut{0, 1}));
  EXPECT_EQ(places("f64", "f32"), (InAndOut{1, 0}));
  EXPECT_EQ(places("bf16", "f32"), (InAndOut{1, 0}));
}

TEST(Fission, ConvertsWholeStacks) {
  const ir::Program program = with_fission(narrow_factors());
  EXPECT_EQ(counts_of(program, "matmul"), (InAndOut{1, 0}));
  EXPECT_EQ(counts_of(program, "convert"), (InAndOut{2, 0}));
}

// The body of a scan with one carry, of type f32[32, 32], and slices x and y of `rows` rows.
ir::Program with_body(std::string_view lines, int rows = 4) {
  return parsed(fmt::format(R"(
    func @main(%c: f32[32, 32], %xs: f32[3, {0}, 32], %ys: f32[3, {0}, 32]) -> (f32[32, 32], f32[3, 32, 32]) {{
      %a, %all = scan @body(%c, %xs, %ys) {{constants = 0, carries = 1, length = 3}}
      return %a, %all
    }}
    func @body(%c: f32[32, 32], %x: f32[{0}, 32], %y: f32[{0}, 32]) -> (f32[32, 32], f32[32, 32]) {{
      %t = permute %x {{axes = [1, 0]}}
      %0 = matmul %t, %y
      {1}
    }})",
                            rows, lines));
}

TEST(Fission, LeavesCarriesThatRoundsRead) {
  const auto stays = [](std::string_view lines, int rows = 4) {
    const ir::Program program = with_fission(with_body(lines, rows));
    EXPECT_EQ(counts_of(program, "matmul"), (InAndOut{0, 1})) << lines;
    EXPECT_EQ(scan_of(program).carries, 1) << lines;
  };
  stays("%1 = add %c, %0 \n return %1, %1");                     // the sum after each round
  stays("%1 = add %c, %0 \n return %1, %c");                     // before each round
  stays("%1 = add %c, %0 \n %2 = tanh %1 \n return %2, %0");     // no sum
  stays("%1 = add %c, %c \n %2 = add %1, %0 \n return %2, %0");  // twice the carry
  stays("%1 = subtract %0, %c \n return %1, %0");
  stays("%1 = add %c, %0 \n return %1, %0", 200);  // as fast in each round
  const ir::Program goes = with_fission(
      with_body("%1 = add %c, %0 \n %2 = tanh %y \n %3 = matmul %t, %2 \n return %1, %3"));
  EXPECT_EQ(counts_of(goes, "matmul"), (InAndOut{1, 1}));
}

}  // namespace
}  // namespace plait::compile
