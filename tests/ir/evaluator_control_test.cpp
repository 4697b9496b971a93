// Calls, branches, loops, recursion.
#include <algorithm>
#include <cmath>

#include "plait/ir/builder.h"

#include "tests/ir/evaluator_fixture.h"
#include "tests/support/programs/sample_programs.h"

namespace plait::ir {
namespace {

TEST_F(Evaluator, CallsPassSizesBothWays) {
  std::vector<Value> results = run(R"(func @main<n>(%x: f64[n]) -> (f64[], i64[]) {
    <m> %y = call @half<n + 1>(%x, %x) : f64[m]
    %0 = sum %y
    %1 = size {value = m}
    return %0, %1
  }
  func @half<k>(%x: f64[k - 1], %unused: f64[k - 1]) -> <j> (f64[j]) {
    %0 = halve %x : f64[(k - 1)//2]
    return <(k - 1)//2> %0
  })",
                                   {f64s({1, 2, 3, 4, 5})});
  EXPECT_EQ(ScalarMachine::number(results[0]), 3);
  EXPECT_EQ(ScalarMachine::number(results[1]), 2);
}

TEST_F(Evaluator, FactsOfCalleesAndSizesBelowZeroAreErrors) {
  constexpr std::string_view text = R"(func @main<n>(%x: f64[n]) -> (i64[]) {
    %0 = call @f<n - 2>()
    return %0
  }
  func @f<k>() -> (i64[]) where k <= 3 {
    %0 = size {value = k}
    return %0
  })";
  EXPECT_EQ(number(text, {f64s({1, 2, 3})}), 1);
  expect_contains(error<ShapeError>(text, {f64s({1})}), {"@f", "k", "-1", "in @main"});
  expect_contains(error<ShapeError>(text, {f64s(Elements(9))}), {"@f", "k <= 3", "k = 7"});
}

TEST_F(Evaluator, ASizeGivenBackMustNotBeNegative) {
  expect_contains(error<ShapeError>(R"(func @main<n>(%x: f64[n]) -> <m> () {
    <m> = call @f<n>()
    return <m>
  }
  func @f<k>() -> <j> () {
    return <k - 5>
  })",
                                    {f64s({1})}),
                  {"call", "m", "-4"});
}

constexpr std::string_view kCond = R"(func @main<n>(%p: bool[], %x: f64[n]) -> <k> (f64[k]) {
  <k> %0 = cond @whole<n>, @first_half<n>(%p, %x) : f64[k]
  return <k> %0
}
func @whole<n>(%x: f64[n]) -> <k> (f64[k]) {
  return <n> %x
}
func @first_half<n>(%x: f64[n]) -> <k> (f64[k]) {
  print %x
  %0 = halve %x
  return <n//2> %0
})";

TEST_F(Evaluator, CondRunsOneBranch) {
  EXPECT_EQ(vector(kCond, {boolean(true), f64s({1, 2, 3})}), (Elements{1, 2, 3}));
  EXPECT_TRUE(machine.printed().empty());
  EXPECT_EQ(vector(kCond, {boolean(false), f64s({1, 2, 3})}), Elements{1});
  EXPECT_EQ(machine.printed().size(), 1u);
}

TEST_F(Evaluator, SwitchRunsOneOfMany) {
  constexpr std::string_view text = R"(func @main(%i: i64[], %x: f64[]) -> (f64[]) {
    %0 = switch @same, @twice, @square(%i, %x)
    return %0
  }
  func @same(%x: f64[]) -> (f64[]) { return %x }
  func @twice(%x: f64[]) -> (f64[]) {
    %0 = add %x, %x
    return %0
  }
  func @square(%x: f64[]) -> (f64[]) {
    %0 = multiply %x, %x
    return %0
  })";
  EXPECT_EQ(number(text, {i64(0), f64(5)}), 5);
  EXPECT_EQ(number(text, {i64(1), f64(5)}), 10);
  EXPECT_EQ(number(text, {i64(2), f64(5)}), 25);
  expect_contains(error<IndexError>(text, {i64(3), f64(5)}), {"switch", "index 3", "3 functions"});
  expect_contains(error<IndexError>(text, {i64(-1), f64(5)}), {"index -1"});
}

// Counts to a limit, which is a constant of the loop, and sums half of each number.
constexpr std::string_view kCount = R"(func @main(%limit: f64[]) -> (f64[], f64[]) {
  %zero = literal {value = f64[](0)}
  %half = literal {value = f64[](0.5)}
  %0, %1 = while @more, @step(%limit, %half, %zero, %zero) {constants = 2}
  return %0, %1
}
func @more(%limit: f64[], %half: f64[], %i: f64[], %sum: f64[]) -> (bool[]) {
  %0 = less %i, %limit
  return %0
}
func @step(%limit: f64[], %half: f64[], %i: f64[], %sum: f64[]) -> (f64[], f64[]) {
  %one = literal {value = f64[](1)}
  %next = add %i, %one
  %part = multiply %i, %half
  %0 = add %sum, %part
  return %next, %0
})";

TEST_F(Evaluator, WhileCarriesValuesAndKeepsConstants) {
  std::vector<Value> results = run(kCount, {f64(5)});
  EXPECT_EQ(ScalarMachine::number(results[0]), 5);
  EXPECT_EQ(ScalarMachine::number(results[1]), 5);
  results = run(kCount, {f64(-1)});
  EXPECT_EQ(ScalarMachine::number(results[0]), 0);
}

TEST_F(Evaluator, WhileGoesRoundAMillionTimes) {
  options.check_types = false;
  machine.forget_peak();
  EXPECT_EQ(ScalarMachine::number(run(kCount, {f64(1'000'000)})[0]), 1'000'000);
  EXPECT_LE(machine.peak(), 12);
}

constexpr std::string_view kShrink = R"(func @main<n>(%x: f64[n]) -> <m> (f64[m], i64[]) {
  <m> %y = while @more<n>, @shrink<n>(%x) : f64[m]
  %0 = size {value = m}
  return <m> %y, %0
}
func @more<n>(%x: f64[n]) -> (bool[]) {
  %n = size {value = n} : i64[]
  %two = literal {value = i64[](2)}
  %0 = less %two, %n
  return %0
}
func @shrink<n>(%x: f64[n]) -> <m> (f64[m]) {
  %y = halve %x : f64[n//2]
  return <n//2> %y
})";

TEST_F(Evaluator, CarriedValuesMayShrink) {
  Program program = Program::parse(kShrink);
  for (auto [given, left] : {std::pair(9, 2), {7, 1}, {2, 2}, {0, 0}}) {
    Value x = f64s(Elements(static_cast<size_t>(given), 3.0));
    Evaluated evaluated = evaluate_function(program, "main", machine, {&x, 1}, options);
    EXPECT_EQ(evaluated.sizes, std::vector<int64_t>{left});
    EXPECT_EQ(ScalarMachine::elements(evaluated.results[0]).size(), static_cast<size_t>(left));
    EXPECT_EQ(ScalarMachine::number(evaluated.results[1]), left);
  }
}

constexpr std::string_view kScan =
    R"(func @main<n>(%decay: f64[], %start: f64[], %xs: f64[n], %ys: f64[n, 2])
    -> (f64[], f64[n], f64[n, 2], i64[n]) {
  %last, %all, %rows, %counts = scan @step(%decay, %start, %xs, %ys)
      {constants = 1, carries = 1, length = n, reverse = REVERSE}
  return %last, %all, %rows, %counts
}
func @step(%decay: f64[], %state: f64[], %x: f64[], %y: f64[2]) -> (f64[], f64[], f64[2], i64[]) {
  %faded = multiply %decay, %state
  %next = add %faded, %x
  %row = negate %y
  %t = tick
  return %next, %next, %row, %t
})";

std::string scan_text(std::string_view reverse) {
  std::string text(kScan);
  return text.replace(text.find("REVERSE"), 7, reverse);
}

TEST_F(Evaluator, ScanTakesSlicesAndStacksResults) {
  Value ys = machine.array(DType::f64, {3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<Value> results = run(scan_text("false"), {f64(10), f64(1), f64s({1, 2, 3}), ys});
  EXPECT_EQ(ScalarMachine::number(results[0]), 1123);
  EXPECT_EQ(ScalarMachine::elements(results[1]), (Elements{11, 112, 1123}));
  EXPECT_EQ(ScalarMachine::text(results[2]), "f64[3, 2](-1, -2, -3, -4, -5, -6)");
  EXPECT_EQ(ScalarMachine::elements(results[3]), (Elements{0, 1, 2}));
}

TEST_F(Evaluator, ScanGoesBackwards) {
  Value ys = machine.array(DType::f64, {3, 2}, {1, 2, 3, 4, 5, 6});
  std::vector<Value> results = run(scan_text("true"), {f64(10), f64(1), f64s({1, 2, 3}), ys});
  EXPECT_EQ(ScalarMachine::number(results[0]), 1321);
  EXPECT_EQ(ScalarMachine::elements(results[1]), (Elements{1321, 132, 13}));
  EXPECT_EQ(ScalarMachine::text(results[2]), "f64[3, 2](-1, -2, -3, -4, -5, -6)");
  EXPECT_EQ(ScalarMachine::elements(results[3]), (Elements{2, 1, 0}));
}

TEST_F(Evaluator, ScanOfNothingGivesNothing) {
  Value ys = machine.array(DType::f64, {0, 2}, {});
  std::vector<Value> results = run(scan_text("false"), {f64(10), f64(1), f64s({}), ys});
  EXPECT_EQ(ScalarMachine::number(results[0]), 1);
  EXPECT_EQ(ScalarMachine::text(results[1]), "f64[0]()");
  EXPECT_EQ(ScalarMachine::text(results[2]), "f64[0, 2]()");
  EXPECT_EQ(ScalarMachine::text(results[3]), "i64[0]()");
}

TEST_F(Evaluator, ScanWithoutStackedOperandsCounts) {
  EXPECT_EQ(number(R"(func @main<n>(%x: f64[], %unused: i64[n]) -> (f64[]) {
    %0 = scan @twice(%x) {carries = 1, length = n}
    return %0
  }
  func @twice(%x: f64[]) -> (f64[]) {
    %0 = add %x, %x
    return %0
  })",
                   {f64(3), machine.vector(DType::i64, Elements(10))}),
            3 * 1024);
}

// A while loop that pushes repeatedly halved vectors: a list of vectors of different sizes, the
// shortest at its head.
constexpr std::string_view kLists = R"(type @list = <k> {f64[k], @list?}
func @main<n>(%x: f64[n]) -> (f64[], f64[], f64[]) {
  %none = absent : @list?
  <m> %y, %list = while @more<n>, @push<n>(%x, %none) : f64[m], @list?
  %zero = literal {value = f64[](0)}
  %base = literal {value = f64[](10)}
  %again, %digits, %sum = unwind @digits<m>(%list, %base, %zero, %zero)
  return %digits, %sum, %again
}
func @more<n>(%x: f64[n], %list: @list?) -> (bool[]) {
  %n = size {value = n}
  %zero = literal {value = i64[](0)}
  %0 = less %zero, %n
  return %0
}
func @push<n>(%x: f64[n], %list: @list?) -> <m> (f64[m], @list?) {
  %0 = pack<n> %x, %list : @list
  %1 = present %0
  %half = halve %x
  return <n//2> %half, %1
}
func @digits<k, m>(%x: f64[k], %base: f64[], %digits: f64[], %sum: f64[]) -> (f64[], f64[], f64[]) {
  %k = size {value = k + m}
  %count = convert %k {dtype = f64}
  %shifted = multiply %digits, %base
  %more = add %shifted, %count
  %part = sum %x
  %total = add %sum, %part
  return %base, %more, %total
})";

TEST_F(Evaluator, ListsOfDifferentSizesAreBuiltAndUnwound) {
  std::vector<Value> results = run(kLists, {f64s({1, 2, 3, 4, 5, 6, 7})});
  EXPECT_EQ(ScalarMachine::number(results[0]), 137);  // sizes 1, 3, 7 from the head
  EXPECT_EQ(ScalarMachine::number(results[1]), 1 + 6 + 28);
  EXPECT_EQ(ScalarMachine::number(results[2]), 10);
  EXPECT_EQ(ScalarMachine::number(run(kLists, {f64s({})})[0]), 0);
}

TEST_F(Evaluator, ALongListIsBuiltUnwoundAndFreed) {
  options.check_types = false;
  int64_t before = machine.live();
  EXPECT_EQ(number(R"(type @list = {f64[], @list?}
  func @main(%n: f64[]) -> (f64[]) {
    %none = absent : @list?
    %0, %list = while @more, @push(%n, %none)
    %1 = unwind @add_up(%list, %0)
    return %1
  }
  func @more(%n: f64[], %list: @list?) -> (bool[]) {
    %zero = literal {value = f64[](0)}
    %0 = less %zero, %n
    return %0
  }
  func @push(%n: f64[], %list: @list?) -> (f64[], @list?) {
    %one = literal {value = f64[](1)}
    %less = subtract %n, %one
    %0 = pack %n, %list : @list
    %1 = present %0
    return %less, %1
  }
  func @add_up(%x: f64[], %sum: f64[]) -> (f64[]) {
    %0 = add %x, %sum
    return %0
  })",
                   {f64(200'000)}),
            200'000.0 * 200'001 / 2);
  EXPECT_EQ(machine.live(), before);
}

TEST_F(Evaluator, CallsWithRulesOfTheirOwnAreCalls) {
  EXPECT_EQ(number(R"(func @main(%x: f64[]) -> (f64[]) {
    %0 = remat @twice(%x)
    %1 = custom_vjp @twice, @forward, @backward(%0)
    %2 = custom_jvp @twice, @jvp(%1)
    return %2
  }
  func @twice(%x: f64[]) -> (f64[]) {
    %0 = add %x, %x
    return %0
  }
  func @forward(%x: f64[]) -> (f64[], f64[]) {
    return %x, %x
  }
  func @backward(%r: f64[], %c: f64[]) -> (f64[]) {
    return %r
  }
  func @jvp(%x: f64[], %t: f64[]) -> (f64[], f64[]) {
    return %x, %t
  })",
                   {f64(5)}),
            40);
}

constexpr std::string_view kAckermann = R"(func @ackermann(%m: i64[], %n: i64[]) -> (i64[]) {
  %zero = literal {value = i64[](0)}
  %done = equal %m, %zero
  %0 = cond @next, @down(%done, %m, %n)
  return %0
}
func @next(%m: i64[], %n: i64[]) -> (i64[]) {
  %one = literal {value = i64[](1)}
  %0 = add %n, %one
  return %0
}
func @down(%m: i64[], %n: i64[]) -> (i64[]) {
  %zero = literal {value = i64[](0)}
  %last = equal %n, %zero
  %0 = cond @at_zero, @inside(%last, %m, %n)
  return %0
}
func @at_zero(%m: i64[], %n: i64[]) -> (i64[]) {
  %one = literal {value = i64[](1)}
  %less = subtract %m, %one
  %0 = call @ackermann(%less, %one)
  return %0
}
func @inside(%m: i64[], %n: i64[]) -> (i64[]) {
  %one = literal {value = i64[](1)}
  %less_n = subtract %n, %one
  %inner = call @ackermann(%m, %less_n)
  %less_m = subtract %m, %one
  %0 = call @ackermann(%less_m, %inner)
  return %0
})";

TEST_F(Evaluator, Ackermann) {
  EXPECT_EQ(number(kAckermann, {i64(2), i64(3)}), 9);
  EXPECT_EQ(number(kAckermann, {i64(3), i64(4)}), 125);
}

constexpr std::string_view kEven = R"(func @even(%n: i64[]) -> (bool[]) {
  %zero = literal {value = i64[](0)}
  %done = equal %n, %zero
  %0 = cond @yes, @odd_of_less(%done, %n)
  return %0
}
func @odd(%n: i64[]) -> (bool[]) {
  %zero = literal {value = i64[](0)}
  %done = equal %n, %zero
  %0 = cond @no, @even_of_less(%done, %n)
  return %0
}
func @yes(%n: i64[]) -> (bool[]) {
  %0 = literal {value = bool[](true)}
  return %0
}
func @no(%n: i64[]) -> (bool[]) {
  %0 = literal {value = bool[](false)}
  return %0
}
func @odd_of_less(%n: i64[]) -> (bool[]) {
  %one = literal {value = i64[](1)}
  %less = subtract %n, %one
  %0 = call @odd(%less)
  return %0
}
func @even_of_less(%n: i64[]) -> (bool[]) {
  %one = literal {value = i64[](1)}
  %less = subtract %n, %one
  %0 = call @even(%less)
  return %0
})";

TEST_F(Evaluator, FunctionsMayCallEachOther) {
  EXPECT_EQ(number(kEven, {i64(10)}), 1);
  EXPECT_EQ(number(kEven, {i64(11)}), 0);
}

TEST_F(Evaluator, RecursionAMillionDeep) {
  options.check_types = false;
  machine.forget_peak();
  int64_t before = machine.live();
  EXPECT_EQ(number(kEven, {i64(333'333)}), 0);  // three functions for each number
  EXPECT_EQ(machine.live(), before);
  EXPECT_LE(machine.peak(), before + 8);  // dead values are freed before a callee runs
}

TEST_F(Evaluator, Factorial) {
  EXPECT_EQ(number(kFactorial, {f64(10)}), 3628800);
  EXPECT_EQ(number(kFactorial, {f64(0)}), 1);
  options.check_types = false;
  EXPECT_EQ(number(kFactorial, {f64(500'000)}), INFINITY);  // a million active calls
}

TEST_F(Evaluator, CollatzStops) {
  EXPECT_EQ(number(kCollatz, {i64(1)}), 0);
  EXPECT_EQ(number(kCollatz, {i64(27)}), 111);
}

TEST_F(Evaluator, MergeSortByRecursionOnHalves) {
  EXPECT_EQ(vector(kSort, {f64s({})}), Elements{});
  EXPECT_EQ(vector(kSort, {f64s({2, 1})}), (Elements{1, 2}));
  Elements elements;
  for (int i = 0; i < 101; ++i) elements.push_back((i * 37) % 101 - 0.5 * (i % 3));
  Elements sorted = elements;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(vector(kSort, {f64s(elements)}), sorted);
}

TEST_F(Evaluator, TooDeepRecursionIsAnError) {
  options.max_depth = 1001;
  int64_t before = machine.live();
  EXPECT_EQ(number(kFactorial, {f64(500)}), INFINITY);
  std::string message = error<ValueError>(kFactorial, {f64(501)});
  expect_contains(message,
                  {"deeper than 1001", "set max_depth", "called by @times_rest (factorial.cpp:3)",
                   "more calls", "called by @factorial\n"});
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(machine.live(), before);
}

TEST_F(Evaluator, TenThousandFunctionsDeep) {
  ProgramBuilder builder;
  constexpr int kDepth = 10'000;
  Signature signature{.parameters = {Type::scalar(DType::f64)},
                      .results = {Type::scalar(DType::f64)}};
  for (int i = 0; i < kDepth; ++i) builder.declare(fmt::format("f{}", i), signature);
  for (int i = 0; i < kDepth; ++i) {
    FunctionBuilder f = builder.function(fmt::format("f{}", i));
    f.declare(signature);
    ValueId next = i + 1 < kDepth ? f.call(fmt::format("f{}", i + 1), {0}) : f.add("exp", {0});
    builder.add(f.finish({f.add("add", {0, next})}));
  }
  Value zero = f64(0);
  EXPECT_EQ(ScalarMachine::number(evaluate(builder.finish(), machine, {&zero, 1}, options)[0]), 1);
}

}  // namespace
}  // namespace plait::ir
