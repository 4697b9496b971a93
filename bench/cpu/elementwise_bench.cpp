// Elementwise operations on arrays from a few to 16 million elements, in f32, bf16 and f64. `bytes`
// counts the minimal reads and writes.
#include <array>

#include <benchmark/benchmark.h>

#include "plait/core/settings.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"

namespace plait {
namespace {

Array array_of(DType dtype, int64_t count) {
  return Array::filled(DType::f32, {count}, Element::of(0.7)).converted(dtype);
}

void report(benchmark::State& bench, DType dtype, int64_t arrays) {
  bench.SetItemsProcessed(bench.iterations() * bench.range(0));
  bench.SetBytesProcessed(bench.iterations() * bench.range(0) * arrays * size_of(dtype));
}

void binary(benchmark::State& bench, const char* op, DType dtype) {
  const ElementwiseLoop loop = find_elementwise_loop(op, dtype);
  const Array operands[] = {array_of(dtype, bench.range(0)), array_of(dtype, bench.range(0))};
  Array out = array_of(dtype, bench.range(0));
  for (auto _ : bench) {
    run_elementwise(loop, operands, out);
    benchmark::ClobberMemory();
  }
  report(bench, dtype, 3);
}

void unary(benchmark::State& bench, const char* op, DType dtype) {
  const ElementwiseLoop loop = find_elementwise_loop(op, dtype);
  const Array operands[] = {array_of(dtype, bench.range(0))};
  Array out = array_of(dtype, bench.range(0));
  for (auto _ : bench) {
    run_elementwise(loop, operands, out, 10);
    benchmark::ClobberMemory();
  }
  report(bench, dtype, 2);
}

// x (1 + tanh(0.8 (x + 0.04 x^3))) / 2, one operation after the other.
void gelu(benchmark::State& bench, DType dtype) {
  const auto loop = [&](const char* op) { return find_elementwise_loop(op, dtype); };
  const ElementwiseLoop multiply = loop("multiply"), add = loop("add"), tanh = loop("tanh");
  const int64_t count = bench.range(0);
  const auto number = [&](double value) {
    const Array one = Array::filled(dtype, {}, Element::of(value));
    return one.view(one.layout().broadcast_to(std::array{count}));
  };
  const Array x = array_of(dtype, count), half = number(0.5), one = number(1);
  const Array inner = number(0.8), cubic = number(0.04);
  const auto apply = [&](ElementwiseLoop op, std::initializer_list<Array> operands, int64_t cost) {
    Array out = Array::empty(dtype, {count});
    run_elementwise(op, std::span(operands.begin(), operands.size()), out, cost);
    return out;
  };
  const auto compute = [&] {
    const Array cube = apply(multiply, {apply(multiply, {x, x}, 1), x}, 1);
    const Array sum = apply(add, {x, apply(multiply, {cube, cubic}, 1)}, 1);
    const Array bent = apply(tanh, {apply(multiply, {sum, inner}, 1)}, 10);
    return apply(multiply, {apply(multiply, {x, half}, 1), apply(add, {bent, one}, 1)}, 1);
  };
  compute();  // allocates memory
  for (auto _ : bench) benchmark::DoNotOptimize(compute().data());
  report(bench, dtype, 2);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(16)->Arg(1000)->Arg(100'000)->Arg(16 << 20)->UseRealTime();
}
BENCHMARK_CAPTURE(binary, add_f32, "add", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(binary, add_bf16, "add", DType::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(unary, exp_f32, "exp", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, exp_bf16, "exp", DType::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(unary, tanh_f32, "tanh", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, tanh_bf16, "tanh", DType::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(unary, log_f32, "log", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, erf_f32, "erf", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, sin_f32, "sin", DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, exp_f64, "exp", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(unary, tanh_f64, "tanh", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(unary, log_f64, "log", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(unary, erf_f64, "erf", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(unary, sin_f64, "sin", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(binary, power_f64, "power", DType::f64)->Apply(sizes);
BENCHMARK_CAPTURE(gelu, f32, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(gelu, bf16, DType::bf16)->Apply(sizes);

}  // namespace
}  // namespace plait
