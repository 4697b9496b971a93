// Work memory of plans, and the bounds of guarded memory.
#include "plait/compile/inside/running/plan_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <gtest/gtest.h>
#include <unistd.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/planned_memory.h"
#include "plait/core/error.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/memory/memory.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"

#include "tests/compile/as_evaluated.h"

namespace plait::compile {
namespace {

// ---- The memory that is known before a program runs.

Tensors gradients_of_layers(const Tensor& x, const Tensor& w, const Tensor& v) {
  const auto loss = [](const Tensor& x, const Tensor& w, const Tensor& v) {
    return sum(square(matmul(tanh(matmul(x, w)), v)));
  };
  const auto [dx, dw, dv] = grad<0, 1, 2>(loss)(x, w, v);
  return {dx, dw, dv};
}

TEST(PlannedMemory, IsWhatACallTakes) {
  const Tensors x{numbers({2000, 64}, 1), numbers({64, 200}, 2), numbers({200, 32}, 3)};
  const Compiled compiled(trace(gradients_of_layers)(x[0], x[1], x[2]).program);
  const PlannedMemory planned = planned_memory(compiled);
  EXPECT_TRUE(planned.is_complete);
  const int64_t arguments = 4 * (2000 * 64 + 64 * 200 + 200 * 32);
  EXPECT_EQ(planned.arguments, arguments);
  EXPECT_EQ(planned.results, arguments);
  const int64_t before = memory_statistics().live_bytes;
  reset_peak_memory();
  const Tensors results = compiled(x);
  const int64_t taken = memory_statistics().peak_bytes - before;
  EXPECT_LE(planned.results + planned.temporaries, taken);
  EXPECT_GE(planned.results + planned.temporaries, taken * 3 / 4) << "work memory is not counted";
}

TEST(PlannedMemory, OfSymbolicSizesAndLoops) {
  const Dim n = Dim::symbol("n");
  const Tensor x = abstract_tensor(ir::Type::array(DType::f32, {n, 1000}));
  const auto f = [](const Tensor& x) {
    const auto body = [](const Tensor&, const Tensor& carry) { return sort(carry, -1) * 2; };
    return sum(for_loop(0, 5, body, x), 1);
  };
  const Compiled compiled(trace(f)(x).program);
  const Dim symbol = CompiledAccess::plan(compiled).functions[0].size_parameters[0];
  const PlannedMemory planned = planned_memory(compiled, {{symbol, 50}});
  EXPECT_EQ(planned.arguments, 4 * 50 * 1000);
  EXPECT_EQ(planned.results, 4 * 50);
  EXPECT_GE(planned.temporaries, 4 * 50 * 1000);
  EXPECT_LE(planned.temporaries, 3 * 4 * 50 * 1000);
  EXPECT_LE(planned_memory(compiled, {{symbol, 0}}).peak(), 256) << "numbers of the loop";
  EXPECT_THROW(planned_memory(compiled), ValueError);
}

TEST(PlannedMemory, OfSizesThatDependOnData) {
  const auto f = [](const Tensor& x) { return nonzero(x)[0] * 2; };
  const Compiled compiled(trace(f)(numbers({100}, 1)).program);
  EXPECT_FALSE(planned_memory(compiled).is_complete);
}

// ---- Work memory.

TEST(WorkMemory, LiesInOneBlockFromTheSecondTimeOn) {
  const auto takes = [](WorkMemory& memory) {
    const Buffer a = memory.take(100), b = memory.take(1000);
    return b.data() - a.data();
  };
  const auto first = std::make_shared<WorkMemory>(0);
  takes(*first), takes(*first);
  first->take(0);
  EXPECT_EQ(first->wanted_bytes(), 128 + 1024);
  const auto second = std::make_shared<WorkMemory>(first->wanted_bytes());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(takes(*second), 128);
  EXPECT_EQ(second->wanted_bytes(), second->bytes());
}

TEST(WorkMemory, AllocatesLargeBuffersSeparately) {
  const auto memory = std::make_shared<WorkMemory>(4096);
  const Buffer small = memory->take(4000);
  Buffer large = memory->take(10'000);
  std::memset(small.data(), 1, 4000);
  std::memset(large.data(), 2, 10'000);
  EXPECT_TRUE(std::all_of(small.data(), small.data() + 4000,
                          [](std::byte each) { return each == std::byte{1}; }));
  EXPECT_EQ(memory->wanted_bytes(), 4032 + 10'048);
}

TEST(WorkMemory, OutlivesItsOwner) {
  Buffer kept;
  {
    const auto memory = std::make_shared<WorkMemory>(1 << 20);
    kept = memory->take(1 << 20);
  }
  std::memset(kept.data(), 1, 1 << 20);
  EXPECT_TRUE(kept.is_writable());
}

TEST(WorkMemory, IsNobodyElsesMeanwhile) {
  const auto memory = std::make_shared<WorkMemory>(1 << 16);
  std::atomic<int> mistakes = 0;
  parallel_chunks(2000, [&](int64_t chunk) {
    std::vector<Buffer> taken;
    for (int64_t i = 0; i < 3; ++i) {
      taken.push_back(memory->take(64 + (chunk * 7 + i) % 5 * 100));
      std::fill_n(taken.back().data(), 64, static_cast<std::byte>(chunk % 251));
    }
    for (const Buffer& each : taken) {
      mistakes += !std::all_of(each.data(), each.data() + 64, [&](std::byte byte) {
        return byte == static_cast<std::byte>(chunk % 251);
      });
    }
  });
  EXPECT_EQ(mistakes, 0);
}

// ---- Memory of running programs.

// Calls `work` in a step of a program that runs three times.
template <class Work>
void run_in_step(const Work& work, const ExecutionOptions& options) {
  const auto f = [&](const Tensor& x) {
    const auto host = [&](std::span<const Tensor>) {
      work();
      return std::vector<Tensor>();
    };
    callback(host, Tensors{x});
    return x + 1.;
  };
  const Tensor x = numbers({4}, 1);
  const Compiled compiled(trace(f)(x).program);
  for (int i = 0; i < 3; ++i) CompiledAccess::run(compiled, Tensors{x}, options);
}

TEST(PlanMemory, IsTheSameForWorkFromTheSecondCallOn) {
  std::vector<std::byte*> places;
  std::vector<Buffer> others;
  const auto work = [&] {
    others.push_back(Buffer::from_cache(5000));  // takes the block that the cache would return
    places.push_back(Buffer::allocate_work(5000).data());
  };
  run_in_step(work, {.arena = ArenaOptions{}});
  ASSERT_GE(places.size(), 3u);
  EXPECT_EQ(places.back(), places[places.size() - 2]);
}

bool ends_at_page(const Buffer& buffer, int64_t bytes, int64_t shift) {
  const auto end = reinterpret_cast<intptr_t>(buffer.data() + bytes + shift);
  return end % sysconf(_SC_PAGESIZE) == 0;
}

TEST(PlanMemory, EndsAtAPageThatNobodyMayTouch) {
  constexpr int64_t kShift = 16;
  bool is_run = false;
  std::atomic<int> others = 0;
  const auto work = [&] {
    is_run = BufferSource::current() != nullptr;
    if (!is_run) return;  // traced
    others += !ends_at_page(Buffer::allocate(100), 100, kShift);
    others += !ends_at_page(Buffer::allocate_work(100), 100, kShift);
    parallel_chunks(100, [&](int64_t) {
      others += !ends_at_page(Buffer::allocate(100), 100, kShift);
      others += !ends_at_page(Buffer::allocate_work(100), 100, kShift);
    });
  };
  run_in_step(work, {.arena = ArenaOptions{.is_guarded = true, .shift = kShift}});
  EXPECT_TRUE(is_run);
  EXPECT_EQ(others, 0);
}

TEST(PlanMemory, ArgumentsAreCopiedToWhereItEnds) {
  constexpr int64_t kBytes = 12;
  const Tensor x = numbers({kBytes / 4}, 1);
  bool is_run = false, is_copied = false;
  const auto f = [&](const Tensor& y) {
    const auto look = [&](std::span<const Tensor> given) {
      is_run = BufferSource::current() != nullptr;
      if (is_run) is_copied = ends_at_page(given[0].array().buffer(), kBytes, 0);
      return std::vector<Tensor>();
    };
    callback(look, Tensors{y});
    return y * 2.;
  };
  const Compiled compiled(trace(f)(x).program);
  CompiledAccess::run(compiled, Tensors{x}, {.arena = ArenaOptions{.is_guarded = true}});
  EXPECT_TRUE(is_run);
  EXPECT_TRUE(is_copied);
}

TEST(PlanMemory, AnyShiftLeavesElementsWhereTheyMayLie) {
  for (const int64_t shift : {1, 4, 24}) {
    bool is_apart = false;
    const auto work = [&] {
      if (BufferSource::current() == nullptr) return;  // traced
      is_apart |= reinterpret_cast<intptr_t>(Buffer::allocate(48).data()) % 16 != 0;
      is_apart |= reinterpret_cast<intptr_t>(Buffer::allocate_work(48).data()) % 16 != 0;
    };
    run_in_step(work, {.arena = ArenaOptions{.is_guarded = true, .shift = shift}});
    EXPECT_FALSE(is_apart) << shift;
  }
  const auto place = [](int64_t shift, int64_t element_bytes) {
    const GuardedBlock block(48, shift, element_bytes);
    return sysconf(_SC_PAGESIZE) -
           reinterpret_cast<intptr_t>(block.buffer().data()) % sysconf(_SC_PAGESIZE);
  };
  EXPECT_EQ(place(4, 4), 52);
  EXPECT_EQ(place(4, 8), 56);
  EXPECT_EQ(place(1, 1), 49);
}

TEST(PlanMemory, FindsWritesOutOfBounds) {
  for (const int64_t at : {-1, 0, 99, 100}) {
    for (const bool is_work : {false, true}) {
      const auto work = [&] {
        if (BufferSource::current() == nullptr) return;  // traced
        const Buffer mine = is_work ? Buffer::allocate_work(100) : Buffer::allocate(100);
        mine.data()[at] = std::byte{1};
      };
      const ExecutionOptions guarded{.arena = ArenaOptions{.is_guarded = true, .shift = 16}};
      if (at >= 0 && at < 100) {
        EXPECT_NO_THROW(run_in_step(work, guarded));
      } else {
        EXPECT_THROW(run_in_step(work, guarded), CheckError) << at;
      }
    }
  }
}

}  // namespace
}  // namespace plait::compile
