// Values that a loop computes in each round, and those that are computed before it.
#include <string>

#include <gtest/gtest.h>

#include "plait/compile/pass.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

size_t count_in(const ir::Program& program, std::string_view primitive, bool in_entry) {
  size_t count = 0;
  for (const auto& function : program.functions()) {
    if ((function.get() == &program.entry()) != in_entry) continue;
    for (const ir::Instruction instruction : function->instructions()) {
      count += instruction.primitive().name == primitive ? 1 : 0;
    }
  }
  return count;
}

struct Places {
  size_t before, within;
  friend bool operator==(const Places&, const Places&) = default;
};
Places places_of(const ir::Program& program, std::string_view primitive) {
  return {count_in(program, primitive, true), count_in(program, primitive, false)};
}
void PrintTo(const Places& places, std::ostream* out) {
  *out << places.before << " before, " << places.within << " within";
}

ir::Program rounded_weights() {
  return parsed(R"(
    func @main<n>(%w: f32[8, 8], %b: f32[8], %h: f32[4, 8], %xs: f32[n, 4, 8]) -> (f32[4, 8], f32[n, 4, 8]) {
      %last, %all = scan @step(%w, %b, %h, %xs) {constants = 2, carries = 1, length = n}
      return %last, %all
    }
    func @step(%w: f32[8, 8], %b: f32[8], %h: f32[4, 8], %x: f32[4, 8]) -> (f32[4, 8], f32[4, 8]) {
      %turned = permute %w {axes = [1, 0]}
      %narrow = convert %turned {dtype = bf16}
      %square = matmul %w, %w
      %both = matmul %x, %square
      %0 = convert %h {dtype = bf16}
      %1 = matmul %0, %narrow
      %2 = convert %1 {dtype = f32}
      %3 = sin %b
      %4 = broadcast %3 {sizes = [4, 8]}
      %5 = exp %4
      %6 = add %2, %5
      %7 = add %6, %both
      %8 = tanh %7
      return %8, %8
    })");
}

TEST(Hoist, WhatIsTheSameInAllRoundsIsComputedBefore) {
  const ir::Program program = hoisted(rounded_weights());
  EXPECT_EQ(places_of(program, "matmul"), (Places{1, 2}));
  EXPECT_EQ(places_of(program, "convert"), (Places{1, 2}));
  EXPECT_EQ(places_of(program, "permute"), (Places{1, 0}));
  EXPECT_EQ(places_of(program, "sin"), (Places{1, 0}));
  // Larger than what it is computed from.
  EXPECT_EQ(places_of(program, "exp"), (Places{0, 1}));
  expect_as_evaluated(
      rounded_weights(),
      {numbers({8, 8}, 1), numbers({8}, 2), numbers({4, 8}, 3), numbers({5, 4, 8}, 4)}, 1e-5);
}

ir::Program loop_in_a_loop() {
  return parsed(R"(
    func @main(%w: f32[8, 8], %xs: f32[3, 8, 8]) -> (f32[8, 8]) {
      %last = scan @outer(%w, %w, %xs) {constants = 1, carries = 1, length = 3}
      return %last
    }
    func @outer(%w: f32[8, 8], %c: f32[8, 8], %x: f32[8, 8]) -> (f32[8, 8]) {
      %last = while @test, @inner(%w, %x, %c) {constants = 2}
      return %last
    }
    func @test(%w: f32[8, 8], %x: f32[8, 8], %c: f32[8, 8]) -> (bool[]) {
      %all = reduce_sum %w {axes = [0, 1]}
      %0 = absolute %all
      %1 = square %c
      %sum = reduce_sum %1 {axes = [0, 1]}
      %2 = less %sum, %0
      return %2
    }
    func @inner(%w: f32[8, 8], %x: f32[8, 8], %c: f32[8, 8]) -> (f32[8, 8]) {
      %ww = matmul %w, %w
      %xw = matmul %x, %ww
      %0 = add %c, %xw
      %1 = add %0, %0
      return %1
    })");
}

TEST(Hoist, OutOfEachLoop) {
  const ir::Program program = hoisted(loop_in_a_loop());
  EXPECT_EQ(places_of(program, "matmul"), (Places{1, 1}));
  EXPECT_EQ(places_of(program, "absolute"), (Places{1, 0}));
  expect_as_evaluated(loop_in_a_loop(), {numbers({8, 8}, 1), numbers({3, 8, 8}, 2)}, 1e-4);
}

TEST(Hoist, LeavesWhatMayFailAndWhatChangesItsSize) {
  const ir::Program may_fail = parsed(R"(
    func @main(%x: f32[4], %i: i64[], %c: f32[]) -> (f32[]) {
      %last = scan @step(%x, %i, %c) {constants = 2, carries = 1, length = 0}
      return %last
    }
    func @step(%x: f32[4], %i: i64[], %c: f32[]) -> (f32[]) {
      %0 = gather %x, %i {axes = [0]}
      %1 = add %c, %0
      return %1
    })");
  EXPECT_EQ(places_of(hoisted(may_fail), "gather"), (Places{0, 1}));
  const ir::Program shrinks = parsed(R"(
    func @main<n>(%w: f32[8, 8], %x: f32[n]) -> <m> (f32[m]) {
      <m> %y = while @more<n>, @shrink<n>(%w, %x) {constants = 1} : f32[m]
      return <m> %y
    }
    func @more<n>(%w: f32[8, 8], %x: f32[n]) -> (bool[]) {
      %n = size {value = n} : i64[]
      %one = literal {value = i64[](1)} : i64[]
      %0 = less %one, %n : bool[]
      return %0
    }
    func @shrink<n>(%w: f32[8, 8], %x: f32[n]) -> <m> (f32[m]) {
      %0 = reduce_sum %w {axes = [0, 1]}
      %1 = broadcast %0 {sizes = [n]}
      %2 = add %x, %1
      %y = slice %2 {axis = 0, start = 0, count = n//2} : f32[n//2]
      return <n//2> %y
    })");
  EXPECT_EQ(places_of(hoisted(shrinks), "reduce_sum"), (Places{0, 1}));
}

}  // namespace
}  // namespace plait::compile
