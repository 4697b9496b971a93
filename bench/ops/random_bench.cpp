// Speed of random numbers, matrix factorisations and Fourier transforms.
#include <benchmark/benchmark.h>

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"

namespace plait {
namespace {

constexpr int64_t kMany = 1 << 24;

template <class Draw>
void draw(benchmark::State& state, Draw draw_all) {
  const Tensor key = random::key(1);
  for (auto _ : state) benchmark::DoNotOptimize(draw_all(key).array().data());
  state.SetItemsProcessed(state.iterations() * kMany);
}

void bits(benchmark::State& state) {
  draw(state, [](const Tensor& key) { return random::bits(key, {kMany}); });
}
void uniform(benchmark::State& state) {
  draw(state, [](const Tensor& key) { return random::uniform(key, {kMany}); });
}
void normal(benchmark::State& state) {
  draw(state, [](const Tensor& key) { return random::normal(key, {kMany}); });
}
void gumbel(benchmark::State& state) {
  draw(state, [](const Tensor& key) { return random::gumbel(key, {kMany}); });
}
void randint(benchmark::State& state) {
  draw(state, [](const Tensor& key) { return random::randint(key, {kMany}, 0, 1000); });
}

void solve(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor a = random::normal(random::key(1), {n, n}), b = random::normal(random::key(2), {n});
  for (auto _ : state) benchmark::DoNotOptimize(linalg::solve(a, b).array().data());
}
void cholesky(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor x = random::normal(random::key(1), {n, 2 * n});
  const Tensor a = matmul(x, matrix_transpose(x));
  for (auto _ : state) benchmark::DoNotOptimize(linalg::cholesky(a).array().data());
}
void svd(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor a = random::normal(random::key(1), {n, n});
  for (auto _ : state) benchmark::DoNotOptimize(linalg::svd(a).s.array().data());
}

void rfft(benchmark::State& state) {
  const int64_t n = state.range(0), rows = (1 << 20) / n;
  const Tensor x = random::normal(random::key(1), {rows, n});
  for (auto _ : state) benchmark::DoNotOptimize(fft::rfft(x).array().data());
  state.SetItemsProcessed(state.iterations() * rows * n);
}
void fft_complex(benchmark::State& state) {
  const int64_t n = state.range(0), rows = (1 << 20) / n;
  const Tensor x = astype(random::normal(random::key(1), {rows, n}), DType::c64);
  for (auto _ : state) benchmark::DoNotOptimize(fft::fft(x).array().data());
  state.SetItemsProcessed(state.iterations() * rows * n);
}

BENCHMARK(bits)->UseRealTime();
BENCHMARK(uniform)->UseRealTime();
BENCHMARK(normal)->UseRealTime();
BENCHMARK(gumbel)->UseRealTime();
BENCHMARK(randint)->UseRealTime();
BENCHMARK(solve)->Arg(64)->Arg(1024)->UseRealTime();
BENCHMARK(cholesky)->Arg(64)->Arg(1024)->UseRealTime();
BENCHMARK(svd)->Arg(64)->Arg(512)->UseRealTime();
BENCHMARK(rfft)->Arg(1024)->Arg(1000)->Arg(1009)->Arg(1 << 20)->UseRealTime();
BENCHMARK(fft_complex)->Arg(1024)->Arg(1 << 20)->UseRealTime();

}  // namespace
}  // namespace plait
