// Time of transforms of a recorded program.
#include <benchmark/benchmark.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/programs.h"

namespace user {

// `length` products, sums and functions of matrices, reduced to a number.
struct Layers {
  int64_t length;
  plait::Tensor operator()(const plait::Tensor& x, const plait::Tensor& w) const {
    plait::Tensor y = x;
    for (int64_t i = 0; i + 5 <= length; i += 5) y = tanh(matmul(y, w)) * x + sin(y);
    return sum(y);
  }
};

}  // namespace user

namespace plait {
namespace {

using user::Layers;

ir::Program recorded(int64_t length) {
  const Tensor x = ones({8, 4}), w = ones({4, 4});
  return trace(Layers{length})(x, w).program;
}

void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void record_program(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(recorded(state.range(0)));
  count(state);
}
void grad_of_program(benchmark::State& state) {
  const ir::Program program = recorded(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(grad(program, {0, 1}));
  count(state);
}
void jvp_of_program(benchmark::State& state) {
  const ir::Program program = recorded(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(jvp(program));
  count(state);
}
void grad_recorded(benchmark::State& state) {
  const Tensor x = ones({8, 4}), w = ones({4, 4});
  for (auto _ : state) {
    benchmark::DoNotOptimize(trace(grad<0, 1>(Layers{state.range(0)}))(x, w).program);
  }
  count(state);
}

BENCHMARK(record_program)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(grad_of_program)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(jvp_of_program)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(grad_recorded)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
