#include "plait/core/system/thread_team.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/cpu_count.h"
#include "plait/core/inside/system/denormal_mode.h"
#include "plait/core/system/denormals.h"

#include "tests/core/system/thread_ranges.h"

namespace plait {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Restores the thread count after each test.
class ThreadTeam : public testing::Test {
 protected:
  ~ThreadTeam() override {
    set_thread_count(count_);
    set_spin_time(spin_time_);
  }

 private:
  int count_ = thread_count();
  std::chrono::microseconds spin_time_ = spin_time();
};

template <class Condition>
bool soon(Condition condition) {
  const auto deadline = steady_clock::now() + 20s;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// A barrier: threads continue once `expected` of them have arrived.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  bool wait() {
    ++arrived_;
    return soon([this] { return arrived_ >= expected_; });
  }

 private:
  int expected_;
  std::atomic<int> arrived_ = 0;
};

int worker_count() {
  int workers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    workers += name.starts_with("plait-");
  }
  return workers;
}

TEST_F(ThreadTeam, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000, 12345}) {
      for (const int64_t grain : {1, 3, 64, 100000}) {
        const int64_t unit = grain == 64 ? 64 : 1;
        std::vector<std::atomic<int>> visits(count);
        parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_EQ(begin % unit, 0);
          EXPECT_TRUE(end % unit == 0 || end == count);
          for (int64_t i = begin; i < end; ++i) ++visits[i];
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count << " by " << grain;
      }
    }
  }
}

TEST_F(ThreadTeam, VisitsEachChunkOnce) {
  set_thread_count(4);
  std::vector<std::atomic<int>> visits(5000);
  parallel_chunks(5000, [&](int64_t chunk) { ++visits[chunk]; });
  for (const auto& visit : visits) ASSERT_EQ(visit, 1);
  parallel_chunks(0, [&](int64_t) { ADD_FAILURE() << "there is no chunk"; });
}

TEST_F(ThreadTeam, HandsOnTheContextOfTheCaller) {
  set_thread_count(4);
  LoopContext outer, inner;
  std::atomic<int> others = 0;
  const auto expect_in_loops = [&](LoopContext* context) {
    parallel_chunks(50, [&](int64_t) {
      others += LoopContext::current() != context;
      parallel_chunks(5, [&](int64_t) { others += LoopContext::current() != context; });
    });
  };
  expect_in_loops(nullptr);
  {
    const LoopContext::Scope scope(outer);
    expect_in_loops(&outer);
    parallel_chunks(50, [&](int64_t) {
      const LoopContext::Scope within(inner);
      parallel_chunks(5, [&](int64_t) { others += LoopContext::current() != &inner; });
    });
    expect_in_loops(&outer);
  }
  expect_in_loops(nullptr);
  EXPECT_EQ(others, 0);
}

TEST_F(ThreadTeam, ComputesWithDenormalsAsTheCallerDoes) {
  if (!can_flush_denormals()) GTEST_SKIP() << "this processor has no such mode";
  set_thread_count(4);
  const auto zeros_in_loops = [] {
    std::atomic<int> zeros = 0;
    parallel_chunks(100, [&](int64_t) {
      volatile float small = 1e-30F;
      small = small * 1e-10F;
      zeros += small == 0;
      std::this_thread::yield();
    });
    return zeros.load();
  };
  EXPECT_EQ(zeros_in_loops(), 0);
  {
    const FlushDenormals flush;
    EXPECT_EQ(zeros_in_loops(), 100);
    {
      const FlushDenormals keep(false);
      EXPECT_EQ(zeros_in_loops(), 0);
    }
    EXPECT_TRUE(flushes_denormals());
    parallel_chunks(100, [&](int64_t) { EXPECT_EQ(zeros_in_loops(), 100); });
  }
  EXPECT_FALSE(flushes_denormals());
  EXPECT_EQ(zeros_in_loops(), 0);
}

TEST_F(ThreadTeam, CoversTheLargestCounts) {
  set_thread_count(3);
  constexpr int64_t kMost = INT64_MAX;
  for (const int64_t grain : {int64_t{1}, int64_t{1} << 40, kMost / 2, kMost / 2 + 1, kMost - 1}) {
    int64_t expected = 0;
    for (const auto& [begin, end] : ranges_of(kMost, grain)) {
      EXPECT_EQ(begin, expected);
      EXPECT_LT(begin, end);
      expected = end;
    }
    EXPECT_EQ(expected, kMost);
  }
}

TEST_F(ThreadTeam, StopsAFailedLoopOfMoreChunksThanAWordHolds) {
  set_thread_count(2);
  EXPECT_THROW(parallel_chunks(INT64_MAX, [](int64_t) { throw ValueError("enough"); }), ValueError);
}

TEST_F(ThreadTeam, SplitsAlikeOnEveryRun) {
  set_thread_count(3);
  const Ranges ranges = ranges_of(10000, 16);
  EXPECT_GE(ranges.size(), 3u);
  for (int run = 0; run < 50; ++run) ASSERT_EQ(ranges_of(10000, 16), ranges);
  {
    const ThreadLimit limit(2);
    EXPECT_EQ(ranges_of(10000, 16), ranges);
  }
  {
    const ThreadLimit limit(1);
    EXPECT_EQ(ranges_of(10000, 16), ranges);
  }
  parallel_chunks(6, [&](int64_t) { EXPECT_EQ(ranges_of(10000, 16), ranges); });
}

TEST_F(ThreadTeam, GivesEachThreadOneRangeOfAShortLoop) {
  set_thread_count(2);
  EXPECT_EQ(ranges_of(100'000, 1 << 15), (Ranges{{0, 50'048}, {50'048, 100'000}}));
  EXPECT_EQ(ranges_of(10, 3), (Ranges{{0, 5}, {5, 10}}));
  EXPECT_GT(ranges_of(10, 1).size(), 2u);  // uneven elements
  EXPECT_GT(ranges_of(1 << 24, 1 << 15).size(), 2u);
}

TEST_F(ThreadTeam, RunsOneRangeInTheCaller) {
  set_thread_count(4);
  int calls = 0;
  const auto body = [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
  };
  parallel_for(100, 100, body);
  EXPECT_EQ(calls, 1);
  set_thread_count(1);
  parallel_for(100, 1, body);
  EXPECT_EQ(calls, 2);
}

TEST_F(ThreadTeam, RefusesBadNumbers) {
  const auto never = [](auto...) { ADD_FAILURE() << "the body ran"; };
  EXPECT_THROW(parallel_for(-1, 1, never), ValueError);
  EXPECT_THROW(parallel_for(1, 0, never), ValueError);
  EXPECT_THROW(parallel_for(1, -5, never), ValueError);
  EXPECT_THROW(parallel_chunks(-1, never), ValueError);
  set_thread_count(3);
  for (const int count : {0, -1, INT32_MIN, kMaxThreadCount + 1}) {
    EXPECT_THROW(set_thread_count(count), ValueError);
  }
  EXPECT_EQ(thread_count(), 3);
  EXPECT_THROW(ThreadLimit(0), ValueError);
  EXPECT_THROW(set_spin_time(-1us), ValueError);
  EXPECT_THROW(set_spin_time(1h), ValueError);
  try {
    parallel_for(-7, 2, never);
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "parallel_for: count is -7, grain is 2");
    EXPECT_NE(error.hint(), "");
  }
}

TEST_F(ThreadTeam, RunsOnAllThreadsTogether) {
  for (const int threads : {2, 5}) {
    set_thread_count(threads);
    Meeting meeting(threads);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::set<int> indices;
    parallel_chunks(threads, [&](int64_t) {
      EXPECT_TRUE(meeting.wait());
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      indices.insert(thread_index());
    });
    EXPECT_EQ(ids.size(), static_cast<size_t>(threads));
    EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
    std::set<int> expected;
    for (int i = 0; i < threads; ++i) expected.insert(i);
    EXPECT_EQ(indices, expected);
  }
}

TEST_F(ThreadTeam, IsWokenFromSleep) {
  set_spin_time(0us);
  set_thread_count(3);
  for (int run = 0; run < 20; ++run) {
    Meeting meeting(3);
    parallel_chunks(3, [&](int64_t) { EXPECT_TRUE(meeting.wait()); });
    std::this_thread::sleep_for(1ms);
  }
}

TEST_F(ThreadTeam, NumbersTheThreadsOfTheInnermostCall) {
  set_thread_count(3);
  const std::thread::id caller = std::this_thread::get_id();
  EXPECT_EQ(thread_index(), 0);
  Meeting meeting(3);
  parallel_chunks(3, [&](int64_t) {
    EXPECT_TRUE(meeting.wait());
    const int outer = thread_index();
    EXPECT_EQ(outer == 0, std::this_thread::get_id() == caller);
    EXPECT_LT(outer, 3);
    const std::thread::id inner_caller = std::this_thread::get_id();
    parallel_chunks(7, [&](int64_t) {
      EXPECT_EQ(thread_index() == 0, std::this_thread::get_id() == inner_caller);
      EXPECT_LT(thread_index(), 3);
    });
    parallel_for(1, 1, [](int64_t, int64_t) { EXPECT_EQ(thread_index(), 0); });
    EXPECT_EQ(thread_index(), outer);
  });
  EXPECT_EQ(thread_index(), 0);
}

TEST_F(ThreadTeam, NestsToAnyDepth) {
  set_thread_count(3);
  std::atomic<int> leaves = 0;
  const auto descend = [&](auto&& self, int depth) -> void {
    if (depth == 0) {
      ++leaves;
      return;
    }
    parallel_chunks(2, [&](int64_t) { self(self, depth - 1); });
  };
  descend(descend, 10);
  EXPECT_EQ(leaves, 1 << 10);

  const auto dig = [&](auto&& self, int depth) -> void {  // deeper than there are slots
    parallel_chunks(2, [&](int64_t chunk) {
      if (chunk == 0 && depth > 1) self(self, depth - 1);
      ++leaves;
    });
  };
  leaves = 0;
  dig(dig, 200);
  EXPECT_EQ(leaves, 400);
}

TEST_F(ThreadTeam, LendsIdleWorkersToNestedCalls) {
  set_thread_count(3);
  Meeting meeting(2);  // the outer caller, if it is not the inner one, waits for its own loop
  parallel_chunks(2, [&](int64_t chunk) {
    if (chunk == 0) parallel_chunks(2, [&](int64_t) { EXPECT_TRUE(meeting.wait()); });
  });
}

TEST_F(ThreadTeam, ThrowsTheFailureOfTheLowestChunk) {
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    for (int run = 0; run < 200; ++run) {
      std::vector<std::atomic<bool>> began(40);
      try {
        parallel_chunks(40, [&](int64_t chunk) {
          began[chunk] = true;
          if (chunk == 5) std::this_thread::sleep_for(20us);
          if (chunk >= 5 && chunk % 2 == 1) throw IndexError("chunk {}", chunk);
        });
        FAIL() << "nothing was thrown";
      } catch (const IndexError& error) {
        ASSERT_EQ(error.message(), "chunk 5");
      }
      for (int chunk = 0; chunk <= 5; ++chunk) ASSERT_TRUE(began[chunk]);
    }
  }
  EXPECT_EQ(thread_index(), 0);
  EXPECT_EQ(ranges_of(10, 1).size(), 10u);
}

TEST_F(ThreadTeam, SkipsWhatNobodyHasBegunAfterAFailure) {
  set_thread_count(2);
  std::atomic<int64_t> begun = 0;
  EXPECT_THROW(parallel_chunks(1 << 30,
                               [&](int64_t) {
                                 ++begun;
                                 throw std::runtime_error("stop");
                               }),
               std::runtime_error);
  EXPECT_LE(begun, 2);
}

TEST_F(ThreadTeam, PassesOnAFailureOfAWorker) {
  set_thread_count(2);
  for (int run = 0; run < 100; ++run) {
    Meeting meeting(2);
    EXPECT_THROW(parallel_chunks(2,
                                 [&](int64_t) {
                                   EXPECT_TRUE(meeting.wait());
                                   if (thread_index() == 1) throw 7;
                                 }),
                 int);
  }
}

TEST_F(ThreadTeam, PassesFailuresThroughNestedCalls) {
  set_thread_count(3);
  std::atomic<int> caught = 0;
  EXPECT_THROW(parallel_chunks(6,
                               [&](int64_t outer) {
                                 try {
                                   parallel_chunks(6, [&](int64_t inner) {
                                     if (inner == 2) throw KeyError("{} {}", outer, inner);
                                   });
                                 } catch (const KeyError&) {
                                   ++caught;
                                   throw;
                                 }
                               }),
               KeyError);
  EXPECT_GE(caught, 1);
}

TEST_F(ThreadTeam, KeepsToALimit) {
  set_thread_count(6);
  const std::thread::id caller = std::this_thread::get_id();
  {
    const ThreadLimit alone(1);
    parallel_chunks(100, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  }
  const ThreadLimit limit(3);
  const ThreadLimit wider(100);
  std::atomic<int> running = 0, most = 0;
  const auto note = [&](int64_t) {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    EXPECT_LT(thread_index(), 3);
    std::this_thread::sleep_for(100us);
    --running;
  };
  for (int run = 0; run < 10; ++run) parallel_chunks(30, note);
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 3);
  most = 0;
  for (int run = 0; run < 10; ++run) {
    parallel_chunks(6, [&](int64_t) { parallel_chunks(5, note); });
  }
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 3);
}

TEST_F(ThreadTeam, EndsALimitWithItsScope) {
  set_thread_count(3);
  {
    const ThreadLimit limit(1);
  }
  Meeting meeting(3);
  parallel_chunks(3, [&](int64_t) { EXPECT_TRUE(meeting.wait()); });
}

TEST_F(ThreadTeam, LimitsOnlyTheThreadThatAsked) {
  set_thread_count(2);
  const ThreadLimit limit(1);
  std::thread([] {
    Meeting meeting(2);
    parallel_chunks(2, [&](int64_t) { EXPECT_TRUE(meeting.wait()); });
  }).join();
}

TEST_F(ThreadTeam, HasNoMoreWorkersThanItsSize) {
  set_thread_count(6);
  std::atomic<int> most = 0;
  std::vector<std::thread> hosts;
  for (int host = 0; host < 8; ++host) {
    hosts.emplace_back([&] {
      for (int run = 0; run < 30; ++run) {
        parallel_chunks(20, [&](int64_t) { std::this_thread::sleep_for(10us); });
        const int now = worker_count();
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(most, 5);

  set_thread_count(2);
  EXPECT_TRUE(soon([] { return worker_count() == 1; })) << worker_count() << " workers";
  EXPECT_EQ(ranges_of(100, 1).size(), 8u);
  set_thread_count(1);
  EXPECT_TRUE(soon([] { return worker_count() == 0; })) << worker_count() << " workers";
}

TEST_F(ThreadTeam, StartsWorkersAgainThatLeft) {
  for (int run = 0; run < 5; ++run) {
    set_thread_count(3);
    Meeting meeting(3);
    parallel_chunks(3, [&](int64_t) { EXPECT_TRUE(meeting.wait()); });
    set_thread_count(2);
    ASSERT_TRUE(soon([] { return worker_count() == 1; }));
  }
}

TEST_F(ThreadTeam, ChangesItsSizeFromWithinABody) {
  set_thread_count(4);
  Meeting meeting(4);
  parallel_chunks(4, [&](int64_t chunk) {
    EXPECT_TRUE(meeting.wait());
    set_thread_count(static_cast<int>(chunk) + 1);
    parallel_chunks(10, [](int64_t) {});
  });
  set_thread_count(5);
  Meeting larger(5);
  parallel_chunks(5, [&](int64_t) { EXPECT_TRUE(larger.wait()); });
}

TEST_F(ThreadTeam, SleepsWhenIdle) {
  set_thread_count(4);
  set_spin_time(50us);
  for (int run = 0; run < 10; ++run) ranges_of(100, 1);
  std::this_thread::sleep_for(5ms);
  const std::clock_t before = std::clock();  // CPU time of the whole process
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.02);
}

TEST_F(ThreadTeam, ServesManyHostsConcurrently) {
  constexpr int kHosts = 80;  // more than there are slots
  set_thread_count(3);
  std::atomic<bool> stop = false;
  std::thread resizer([&] {
    for (int size = 1; !stop; size = size % 5 + 1) {
      set_thread_count(size);
      std::this_thread::sleep_for(200us);
    }
  });
  std::atomic<int> failures = 0;
  std::vector<std::thread> hosts;
  for (int host = 0; host < kHosts; ++host) {
    hosts.emplace_back([&, host] {
      for (int run = 0; run < 30; ++run) {
        std::vector<int> outer(16), inner(16 * 16);
        try {
          parallel_chunks(16, [&](int64_t i) {
            ++outer[i];
            parallel_for(16, 2, [&](int64_t begin, int64_t end) {
              for (int64_t j = begin; j < end; ++j) ++inner[16 * i + j];
            });
            if (i == 7 && run % 3 == 0) throw CheckError("host {} run {}", host, run);
          });
          EXPECT_EQ(outer, std::vector<int>(16, 1));
          EXPECT_EQ(inner, std::vector<int>(16 * 16, 1));
        } catch (const CheckError& error) {
          ++failures;
          EXPECT_EQ(error.message(), fmt::format("host {} run {}", host, run));
          for (int i = 0; i <= 7; ++i) EXPECT_EQ(outer[i], 1);
        }
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  stop = true;
  resizer.join();
  EXPECT_EQ(failures, kHosts * 10);
}

TEST_F(ThreadTeam, RemembersTheSpinTime) {
  set_spin_time(120us);
  EXPECT_EQ(spin_time(), 120us);
  set_spin_time(0us);
  EXPECT_EQ(spin_time(), 0us);
}

// The environment is read once, so each of these tests runs in a separate process.
class ThreadTeamEnvironment : public testing::Test {
 protected:
  ThreadTeamEnvironment() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ThreadTeamEnvironment, GivesTheFirstSize) {
  const auto exit_with_count = [](const char* text) {
    setenv("PLAIT_THREADS", text, 1);
    std::_Exit(thread_count());
  };
  EXPECT_EXIT(exit_with_count("3"), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(exit_with_count("1"), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(exit_with_count("0"), testing::ExitedWithCode(available_cpu_count()), "");
}

TEST_F(ThreadTeamEnvironment, GivesTheSpinTime) {
  const auto exit_with_time = [] {
    setenv("PLAIT_SPIN_MICROSECONDS", "77", 1);
    std::_Exit(static_cast<int>(spin_time().count()));
  };
  EXPECT_EXIT(exit_with_time(), testing::ExitedWithCode(77), "");
}

TEST_F(ThreadTeamEnvironment, IsRefusedWhenItIsNoCount) {
  const auto exit_refused = [](const char* text) {
    setenv("PLAIT_THREADS", text, 1);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        thread_count();
        std::_Exit(1);
      } catch (const ValueError& error) {
        const std::string wanted = fmt::format("setting threads: '{}' is not", text);
        if (error.message().find(wanted) == std::string::npos) std::_Exit(2);
      }
    }
    unsetenv("PLAIT_THREADS");
    std::_Exit(thread_count() >= 1 ? 50 : 3);
  };
  for (const char* text : {"-2", "two", "4x", "1025", "99999999999999999999", " 4"}) {
    EXPECT_EXIT(exit_refused(text), testing::ExitedWithCode(50), "") << text;
  }
}

}  // namespace
}  // namespace plait
