// Building, verifying and destroying a function of a million instructions.
#include <optional>

#include <benchmark/benchmark.h>

#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

constexpr int64_t kMillion = 1'000'000;

Program chain(int64_t length) {
  register_scalar_ops();
  ProgramBuilder program;
  FunctionBuilder f = program.function("main");
  ValueId x = f.parameter(Type::scalar(DType::f64), "x");
  const Primitive& add = primitive("add");
  ValueId y = x;
  for (int64_t i = 0; i < length; ++i) y = f.add(add, {y, x});
  program.add(f.finish({y}));
  return program.finish();
}

void Build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(chain(state.range(0)));
}

void Verify(benchmark::State& state) {
  Program program = chain(state.range(0));
  for (auto _ : state) verify(program);
}

void Destroy(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    std::optional<Program> program = chain(state.range(0));
    state.ResumeTiming();
    program.reset();
  }
}

BENCHMARK(Build)->Arg(kMillion)->Unit(benchmark::kMillisecond);
BENCHMARK(Verify)->Arg(kMillion)->Unit(benchmark::kMillisecond);
BENCHMARK(Destroy)->Arg(kMillion)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait::ir
