// Time to verify, rewrite, prune and identify a million instructions.
#include <benchmark/benchmark.h>

#include "plait/ir/analysis/identity.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"
#include "plait/ir/rewriting/pattern.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

// x − (−x) repeatedly, which a rule rewrites to x + x.
Program chain(int64_t length) {
  register_scalar_ops();
  ProgramBuilder program;
  FunctionBuilder f = program.function("main");
  ValueId x = f.parameter(Type::scalar(DType::f32)), y = x;
  const Primitive &subtract = primitive("subtract"), &negate = primitive("negate");
  for (int64_t i = 0; i < length / 2; ++i) y = f.add(subtract, {y, f.add(negate, {y})});
  program.add(f.finish({y}));
  return program.finish();
}

template <class Work>
void measure(benchmark::State& state, Work work) {
  Program program = chain(state.range(0));
  for (auto _ : state) work(program);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void build(benchmark::State& state) {
  measure(state, [&](const Program&) { benchmark::DoNotOptimize(chain(state.range(0))); });
}
void verify_chain(benchmark::State& state) {
  measure(state, [](const Program& program) { verify(program); });
}
void rewrite_without_rules(benchmark::State& state) {
  measure(state,
          [](const Program& program) { benchmark::DoNotOptimize(Rewriter({}).rewrite(program)); });
}
void rewrite_every_other(benchmark::State& state) {
  measure(state, [](const Program& program) {
    Rewriter rewriter({parse_rule("subtract(?x, negate(?y)) => add(?x, ?y)")});
    benchmark::DoNotOptimize(rewriter.rewrite(program));
  });
}
void prune_half(benchmark::State& state) {
  Program program = Rewriter({parse_rule("subtract(?x, negate(?y)) => add(?x, ?y)")})
                        .rewrite(chain(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(prune(program));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
void identify(benchmark::State& state) {
  measure(state, [](const Program& program) { benchmark::DoNotOptimize(identities(program)); });
}

BENCHMARK(build)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(verify_chain)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(rewrite_without_rules)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(rewrite_every_other)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(prune_half)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(identify)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait::ir
