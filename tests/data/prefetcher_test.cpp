#include "plait/data/inside/prefetcher.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/data/inside/worker_threads.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using data::Prefetcher;
using data::WorkerThreads;
using State = Prefetcher::State;
using std::chrono::milliseconds;

constexpr auto kLong = std::chrono::seconds(60);

// A prefetcher with workers that compute make(number).
class Work {
 public:
  using Make = std::function<std::shared_ptr<void>(int64_t)>;

  Work(const Prefetcher::Options& options, int workers, Make make)
      : prefetcher(Prefetcher::make(options)),
        threads_(workers, "test", [prefetcher = prefetcher, make = std::move(make)] {
          while (const auto number = prefetcher->take()) {
            Prefetcher::Outcome outcome{.number = *number};
            try {
              outcome.value = make(*number);
            } catch (...) {
              outcome.failure = std::current_exception();
            }
            prefetcher->deliver(std::move(outcome));
          }
        }) {}
  ~Work() { prefetcher->cancel(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  std::vector<int64_t> consume() const {
    std::vector<int64_t> numbers;
    while (prefetcher->wait(kLong) == State::ready) numbers.push_back(prefetcher->pop().number);
    return numbers;
  }

  const std::shared_ptr<Prefetcher> prefetcher;

 private:
  WorkerThreads threads_;
};

std::shared_ptr<void> number_of(int64_t number) { return std::make_shared<int64_t>(number); }

std::vector<int64_t> up_to(int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST(Prefetcher, ComputesAheadAndInOrder) {
  for (const int workers : {1, 2, 5}) {
    for (const int64_t ahead : {1, 3, 100}) {
      std::atomic<int64_t> begun = 0;
      std::atomic<int64_t> consumed = 0;
      std::atomic<bool> is_too_far = false;
      const Work work({.count = 200, .ahead = ahead}, workers, [&](int64_t number) {
        if (++begun - consumed > ahead) is_too_far = true;
        if (number % 7 == 0) std::this_thread::yield();
        return number_of(number);
      });
      std::vector<int64_t> numbers;
      while (work.prefetcher->wait(kLong) == State::ready) {
        ++consumed;  // before pop(), which lets workers go on
        const auto outcome = work.prefetcher->pop();
        EXPECT_EQ(*static_cast<int64_t*>(outcome.value.get()), outcome.number);
        numbers.push_back(outcome.number);
      }
      EXPECT_EQ(numbers, up_to(200));
      EXPECT_FALSE(is_too_far);
    }
  }
}

TEST(Prefetcher, WithoutOrderNothingWaitsForTheSlowest) {
  std::atomic<bool> may_end = false;
  const Work work({.count = 20, .ahead = 4, .in_order = false}, 2, [&](int64_t number) {
    while (number == 0 && !may_end) std::this_thread::yield();
    return number_of(number);
  });
  std::vector<int64_t> numbers;
  for (int i = 0; i < 19; ++i) {
    ASSERT_EQ(work.prefetcher->wait(kLong), State::ready);
    numbers.push_back(work.prefetcher->pop().number);
  }
  EXPECT_EQ(std::ranges::count(numbers, 0), 0);
  EXPECT_EQ(work.prefetcher->wait(milliseconds(5)), State::late);
  may_end = true;
  EXPECT_EQ(work.consume(), (std::vector<int64_t>{0}));
  EXPECT_EQ(work.prefetcher->wait(kLong), State::finished);
}

TEST(Prefetcher, WaitsAsLongAsAskedFor) {
  std::atomic<bool> may_end = false;
  const Work work({.count = 1}, 1, [&](int64_t number) {
    while (!may_end) std::this_thread::yield();
    return number_of(number);
  });
  EXPECT_EQ(work.prefetcher->wait(milliseconds(0)), State::late);
  EXPECT_EQ(work.prefetcher->wait(milliseconds(20)), State::late);
  EXPECT_THROW(work.prefetcher->pop(), ValueError);
  may_end = true;
  EXPECT_EQ(work.consume(), up_to(1));
}

TEST(Prefetcher, FailuresComeInTheirOrder) {
  const Work work({.count = 30, .ahead = 10}, 3, [](int64_t number) {
    if (number % 10 == 4) throw std::runtime_error(std::to_string(number));
    return number_of(number);
  });
  for (int64_t i = 0; i < 30; ++i) {
    ASSERT_EQ(work.prefetcher->wait(kLong), State::ready);
    const auto outcome = work.prefetcher->pop();
    EXPECT_EQ(outcome.number, i);
    EXPECT_EQ(static_cast<bool>(outcome.failure), i % 10 == 4);
    if (!outcome.failure) continue;
    try {
      std::rethrow_exception(outcome.failure);
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::to_string(i));
    }
  }
}

TEST(Prefetcher, EndsWhereASourceEnds) {
  for (const int workers : {1, 4}) {
    std::shared_ptr<Prefetcher> prefetcher;
    std::atomic<bool> is_there = false;
    const Work work({.ahead = 8}, workers, [&](int64_t number) {
      while (!is_there) std::this_thread::yield();
      if (number >= 13) prefetcher->shorten(13);
      return number_of(number);
    });
    prefetcher = work.prefetcher;
    is_there = true;
    EXPECT_EQ(work.consume(), up_to(13));
  }
}

TEST(Prefetcher, IsCancelledAtAnyTime) {
  for (int i = 0; i < 200; ++i) {
    const Work work({.ahead = 3}, 3, number_of);
    for (int j = 0; j < i % 7; ++j) {
      ASSERT_EQ(work.prefetcher->wait(kLong), State::ready);
      work.prefetcher->pop();
    }
    if (i % 2 == 0) {
      work.prefetcher->cancel();
      EXPECT_EQ(work.prefetcher->wait(kLong), State::finished);
      EXPECT_TRUE(work.prefetcher->is_cancelled());
    }
  }
}

TEST(Prefetcher, KeepsNothingOfWhatIsDropped) {
  const auto value = std::make_shared<int64_t>(1);
  {
    const Work work({.count = 100, .ahead = 50}, 2, [&](int64_t) { return value; });
    while (work.prefetcher->wait(kLong) != State::ready) continue;
    work.prefetcher->pop();
  }
  EXPECT_EQ(value.use_count(), 1);
}

// The threads of a process are not in its forks.
TEST(Prefetcher, DoesNotHangInAForkedProcess) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer forbids new threads after a fork";
#endif
  auto work = std::make_unique<Work>(Prefetcher::Options{.ahead = 2}, 3, number_of);
  while (work->prefetcher->wait(kLong) != State::ready) continue;
  ::usleep(
      100'000);  // the threads wait: GCC 12's sanitizers hang in forks made while one allocates
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 1;
    try {
      work->prefetcher->wait(kLong);
    } catch (const ValueError&) {
      result = 0;
    }
    if (work->prefetcher->take()) result = 2;
    work = nullptr;
    const Work own({.count = 5}, 2, number_of);
    if (own.consume() != up_to(5)) result = 3;
    ::_exit(result);
  }
  int status = 0;
  for (int i = 0; i < 600 && ::waitpid(child, &status, WNOHANG) == 0; ++i) ::usleep(100'000);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  work->prefetcher->pop();
  EXPECT_EQ(work->prefetcher->wait(kLong), State::ready);
}

}  // namespace
}  // namespace plait
