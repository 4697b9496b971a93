// What one eager operation costs beside its arithmetic.
#include <benchmark/benchmark.h>

#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/shape.h"

namespace plait {
namespace {

void add_in_a_loop(benchmark::State& state) {
  const Tensor x = astype(arange(state.range(0)), DType::f32);
  Tensor y = x;
  for (auto _ : state) benchmark::DoNotOptimize(y = y + x);
}
BENCHMARK(add_in_a_loop)->Arg(16)->Arg(1000)->Arg(100'000)->Arg(16'000'000);

}  // namespace
}  // namespace plait
