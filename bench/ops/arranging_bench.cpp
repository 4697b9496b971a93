// Sorting, scans and extrema of long rows and of many short ones.
#include <benchmark/benchmark.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

namespace plait {
namespace {

// Pseudo-random numbers, the same on every run, in `rows` rows.
Tensor numbers(const benchmark::State& state, DType dtype = DType::f32) {
  const int64_t rows = state.range(0), length = state.range(1);
  Array array = Array::empty(DType::f64, {rows, length});
  uint64_t word = 1;
  for (double& element : array.writable_elements<double>()) {
    word = word * 6364136223846793005 + 1442695040888963407;
    element = static_cast<double>(static_cast<int64_t>(word) >> 11);
  }
  return astype(Tensor(std::move(array)), dtype);
}

template <class F>
void measure(benchmark::State& state, DType dtype, F f) {
  const Tensor x = numbers(state, dtype);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1, 16'000'000})->Args({10'000, 1000})->Unit(benchmark::kMillisecond);
  benchmark->UseRealTime();
}

void sort_values(benchmark::State& state) {
  measure(state, DType::f32, [](const Tensor& x) { return sort(x); });
}
void sort_values_f64(benchmark::State& state) {
  measure(state, DType::f64, [](const Tensor& x) { return sort(x); });
}
void argsort_rows(benchmark::State& state) {
  measure(state, DType::f32, [](const Tensor& x) { return argsort(x); });
}
void topk_ten(benchmark::State& state) {
  measure(state, DType::f32, [](const Tensor& x) { return topk(x, 10).values; });
}
void argmax_rows(benchmark::State& state) {
  measure(state, DType::f32, [](const Tensor& x) { return argmax(x, 1); });
}
void cumsum_rows(benchmark::State& state) {
  measure(state, DType::f32, [](const Tensor& x) { return cumsum(x, 1); });
}
BENCHMARK(sort_values)->Apply(shapes);
BENCHMARK(sort_values_f64)->Apply(shapes);
BENCHMARK(argsort_rows)->Apply(shapes);
BENCHMARK(topk_ten)->Apply(shapes);
BENCHMARK(argmax_rows)->Apply(shapes);
BENCHMARK(cumsum_rows)->Apply(shapes);

}  // namespace
}  // namespace plait
