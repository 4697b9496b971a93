// Overhead of the evaluator: a machine with almost no arithmetic, and programs of each kind.
#include <string>

#include <benchmark/benchmark.h>

#include "plait/ir/evaluation/evaluator.h"

#include "tests/support/scalar_machine.h"

namespace plait::ir {
namespace {

// A chain of scalar instructions; items are instructions.
void evaluate_chain(benchmark::State& state) {
  ScalarMachine machine;
  std::string text = "func @main(%x: f64[]) -> (f64[]) {\n %v0 = negate %x\n";
  for (int64_t i = 1; i < state.range(0); ++i)
    text += fmt::format(" %v{} = negate %v{}\n", i, i - 1);
  Program program = Program::parse(text + fmt::format(" return %v{}\n}}", state.range(0) - 1));
  Value x = machine.scalar(DType::f64, 1);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(program, machine, {&x, 1}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(evaluate_chain)->Range(1000, 100'000);

// Items are iterations of the loop: two calls and five instructions.
void evaluate_while(benchmark::State& state) {
  ScalarMachine machine;
  Program program = Program::parse(R"(func @main(%n: f64[]) -> (f64[]) {
    %zero = literal {value = f64[](0)}
    %0 = while @more, @step(%n, %zero) {constants = 1}
    return %0
  }
  func @more(%n: f64[], %i: f64[]) -> (bool[]) {
    %0 = less %i, %n
    return %0
  }
  func @step(%n: f64[], %i: f64[]) -> (f64[]) {
    %one = literal {value = f64[](1)}
    %0 = add %i, %one
    return %0
  })");
  Value n = machine.scalar(DType::f64, static_cast<double>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(program, machine, {&n, 1}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(evaluate_while)->Range(1000, 100'000);

// Items are calls, each of a function with one size.
void evaluate_recursion(benchmark::State& state) {
  ScalarMachine machine;
  Program program = Program::parse(R"(func @main<n>() -> (i64[]) {
    %0 = call @down<n>()
    return %0
  }
  func @down<n>() -> (i64[]) {
    %n = size {value = n}
    %zero = literal {value = i64[](0)}
    %more = less %zero, %n
    %0 = cond @deeper<n>, @done<n>(%more, %n)
    return %0
  }
  func @deeper<n>(%n: i64[]) -> (i64[]) {
    %0 = call @down<n - 1>()
    return %0
  }
  func @done<n>(%n: i64[]) -> (i64[]) {
    return %n
  })");
  EvaluatorOptions options{.check_types = false};
  options.sizes.set(Dim::symbol("n"), state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(program, machine, {}, options));
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(evaluate_recursion)->Range(1000, 100'000);

// Items are nodes.
void free_list(benchmark::State& state) {
  Value element = Value::of(0);
  for (auto _ : state) {
    state.PauseTiming();
    Value list = Value::absent();
    for (int64_t i = 0; i < state.range(0); ++i) {
      list = Value::present(Value::aggregate({element, std::move(list)}));
    }
    state.ResumeTiming();
    list = Value();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(free_list)->Range(1000, 1'000'000);

}  // namespace
}  // namespace plait::ir
