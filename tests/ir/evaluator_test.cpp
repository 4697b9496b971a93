// Instructions without calls, sizes, checks on entry, and memory use.
#include "plait/ir/evaluation/evaluator.h"

#include "plait/ir/primitive.h"

#include "tests/ir/evaluator_fixture.h"

namespace plait::ir {
namespace {

TEST_F(Evaluator, GivesParametersBack) {
  std::vector<Value> results =
      run(R"(func @main(%x: f64[], %unused: i64[], %y: f64[]) -> (f64[], f64[], f64[]) {
    return %y, %x, %y
  })",
          {f64(1), i64(5), f64(2)});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(ScalarMachine::number(results[0]), 2);
  EXPECT_EQ(ScalarMachine::number(results[1]), 1);
  EXPECT_EQ(ScalarMachine::number(results[2]), 2);
}

TEST_F(Evaluator, LiteralsAndArithmetic) {
  EXPECT_EQ(number(R"(func @main(%x: f64[]) -> (f64[]) {
    %two = literal {value = f64[](2)}
    %half = divide %x, %two
    %unused = negate %half
    %0 = subtract %x, %half
    %1 = multiply %0, %0
    return %1
  })",
                   {f64(6)}),
            9);
  EXPECT_EQ(
      vector("func @main() -> (i64[3]) {\n %0 = literal {value = i64[3](4, -5, 6)}\n return %0\n}"),
      (Elements{4, -5, 6}));
}

TEST_F(Evaluator, SizesAreValues) {
  std::vector<Value> results =
      run(R"(func @main<n, m>(%x: f64[n, m]) -> (i64[], f32[m + 1], i32[]) {
    %0 = size {value = 2*n + m//2}
    %1 = iota {size = m + 1}
    %2 = convert %1 {dtype = f32} : f32[m + 1]
    %3 = size {value = 7, dtype = i32}
    return %0, %2, %3
  })",
          {machine.array(DType::f64, {3, 5}, Elements(15))});
  EXPECT_EQ(ScalarMachine::text(results[0]), "i64[](8)");
  EXPECT_EQ(ScalarMachine::text(results[1]), "f32[6](0, 1, 2, 3, 4, 5)");
  EXPECT_EQ(ScalarMachine::text(results[2]), "i32[](7)");
}

constexpr std::string_view kAsSize = R"(func @main(%count: i64[]) -> <k> (i64[k]) {
  <k> = as_size %count
  %0 = iota {size = k} : i64[k]
  return <k> %0
})";

TEST_F(Evaluator, ANumberBecomesASize) {
  Program program = Program::parse(kAsSize);
  Value three = i64(3);
  Evaluated evaluated = evaluate_function(program, "main", machine, {&three, 1}, options);
  EXPECT_EQ(evaluated.sizes, std::vector<int64_t>{3});
  EXPECT_EQ(ScalarMachine::elements(evaluated.results[0]), (Elements{0, 1, 2}));
  EXPECT_EQ(vector(kAsSize, {i64(0)}), Elements{});
  expect_contains(error<ValueError>(kAsSize, {i64(-2)}), {"%count", "-2", "in @main"});
}

TEST_F(Evaluator, MachineDefinesDataDependentSizes) {
  EXPECT_EQ(number(R"(func @main<n>(%x: f64[n]) -> (i64[]) {
    <k> %where = nonzero %x
    %s = sum %where
    %k = size {value = 100*k}
    %0 = add %s, %k
    return %0
  })",
                   {f64s({0, 5, 0, 2})}),
            204);
}

TEST_F(Evaluator, RefineComparesSizes) {
  constexpr std::string_view text =
      R"(func @main<n, m>(%x: f64[n], %y: (f64[m + 1]?, i64[])) -> (f64[n], f64[n]) {
    %z = refine %y : (f64[n]?, i64[])
    %0 = element %z {index = 0}
    %1 = unwrap %0
    %2 = add %x, %1
    return %2, %1
  })";
  auto pair = [&](Elements elements) {
    return Value::aggregate({Value::present(f64s(std::move(elements))), i64(0)});
  };
  EXPECT_EQ(vector(text, {f64s({1, 2}), pair({10, 20})}), (Elements{11, 22}));
  expect_contains(error<ShapeError>(text, {f64s({1, 2}), pair({10, 20, 30})}),
                  {"refine", "%y", "m + 1", "n", "m = 2", "n = 2"});
}

TEST_F(Evaluator, RefineLooksIntoRecords) {
  constexpr std::string_view text = R"(type @box<n> = {f64[n]}
  func @main<n, m>(%x: f64[n], %y: f64[m]) -> (f64[n]) {
    %0 = pack %y : @box<m>
    %1 = refine %0 : @box<n>
    %2 = unpack %1
    return %2
  })";
  EXPECT_EQ(vector(text, {f64s({1, 2}), f64s({3, 4})}), (Elements{3, 4}));
  error<ShapeError>(text, {f64s({1, 2}), f64s({3})});
}

constexpr std::string_view kGuards =
    R"(func @main<n, m>(%x: f64[n], %y: f64[m], %p: bool[]) -> (f64[n]) {
  size_guard {fact = n <= m}   ; model.cpp:7
  guard %p {expect = false}    ; model.cpp:8
  return %x
})";

TEST_F(Evaluator, GuardsHoldOrFail) {
  EXPECT_EQ(vector(kGuards, {f64s({1}), f64s({1}), boolean(false)}), Elements{1});
  expect_contains(error<CheckError>(kGuards, {f64s({1, 2}), f64s({1}), boolean(false)}),
                  {"n <= m", "n = 2", "m = 1", "model.cpp:7", "in @main"});
  expect_contains(error<CheckError>(kGuards, {f64s({1}), f64s({1}), boolean(true)}),
                  {"%p is true, expected false", "model.cpp:8"});
}

TEST_F(Evaluator, SomeoneMayAnswerForAGuard) {
  std::vector<std::string> asked;
  GuardAnswer answer = GuardAnswer::go_on;
  options.on_guard = [&](const FailedGuard& failed) {
    asked.push_back(failed.instruction.primitive().name + ": " + failed.message);
    EXPECT_NE(failed.sizes.find(Dim::symbol("n")), nullptr);
    return answer;
  };
  EXPECT_EQ(vector(kGuards, {f64s({1, 2}), f64s({1}), boolean(true)}), (Elements{1, 2}));
  ASSERT_EQ(asked.size(), 2u);
  expect_contains(asked[0], {"size_guard", "n <= m"});
  answer = GuardAnswer::fail;
  error<CheckError>(kGuards, {f64s({1}), f64s({1}), boolean(true)});
  EXPECT_EQ(asked.size(), 3u);
}

TEST_F(Evaluator, TuplesAndElements) {
  std::vector<Value> results =
      run(R"(func @main(%x: f64[], %n: i64[]) -> ((i64[], (f64[], ())), i64[]) {
    %none = tuple
    %inner = tuple %x, %none
    %outer = tuple %n, %inner
    %0 = element %outer {index = 0}
    %again = element %outer {index = 1}
    %1 = tuple %0, %again
    return %1, %0
  })",
          {f64(1.5), i64(2)});
  EXPECT_EQ(ScalarMachine::text(results[0]), "(i64[](2), (f64[](1.5), ()))");
  EXPECT_EQ(ScalarMachine::text(results[1]), "i64[](2)");
}

TEST_F(Evaluator, RecordsHoldSizes) {
  constexpr std::string_view text = R"(type @box<n> = <k> {f64[n], f64[k]}
  func @main<n, m>(%x: f64[n], %y: f64[m]) -> (f64[], i64[]) {
    %0 = pack<m> %x, %y : @box<n>
    <j> %a, %b = unpack %0
    %1 = sum %b
    %2 = size {value = 10*n + j}
    return %1, %2
  })";
  std::vector<Value> results = run(text, {f64s({1, 2}), f64s({3, 4, 5})});
  EXPECT_EQ(ScalarMachine::number(results[0]), 12);
  EXPECT_EQ(ScalarMachine::number(results[1]), 23);
}

TEST_F(Evaluator, APackedSizeMustNotBeNegative) {
  constexpr std::string_view text = R"(type @count = <k> {i64[]}
  func @main<n>(%x: f64[n], %i: i64[]) -> (@count) {
    %0 = pack<n - 3> %i : @count
    return %0
  })";
  EXPECT_EQ(run(text, {f64s({1, 2, 3, 4}), i64(0)})[0].held_sizes()[0], 1);
  expect_contains(error<ShapeError>(text, {f64s({1}), i64(0)}), {"n - 3", "-2"});
}

TEST_F(Evaluator, OptionalValues) {
  constexpr std::string_view text = R"(func @main(%o: f64[]??) -> (bool[], f64[]?) {
    %0 = is_present %o
    %1 = unwrap %o
    return %0, %1
  })";
  std::vector<Value> results = run(text, {Value::present(Value::present(f64(3)))});
  EXPECT_EQ(ScalarMachine::number(results[0]), 1);
  EXPECT_EQ(ScalarMachine::text(results[1]), "present f64[](3)");
  EXPECT_TRUE(run(text, {Value::present(Value::absent())})[1].is_absent());
  expect_contains(error<ValueError>(text, {Value::absent()}), {"absent", "in @main"});
  EXPECT_EQ(ScalarMachine::text(run(R"(func @main(%x: f64[]) -> (f64[]??, f64[]??, f64[]??) {
    %0 = present %x
    %1 = present %0
    %2 = absent : f64[]?
    %3 = present %2
    %4 = absent : f64[]??
    return %1, %3, %4
  })",
                                    {f64(1)})[1]),
            "present absent");
}

TEST_F(Evaluator, VaryingValuesAreTheSameValues) {
  EXPECT_EQ(number(R"(func @main(%x: f64[]) -> (f64[]) over {data: 1} {
    %0 = vary %x {axes = {data}} : f64[]^{data}
    %1 = all_reduce_sum %0 {axes = {data}}
    return %1
  })",
                   {f64(4)}),
            4);
}

TEST_F(Evaluator, ObservableInstructionsHappenInOrder) {
  run(R"(func @main(%x: f64[]) -> () {
    print %x {label = "first"}
    %0 = tick
    %1 = tick
    print %1
    return
  })",
      {f64(4)});
  EXPECT_EQ(machine.printed(), (std::vector<std::string>{"first f64[](4)", "i64[](1)"}));
  EXPECT_EQ(machine.ticks(), 2);
}

TEST_F(Evaluator, ChecksFactsOnEntry) {
  constexpr std::string_view text =
      R"(func @main<n>(%x: f64[n]) -> (f64[n]) where n%4 == 0, n != 8 {
    return %x
  })";
  EXPECT_EQ(vector(text, {f64s(Elements(4, 1.0))}).size(), 4u);
  expect_contains(error<ShapeError>(text, {f64s(Elements(6))}), {"@main", "n%4 == 0", "n = 6"});
  expect_contains(error<ShapeError>(text, {f64s(Elements(8))}), {"n != 8"});
}

TEST_F(Evaluator, ArgumentsAreCheckedAgainstParameters) {
  constexpr std::string_view text = R"(func @main<n>(%x: f64[n], %y: f64[2*n]) -> (f64[n]) {
    return %x
  })";
  EXPECT_EQ(vector(text, {f64s({1}), f64s({1, 2})}), Elements{1});
  expect_contains(error<TypeError>(text, {f64s({1})}), {"@main takes 2 values, 1 given"});
  expect_contains(error<ShapeError>(text, {f64s({1}), f64s({1})}),
                  {"@main: %y is f64[1], expected f64[2*n] where n = 1"});
  expect_contains(error<TypeError>(text, {machine.vector(DType::f32, {1}), f64s({1, 2})}),
                  {"%x is f32[1], expected f64[n]"});
  expect_contains(error<ShapeError>(text, {f64(1), f64s({1, 2})}),
                  {"%x is f64[], expected f64[n]"});
  expect_contains(error<TypeError>(text, {Value::aggregate({}), f64s({1, 2})}),
                  {"%x: a tuple or record where f64[n] is expected"});
  expect_contains(error<TypeError>(text, {Value(), f64s({1, 2})}), {"%x: nothing"});
}

TEST_F(Evaluator, PartsOfArgumentsAreChecked) {
  constexpr std::string_view text = R"(type @list = <k> {f64[k], @list?}
  func @main(%pair: (f64[], @list?)) -> (f64[]) {
    %0 = element %pair {index = 0}
    return %0
  })";
  auto node = [&](Elements elements, int64_t held, Value rest) {
    return Value::present(Value::aggregate({f64s(std::move(elements)), std::move(rest)}, {held}));
  };
  auto pair = [&](Value list) { return Value::aggregate({f64(7), std::move(list)}); };
  EXPECT_EQ(number(text, {pair(Value::absent())}), 7);
  EXPECT_EQ(number(text, {pair(node({1, 2}, 2, node({}, 0, Value::absent())))}), 7);
  error<ShapeError>(text, {pair(node({1, 2}, 2, node({1}, 0, Value::absent())))});
  error<TypeError>(text, {pair(node({1, 2}, 2, f64(1)))});
  error<TypeError>(text, {pair(Value::aggregate({}))});
  error<TypeError>(text, {Value::aggregate({f64(7)})});
  error<TypeError>(text, {pair(Value::present(Value::aggregate({f64s({}), Value::absent()}, {})))});
}

TEST_F(Evaluator, SharedPartsOfArgumentsAreCheckedOnce) {
  Value tree = Value::absent();  // 2^60 nodes without sharing
  for (int i = 0; i < 60; ++i) tree = Value::present(Value::aggregate({tree, tree}));
  EXPECT_EQ(run(R"(type @tree = {@tree?, @tree?}
  func @main(%t: @tree?) -> (bool[]) {
    %0 = is_present %t
    return %0
  })",
                {tree})
                .size(),
            1u);
}

TEST_F(Evaluator, SizesAreSolvedFromExpressions) {
  constexpr std::string_view text =
      R"(func @main<n, m, k>(%x: f64[n + 2*m], %y: f64[k], %z: (f64[3*m + k - 1])) -> (i64[]) {
    %0 = size {value = 100*n + 10*m + k}
    return %0
  })";
  auto arguments = [&](size_t x, size_t y, size_t z) {
    return std::vector<Value>{f64s(Elements(x)), f64s(Elements(y)),
                              Value::aggregate({f64s(Elements(z))})};
  };
  Program program = Program::parse(text);
  EXPECT_EQ(ScalarMachine::number(evaluate(program, machine, arguments(7, 2, 10), options)[0]),
            132);
  EXPECT_THROW(evaluate(program, machine, arguments(7, 2, 11), options), ValueError);  // m = 10/3
  EXPECT_THROW(evaluate(program, machine, arguments(5, 2, 10), options), ShapeError);  // n = -1
}

TEST_F(Evaluator, SizesThatNoArgumentShowsAreGiven) {
  constexpr std::string_view text = R"(func @main<n>() -> (i64[n]) {
    %0 = iota {size = n}
    return %0
  })";
  expect_contains(error<ValueError>(text), {"@main", "size n", "options"});
  options.sizes.set(Dim::symbol("n"), 3);
  EXPECT_EQ(vector(text), (Elements{0, 1, 2}));
  options.sizes.set(Dim::symbol("m"), 3);
  expect_contains(error<KeyError>(text), {"m"});
}

TEST_F(Evaluator, NamedFunctionsAndMissingOnes) {
  Program program = Program::parse(
      "func @f() -> () {\n return\n}\nfunc @g(%x: f64[]) -> (f64[]) {\n return %x\n}");
  Value one = f64(1);
  EXPECT_EQ(evaluate_function(program, "g", machine, {&one, 1}).results.size(), 1u);
  EXPECT_EQ(evaluate(program, machine, {}).size(), 0u);
  EXPECT_THROW(evaluate_function(program, "h", machine, {}), KeyError);
  EXPECT_THROW(evaluate(Program(), machine, {}), ValueError);
}

// Returns one element too many, and no results for `negate`.
class FaultyMachine : public ScalarMachine {
 public:
  void run(PrimitiveCall& call) override {
    if (call.instruction.primitive().name == "negate") return;
    ScalarMachine::run(call);
    if (call.instruction.primitive().name == "exp")
      call.results[0] = vector(DType::f64, Elements(3));
  }
};

TEST_F(Evaluator, ChecksTypesOfTheMachinesResults) {
  FaultyMachine faulty;
  Program wrong =
      Program::parse("func @main<n>(%x: f64[n]) -> (f64[n]) {\n %y = exp %x\n return %y\n}");
  Program none =
      Program::parse("func @main<n>(%x: f64[n]) -> (f64[n]) {\n %y = negate %x\n return %y\n}");
  Value x = f64s({1, 2});
  EXPECT_THROW(evaluate(wrong, faulty, {&x, 1}, options), ShapeError);
  EXPECT_THROW(evaluate(none, faulty, {&x, 1}, options), TypeError);
  options.check_types = false;
  EXPECT_NO_THROW(evaluate(wrong, faulty, {&x, 1}, options));
}

TEST_F(Evaluator, IndexSignaturesSayTheSameAsElementwiseLoops) {
  constexpr std::string_view text =
      R"(func @main<n>(%x: f64[n, 3], %i: i32[n]) -> (f64[n, 3], i32[n], f64[3], i32[]) {
    %0 = exp %x
    %1 = less %0, %x
    %2 = maximum %x, %0
    %3 = select %1, %x, %2
    %4 = multiply %i, %i
    %5 = negate %4
    %6 = sum %3
    %7 = sum %5
    return %3, %5, %6, %7
  })";
  Value x = machine.array(DType::f64, {2, 3}, {1, -2, 0.5, 4, 0, -0.25});
  Value i = machine.vector(DType::i32, {65536, 3});
  std::vector<Value> direct = run(text, {x, i});
  machine.compute_by_loops(true);
  std::vector<Value> by_loops = run(text, {x, i});
  for (size_t k = 0; k < direct.size(); ++k) {
    EXPECT_EQ(ScalarMachine::text(direct[k]), ScalarMachine::text(by_loops[k]));
  }
  EXPECT_EQ(ScalarMachine::number(direct[3]), -9);  // 65536 squared wraps around to 0
}

TEST_F(Evaluator, ErrorsSayWhereInTheProgram) {
  std::string message = error<IndexError>(R"(func @main(%x: f64[3]) -> (f64[]) {
    %0 = call @inner(%x)  ; model.cpp:4
    return %0
  }
  func @inner(%x: f64[3]) -> (f64[]) {
    %i = literal {value = i64[](9)}
    %0 = take %x, %i      ; model.cpp:9
    return %0
  })",
                                          {f64s({1, 2, 3})});
  expect_contains(message,
                  {"index 9", "3", "at model.cpp:9", "in @inner, called by @main (model.cpp:4)"});
}

TEST_F(Evaluator, FreesADeadValueImmediately) {
  std::string text = "func @main<n>(%x: f64[n]) -> (f64[n]) {\n %v0 = exp %x\n";
  for (int i = 1; i < 1000; ++i) text += fmt::format(" %v{} = add %v{}, %v{}\n", i, i - 1, i - 1);
  text += " return %v999\n}";
  Program program = Program::parse(text);
  Value x = f64s({1});
  machine.forget_peak();
  evaluate(program, machine, {&x, 1}, options);
  EXPECT_EQ(machine.live(), 1);      // x
  EXPECT_LE(machine.peak(), 1 + 2);  // x, an operand, its result
}

TEST_F(Evaluator, FreesUnusedParametersAndResultsImmediately) {
  Program program = Program::parse(R"(func @main(%a: f64[]) -> (f64[]) {
    %0 = exp %a
    %1 = call @ignores(%0, %a)
    return %1
  }
  func @ignores(%big: f64[], %x: f64[]) -> (f64[]) {
    %unused = exp %x
    %0 = sin %x
    return %0
  })");
  Value a = f64(1);
  machine.forget_peak();
  evaluate(program, machine, {&a, 1}, options);
  EXPECT_LE(machine.peak(), 2);
}

// Records which operands have no other owner when an instruction runs.
class NotingMachine : public ScalarMachine {
 public:
  void run(PrimitiveCall& call) override {
    for (const Value& operand : call.operands) reusable.push_back(!operand.shared());
    ScalarMachine::run(call);
  }
  std::vector<bool> reusable;
};

TEST_F(Evaluator, TheMachineMayUseTheMemoryOfOperandsThatDie) {
  NotingMachine noting;
  Program program = Program::parse(R"(func @main(%x: f64[]) -> (f64[]) {
    %0 = exp %x
    %1 = sin %0
    %2 = add %0, %1
    %3 = call @f(%2)
    return %3
  }
  func @f(%y: f64[]) -> (f64[]) {
    %0 = sin %y
    return %0
  })");
  Value x = noting.scalar(DType::f64, 1);
  evaluate(program, noting, {&x, 1}, options);
  // The caller owns %x; %0 is needed once more, then not; the arguments of @f have no other owner.
  EXPECT_EQ(noting.reusable, (std::vector<bool>{false, false, true, true, true}));
}

TEST_F(Evaluator, AnErrorLeavesNothingBehind) {
  int64_t before = machine.live();
  {
    Value x = f64s({1, 2, 3});
    Program program = Program::parse(R"(func @main(%x: f64[3]) -> (f64[]) {
      %y = exp %x
      %t = tuple %x, %y
      %i = literal {value = i64[](3)}
      %0 = take %y, %i
      %1 = element %t {index = 0}
      %2 = take %1, %i
      return %2
    })");
    EXPECT_THROW(evaluate(program, machine, {&x, 1}, options), IndexError);
    EXPECT_EQ(ScalarMachine::elements(x), (Elements{1, 2, 3}));
  }
  EXPECT_EQ(machine.live(), before);
}

}  // namespace
}  // namespace plait::ir
