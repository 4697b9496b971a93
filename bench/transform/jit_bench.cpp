// Overhead of a call of a jitted function.
#include <benchmark/benchmark.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/jit.h"

namespace user {

constexpr int64_t kLength = 500;

// A chain of operations: run eagerly, from a record, and as one piece.
plait::Tensor chain(plait::Tensor x, int64_t length) {
  for (int64_t i = 0; i < length; ++i) x = sin(x) + x;
  return x;
}
plait::Tensor short_chain(const plait::Tensor& x) { return chain(x, kLength); }
plait::Tensor chain_with_a_read(const plait::Tensor& x) {
  return chain(x, kLength) * sum(x).item<double>();
}
plait::Tensor long_chain(const plait::Tensor& x) { return chain(x, 5'000); }

}  // namespace user

namespace plait {
namespace {

std::vector<Tensor> leaves_of(const benchmark::State& state) {
  std::vector<Tensor> leaves;
  for (int64_t i = 0; i < state.range(0); ++i) leaves.push_back(full({16}, i));
  return leaves;
}

// A cache hit with many tensors, by a backend that returns the first one: the time of the lookup.
void hit(benchmark::State& state) {
  register_backend("first", [](const ir::Program&, const JitOptions&) {
    return [](const JitArguments& arguments) { return std::vector<Tensor>{arguments[0]}; };
  });
  const auto f =
      jit([](const std::vector<Tensor>& all) { return all[0] + all.back(); }, {.backend = "first"});
  const std::vector<Tensor> leaves = leaves_of(state);
  f(leaves);
  for (auto _ : state) benchmark::DoNotOptimize(f(leaves));
}

void eager(benchmark::State& state) {
  const Tensor x = ones({16});
  for (auto _ : state) benchmark::DoNotOptimize(user::short_chain(x));
  state.SetItemsProcessed(state.iterations() * 2 * user::kLength);
}
void from_the_record(benchmark::State& state) {
  const auto f = jit(user::short_chain);
  const Tensor x = ones({16});
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  state.SetItemsProcessed(state.iterations() * 2 * user::kLength);
}
void in_a_piece(benchmark::State& state) {
  const auto f = jit(user::chain_with_a_read);
  const Tensor x = ones({16});
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  state.SetItemsProcessed(state.iterations() * 2 * user::kLength);
}
void recording(benchmark::State& state) {
  const Tensor x = ones({16});
  for (auto _ : state) benchmark::DoNotOptimize(jit(user::long_chain)(x));
  state.SetItemsProcessed(state.iterations() * 10'000);
}

BENCHMARK(hit)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(eager);
BENCHMARK(from_the_record);
BENCHMARK(in_a_piece);
BENCHMARK(recording)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
