// Overhead of one eager operation.
#include <benchmark/benchmark.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

void add_in_a_loop(benchmark::State& state) {
  const Tensor x = astype(arange(state.range(0)), DType::f32);
  Tensor y = x;
  for (auto _ : state) benchmark::DoNotOptimize(y = y + x);
}
BENCHMARK(add_in_a_loop)->Arg(16)->Arg(1000)->Arg(100'000)->Arg(16'000'000);

Tensor small() { return astype(arange(16), DType::f32); }

void multiply_by_a_number(benchmark::State& state) {
  const Tensor x = small();
  for (auto _ : state) benchmark::DoNotOptimize(x * 2.0);
}
BENCHMARK(multiply_by_a_number);

void exponentials(benchmark::State& state) {
  const Tensor x = small();
  for (auto _ : state) benchmark::DoNotOptimize(exp(x));
}
BENCHMARK(exponentials);

void sum_of_sixteen(benchmark::State& state) {
  const Tensor x = small();
  for (auto _ : state) benchmark::DoNotOptimize(sum(x));
}
BENCHMARK(sum_of_sixteen);

void slice_of_a_vector(benchmark::State& state) {
  const Tensor x = small();
  for (auto _ : state) benchmark::DoNotOptimize(slice(x, 0, {.start = 2, .stop = 10}));
}
BENCHMARK(slice_of_a_vector);

void product_of_four_by_four(benchmark::State& state) {
  const Tensor x = reshape(small(), {4, 4});
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, x));
}
BENCHMARK(product_of_four_by_four);

}  // namespace
}  // namespace plait
