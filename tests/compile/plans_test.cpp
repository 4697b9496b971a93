// Plans keep branches, loops and reused memory apart, in cases that are rare in random programs.
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"

#include "tests/compile/as_evaluated.h"
#include "tests/compile/passes_left_out.h"

namespace plait::compile {
namespace {

template <class F>
void expect_traced_as_evaluated(const F& f, const Tensors& arguments, double tolerance = 1e-6) {
  const auto on_all = [&](const Tensors& given) { return f(given); };
  expect_as_evaluated(trace(on_all)(arguments).program, arguments, tolerance);
}

// ---- Branches.

TEST(Branches, GiveWhatTheyWereGivenOrWhatTheyCompute) {
  const auto f = [](const Tensors& x) {
    const Tensor y = exp(x[0]), z = matmul(y, y);
    const auto swaps = [](const Tensor& a, const Tensor& b) { return std::vector<Tensor>{b, a}; };
    const auto computes = [](const Tensor& a, const Tensor& b) {
      return std::vector<Tensor>{matmul(a, b), a};
    };
    const std::vector<Tensor> both = cond(x[1], swaps, computes, y, z);
    const std::vector<Tensor> again = cond(x[1], computes, swaps, both[0], y);
    return std::vector<Tensor>{matmul(both[0], again[0]), both[1] - z, again[1] + y, both[0]};
  };
  for (const bool taken : {true, false}) {
    expect_traced_as_evaluated(f, {numbers({4, 4}, 1), Tensor(Array::of(taken))}, 1e-5);
  }
}

TEST(Branches, ThereAreNoMoreThanThere) {
  const ir::Program program = parsed(R"(
    func @main(%i: i64[], %x: f32[]) -> (f32[]) {
      %0 = switch @a, @b(%i, %x)
      return %0
    }
    func @a(%x: f32[]) -> (f32[]) {
      %0 = negative %x
      return %0
    }
    func @b(%x: f32[]) -> (f32[]) {
      %0 = exp %x
      return %0
    })");
  const Compiled compiled(program);
  const Tensor x(Array::of(1.F));
  for (const int64_t i : {0, 1}) expect_as_evaluated(program, {Tensor(Array::of(i)), x}, 0);
  for (const int64_t i : {-1, 2}) {
    EXPECT_THROW(compiled(Tensors{Tensor(Array::of(i)), x}), IndexError) << i;
  }
}

// ---- Loops.

TEST(Loops, ShrinkWhatTheyCarry) {
  const ir::Program program = parsed(R"(
    func @main<n>(%x: f32[n]) -> <m> (f32[m], f32[m], i64[]) {
      %steps = literal {value = i64[](0)}
      <m> %y, %s = while @more<n>, @shrink<n>(%x, %steps)
      %z = exp %y
      return <m> %y, %z, %s
    }
    func @more<n>(%x: f32[n], %s: i64[]) -> (bool[]) {
      %n = size {value = n}
      %one = literal {value = i64[](1)}
      %0 = less %one, %n
      return %0
    }
    func @shrink<n>(%x: f32[n], %s: i64[]) -> <m> (f32[m], i64[]) {
      %e = negative %x
      %y = slice %e {axis = 0, start = 1, count = n//2}
      %d = add %y, %y
      %n = size {value = n}
      %t = add %s, %n
      return <n//2> %d, %t
    })");
  for (const int64_t size : {1, 2, 3, 16, 37}) {
    expect_as_evaluated(program, {numbers({size}, 1)}, 1e-6);
  }
}

TEST(Loops, ScanFromEitherEnd) {
  for (const bool reverse : {false, true}) {
    for (const int64_t length : {0, 1, 5}) {
      const auto f = [&](const Tensors& x) {
        const auto body = [](const Tensor& carry, const Tensor& slice) {
          const Tensor next = tanh(carry + slice) * 2.;
          return std::pair(next, matmul(expand_dims(next, 1), expand_dims(slice, 0)));
        };
        const auto [last, all] = scan(body, x[0], x[1], {.reverse = reverse});
        return std::vector<Tensor>{last, all, sum(all, 0)};
      };
      expect_traced_as_evaluated(f, {numbers({3}, 1), numbers({length, 3}, 2)});
    }
  }
}

// `kept` and the values of the inner loop are in the frame; the inner loop reads the carry of the
// outer one.
TEST(Loops, KeepAValueUntilTheInnerLoopThatReadsItEnds) {
  const auto f = [](const Tensors& x) {
    const auto outer = [&](const Tensor& carry, const Tensor& slice) {
      const Tensor kept = matmul(carry, slice), turned = matrix_transpose(kept);
      const auto inner = [&](const Tensor& total, const Tensor& each) {
        const Tensor product = matmul(kept, each), more = matmul(product, turned);
        return std::pair(tanh(total + more + carry), sum(product * more));
      };
      const auto [total, sums] = scan(inner, slice, x[1]);
      return std::pair(tanh(total), sums);
    };
    const auto [last, all] = scan(outer, x[0], x[1]);
    return std::vector<Tensor>{last, all};
  };
  expect_traced_as_evaluated(f, {numbers({3, 3}, 1), numbers({4, 3, 3}, 2)}, 1e-4);
}

// Slices of a value in the frame are carried, and leave the loop.
TEST(Loops, SlicesKeepWhatTheyAreOf) {
  const auto f = [](const Tensors& x) {
    const auto body = [](const std::vector<Tensor>& carries, const Tensor& slice) {
      const Tensor product = matmul(carries[0], carries[0]);
      return std::pair(std::vector<Tensor>{tanh(product), slice}, sum(product, 0) + carries[1]);
    };
    const std::vector<Tensor> initial{x[1], x[2]};
    const auto [last, rows] = scan(body, initial, matmul(x[0], x[0]));
    const Tensor product = matmul(rows, last[0]), more = matmul(product, product);
    return std::vector<Tensor>{matmul(more, product) + last[1], last[1] * 2.};
  };
  expect_traced_as_evaluated(f, {numbers({4, 4}, 1), numbers({4, 4}, 2), numbers({4}, 3)}, 1e-4);
}

// ---- Memory.

TEST(Memory, ResultsThatAreOperandsSurvive) {
  const auto f = [](const Tensors& x) {
    const Tensor a = exp(x[0]), b = matmul(a, a), c = matmul(b, b), d = matmul(c, a);
    return std::vector<Tensor>{b, x[0], tanh(c) + b, matrix_transpose(b), d * d, x[0]};
  };
  expect_traced_as_evaluated(f, {numbers({5, 5}, 1)}, 1e-4);
}

// Many sizes and dtypes, so that ranges are split, joined and reused.
TEST(Memory, IsUsedAgainInPieces) {
  const auto f = [](const Tensors& x) {
    const Tensor wide = matmul(x[0], x[1]);                          // 3 x 50
    const Tensor flags = less(matmul(wide, x[2]), 0.);               // 3 x 7
    const Tensor narrow = matmul(astype(flags, DType::f32), x[3]);   // 3 x 3
    const Tensor long_one = matmul(matrix_transpose(narrow), wide);  // 3 x 50
    const Tensor small = matmul(long_one, x[2]);                     // 3 x 7
    const Tensor more = matmul(matrix_transpose(small), narrow);     // 7 x 3
    const Tensor last = matmul(x[2], more);                          // 50 x 3
    return std::vector<Tensor>{matmul(last, narrow), sum(astype(flags, DType::i64), 0),
                               matmul(long_one, last)};
  };
  expect_traced_as_evaluated(
      f, {numbers({3, 4}, 1), numbers({4, 50}, 2), numbers({50, 7}, 3), numbers({7, 3}, 4)}, 1e-4);
}

// A conversion without effect returns its operand, whose memory is reused afterwards.
TEST(Memory, CopiesOperandsThatAreResults) {
  const ir::Program program = parsed(R"(
    func @main(%x: f32[4, 4]) -> (f32[4, 4], f32[4, 4]) {
      %0 = matmul %x, %x
      %1 = convert %0 {dtype = f32}
      %2 = negative %x
      %3 = matmul %2, %2
      %4 = matmul %3, %1
      return %4, %3
    })");
  const PassesLeftOut out("-simplify,-libraries,-fuse");
  expect_as_evaluated(program, {numbers({4, 4}, 1)}, 1e-5);
}

TEST(Memory, ReusesDonatedArgumentsOnly) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const Tensor z = x * 2. + y;
    return std::vector<Tensor>{z, matmul(x, z), tanh(matmul(z, y)) * y};
  };
  const Tensor x = numbers({6, 6}, 1), y = numbers({6, 6}, 2), x_before = x + 0., y_before = y + 0.;
  const ir::Program program = trace(f)(x, y).program;
  const Compiled compiled(program);
  const Tensors wanted = evaluate(program, Tensors{x, y});
  expect_as_good_as_same("kept", compiled(Tensors{x, y}), wanted, 1e-5);
  expect_same_bits("arguments", {x, y}, {x_before, y_before});
  Tensors given{x + 0., y + 0.};
  expect_as_good_as_same("donated", CompiledAccess::run_donated(compiled, std::move(given), {}),
                         wanted, 1e-5);
  expect_same_bits("arguments", {x, y}, {x_before, y_before});
}

// Each branch reads the values from before it for the last time, but for rounds of a loop.
TEST(Memory, ValuesEndInEachBranch) {
  const ir::Program program = parsed(R"(
    func @main(%c: i64[], %x: f32[40]) -> (f32[40]) {
      %y = exp %x
      %z = tanh %x
      %r = switch @loop, @both, @one(%c, %y, %z)
      return %r
    }
    func @loop(%y: f32[40], %z: f32[40]) -> (f32[40]) {
      %r = scan @round(%y, %z) {constants = 1, carries = 1, length = 3, reverse = false}
      return %r
    }
    func @round(%y: f32[40], %h: f32[40]) -> (f32[40]) {
      %m = multiply %h, %y
      return %m
    }
    func @both(%y: f32[40], %z: f32[40]) -> (f32[40]) {
      %r = add %y, %z
      %s = multiply %r, %y
      return %s
    }
    func @one(%y: f32[40], %z: f32[40]) -> (f32[40]) {
      return %y
    })");
  for (const std::string_view passes : {"", "-inline", "-fuse"}) {
    const PassesLeftOut out{std::string(passes)};
    for (const int64_t choice : {0, 1, 2}) {
      expect_as_evaluated(program, {full({}, choice, DType::i64), numbers({40}, 1)}, 1e-6);
    }
  }
}

// A loop of no rounds has parts whose sizes would be negative.
TEST(Memory, SizesOfALoopThatDoesNotRun) {
  const ir::Program program = parsed(R"(
func @main<n>(%p0: f64[n]) -> (f64[], f64[n]) {
  %0 = reduce_sum %p0 {axes = [0]} : f64[]
  %1 = size {value = n} : i64[]
  %2 = convert %1 {dtype = f64} : f64[]
  %3 = divide %0, %2 : f64[]
  %4, %5 = scan @body<n>(%p0, %3, %p0) {constants = 1, carries = 1, length = n} : f64[], f64[n]
  return %4, %5
}

func @body<n>(%p0: f64[n], %p1: f64[], %p2: f64[]) -> (f64[], f64[]) {
  %0 = broadcast %p1 {sizes = [n]} : f64[n]
  %1 = multiply %p0, %0 : f64[n]
  %2 = slice %1 {axis = 0, start = 0, count = 1} : f64[1]
  %3 = slice %1 {axis = 0, start = 1, count = n - 1} : f64[n - 1]
  %4 = multiply %p2, %p1 : f64[]
  %5 = literal {value = f64[](0)} : f64[]
  %6 = reduce_sum %2 {axes = [0]} : f64[]
  %9 = add %5, %6 : f64[]
  %10 = reduce_sum %3 {axes = [0]} : f64[]
  %11 = size {value = n - 1} : i64[]
  %12 = convert %11 {dtype = f64} : f64[]
  %13 = divide %10, %12 : f64[]
  %14 = add %9, %13 : f64[]
  %15 = literal {value = f64[](0.3)} : f64[]
  %16 = multiply %14, %15 : f64[]
  %21 = add %p1, %16 : f64[]
  %22 = tanh %21 : f64[]
  return %22, %4
}
)");
  const Compiled compiled(program);
  for (const int64_t n : {0, 1, 2}) {
    const Tensors given{numbers({n}, 1, DType::f64)};
    for (const bool is_guarded : {false, true}) {
      expect_as_good_as_same(
          "compiled",
          CompiledAccess::run(compiled, given, {.arena = ArenaOptions{.is_guarded = is_guarded}}),
          evaluate(program, given), 1e-10);
    }
  }
}

TEST(Memory, HostCodeMayKeepWhatItIsGiven) {
  Tensors kept, copies;
  const auto f = [&](const Tensor& x) {
    const Tensor a = exp(x) * 2., b = matmul(a, a);
    callback(
        [&](std::span<const Tensor> given) {
          kept.assign(given.begin(), given.end());
          for (const Tensor& each : given) copies.push_back(each + 0.);
          return std::vector<Tensor>();
        },
        Tensors{a, b});
    Tensor others = matmul(b, x);
    for (int i = 0; i < 3; ++i) others = tanh(matmul(others, x));
    return others;
  };
  const Tensor x = numbers({4, 4}, 1);
  const Compiled compiled(trace(f)(x).program);
  kept.clear(), copies.clear();
  compiled(Tensors{x});
  compiled(Tensors{x * 3.});
  ASSERT_EQ(copies.size(), 4u);
  expect_same_bits("kept", kept, {copies[2], copies[3]});
}

// ---- Requirements of programs.

TEST(Requirements, AreAskedOnEntry) {
  const ir::Program program = parsed(R"(
    func @main<n, m>(%x: f32[n], %y: f32[m]) -> (f32[n]) where n == 2*m {
      %0 = exp %x
      %1 = negative %0
      return %1
    })");
  const Compiled compiled(program);
  EXPECT_EQ(compiled(Tensors{numbers({4}, 1), numbers({2}, 2)}).size(), 1u);
  EXPECT_THROW(compiled(Tensors{numbers({3}, 1), numbers({2}, 2)}), ShapeError);
}

TEST(Requirements, AreAskedOnTheWay) {
  for (const bool expected : {true, false}) {
    const ir::Program program = parsed(fmt::format(R"(
      func @main(%x: f32[], %p: bool[]) -> (f32[]) {{
        guard %p {{expect = {}}}
        %0 = exp %x
        return %0
      }})",
                                                   expected));
    const Compiled compiled(program);
    const Tensor x(Array::of(1.F));
    EXPECT_EQ(compiled(Tensors{x, Tensor(Array::of(expected))}).size(), 1u);
    EXPECT_THROW(compiled(Tensors{x, Tensor(Array::of(!expected))}), CheckError) << expected;
  }
}

}  // namespace
}  // namespace plait::compile
