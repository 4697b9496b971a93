// Overhead of parallel loops in the thread team.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

using namespace std::chrono_literals;

class Sizes {
 public:
  Sizes(int threads, std::chrono::microseconds spin) {
    set_thread_count(threads);
    set_spin_time(spin);
  }
  ~Sizes() {
    set_thread_count(threads_);
    set_spin_time(spin_);
  }

 private:
  int threads_ = thread_count();
  std::chrono::microseconds spin_ = spin_time();
};

void scale(std::vector<float>& values, int64_t begin, int64_t end) {
  float* data = values.data();
  for (int64_t i = begin; i < end; ++i) data[i] = data[i] * 1.0001f + 0.5f;
  benchmark::ClobberMemory();
}

// One call after the other: workers spin. Arguments: threads, microseconds of spinning.
void hot_dispatch(benchmark::State& bench) {
  const Sizes sizes(static_cast<int>(bench.range(0)), std::chrono::microseconds(bench.range(1)));
  for (auto _ : bench) parallel_chunks(bench.range(0), [](int64_t) {});
}
BENCHMARK(hot_dispatch)->ArgsProduct({{1, 2}, {0, 30}})->UseRealTime();

// All threads must arrive, so this is the time to wake the team and to join it again.
void hot_meeting(benchmark::State& bench) {
  const Sizes sizes(2, std::chrono::microseconds(bench.range(0)));
  for (auto _ : bench) {
    std::atomic<int> arrived = 0;
    parallel_chunks(2, [&](int64_t) {
      ++arrived;
      while (arrived.load(std::memory_order_acquire) < 2) std::this_thread::yield();
    });
  }
}
BENCHMARK(hot_meeting)->Arg(0)->Arg(30)->UseRealTime();

// After a pause in which the workers go to sleep.
void cold_dispatch(benchmark::State& bench) {
  const Sizes sizes(2, 30us);
  for (auto _ : bench) {
    std::this_thread::sleep_for(500us);
    const auto start = std::chrono::steady_clock::now();
    parallel_chunks(2, [](int64_t) {});
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    bench.SetIterationTime(time.count());
  }
}
BENCHMARK(cold_dispatch)->UseManualTime()->Iterations(2000);

void plain_loop(benchmark::State& bench) {
  std::vector<float> values(bench.range(0), 1.0f);
  for (auto _ : bench) scale(values, 0, bench.range(0));
}
BENCHMARK(plain_loop)->RangeMultiplier(8)->Range(1 << 12, 1 << 21)->UseRealTime();

void shared_loop(benchmark::State& bench) {
  const Sizes sizes(2, 30us);
  std::vector<float> values(bench.range(0), 1.0f);
  for (auto _ : bench) {
    parallel_for(bench.range(0), 2048,
                 [&](int64_t begin, int64_t end) { scale(values, begin, end); });
  }
}
BENCHMARK(shared_loop)->RangeMultiplier(8)->Range(1 << 12, 1 << 21)->UseRealTime();

}  // namespace
}  // namespace plait
