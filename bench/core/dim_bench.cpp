#include <benchmark/benchmark.h>

#include "plait/core/sizes/dim.h"
#include "plait/core/sizes/shape.h"
#include "plait/core/sizes/size_facts.h"

namespace plait {
namespace {

const Dim m = Dim::symbol("m"), n = Dim::symbol("n");

void add_numbers(benchmark::State& state) {
  Dim a = 3, b = 4;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(a + b);
  }
}
BENCHMARK(add_numbers);

void multiply_and_divide_numbers(benchmark::State& state) {
  Dim a = 300, b = 4;
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(floor_div(a * b, b));
  }
}
BENCHMARK(multiply_and_divide_numbers);

// The expressions are already in the table.
void add_symbols(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(n + m);
}
BENCHMARK(add_symbols);

void convolution_output(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(floor_div(n + 2 - m, 2) + 1);
}
BENCHMARK(convolution_output);

void maximum(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(max(n + 1, m));
}
BENCHMARK(maximum);

void evaluate(benchmark::State& state) {
  const Dim size = floor_div(n + 2 - m, 2) + 1;
  const SymbolMap<int64_t> sizes{{n, 224}, {m, 3}};
  for (auto _ : state) benchmark::DoNotOptimize(size.evaluate(sizes));
}
BENCHMARK(evaluate);

void copy_shape(benchmark::State& state) {
  Shape shape;
  for (int64_t i = 0; i < state.range(0); ++i) shape.append(n + i);
  for (auto _ : state) {
    Shape copy = shape;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_shape)->Arg(2)->Arg(4)->Arg(8);

void compare_shapes(benchmark::State& state) {
  Shape a{n, 3, m, m}, b{n, 3, m, m};
  for (auto _ : state) {
    benchmark::DoNotOptimize(a);
    benchmark::DoNotOptimize(a == b);
  }
}
BENCHMARK(compare_shapes);

void broadcast_static_shapes(benchmark::State& state) {
  const Shape a{32, 1, 64}, b{16, 64};
  SizeContext context;
  for (auto _ : state) benchmark::DoNotOptimize(broadcast(a, b, context));
}
BENCHMARK(broadcast_static_shapes);

void prove_from_a_fact(benchmark::State& state) {
  SizeFacts facts;
  facts.add({n, SizeFact::less_equal, m});
  const SizeFact asked{n, SizeFact::less, m + 1};
  for (auto _ : state) benchmark::DoNotOptimize(facts.prove(asked));
}
BENCHMARK(prove_from_a_fact);

}  // namespace
}  // namespace plait
