// The thread team during fork() and exit() at critical moments.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

using namespace std::chrono_literals;

// Sanitizers restrict child processes: the thread sanitizer forbids new threads, and the lock of
// the address sanitizer's allocator may be held forever by a thread that the child does not have.
#if defined(__has_feature)
#define PLAIT_TEST_HAS_FEATURE(feature) __has_feature(feature)
#else
#define PLAIT_TEST_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || PLAIT_TEST_HAS_FEATURE(thread_sanitizer)
constexpr bool kSanitizesThreads = true;
#else
constexpr bool kSanitizesThreads = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || PLAIT_TEST_HAS_FEATURE(address_sanitizer)
constexpr bool kSanitizesAddresses = true;
#else
constexpr bool kSanitizesAddresses = false;
#endif
#undef PLAIT_TEST_HAS_FEATURE

constexpr int kGood = 42;
constexpr unsigned kSecondsToLive = 60;

bool team_works() {
  std::vector<int> visits(1000);
  parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[i];
  });
  return visits == std::vector<int>(1000, 1);
}

// True if all three threads meet: then the team has both its workers.
bool team_has_workers() {
  std::atomic<int> arrived = 0;
  std::atomic<bool> all_met = true;
  parallel_chunks(3, [&](int64_t) {
    ++arrived;
    for (int i = 0; arrived < 3; ++i) {
      std::this_thread::sleep_for(100us);
      if (i == 100000) all_met = false;
      if (!all_met) return;
    }
  });
  return all_met;
}

class ThreadTeamProcess : public testing::Test {
 protected:
  ThreadTeamProcess() { set_thread_count(3); }
  ~ThreadTeamProcess() override { set_thread_count(count_); }
  void SetUp() override {
    if (kSanitizesThreads) GTEST_SKIP() << "the thread sanitizer forbids new threads after a fork";
    // A starting worker may hold a lock of the address sanitizer, which would stay locked in a
    // child.
    if (kSanitizesAddresses) {
      ASSERT_TRUE(team_has_workers());
    }
  }

 private:
  int count_ = thread_count();
};

// The exit status of a child, or minus the signal that killed it.
int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Forks a child that is killed after a minute.
pid_t fork_briefly() {
  const pid_t child = fork();
  if (child == 0) alarm(kSecondsToLive);
  return child;
}

template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork_briefly();
  if (child == 0) {
    body();
    _exit(1);
  }
  return status_of(child);
}

// Waits until a worker is inside a chunk; it stays there until `release`.
void hold_worker(std::atomic<bool>& held, const std::atomic<bool>& release) {
  if (thread_index() != 0) {
    held = true;
    while (!release) std::this_thread::sleep_for(100us);
  } else {
    while (!held) std::this_thread::sleep_for(100us);
  }
}

TEST_F(ThreadTeamProcess, WorksInAChild) {
  ASSERT_TRUE(team_has_workers());
  const auto child = [] { _exit(team_works() && team_has_workers() ? kGood : 2); };
  EXPECT_EQ(status_of_child(child), kGood);
  EXPECT_TRUE(team_has_workers());
}

TEST_F(ThreadTeamProcess, WorksInAGrandchild) {
  ASSERT_TRUE(team_has_workers());
  const auto child = [] {
    if (!team_has_workers()) _exit(2);
    _exit(status_of_child([] { _exit(team_has_workers() ? kGood : 3); }));
  };
  EXPECT_EQ(status_of_child(child), kGood);
}

TEST_F(ThreadTeamProcess, WorksInChildrenForkedWhileOthersWork) {
  if (kSanitizesAddresses) GTEST_SKIP() << "the address sanitizer's allocator does not survive";
  std::atomic<bool> stop = false;
  std::vector<std::thread> hosts;
  for (int host = 0; host < 3; ++host) {
    hosts.emplace_back([&stop, host] {
      for (int run = 0; !stop; ++run) {
        EXPECT_TRUE(team_works());
        if (host == 2) set_thread_count(2 + run % 3);
        parallel_chunks(5, [](int64_t) { parallel_chunks(3, [](int64_t) {}); });
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(status_of_child([] {
                for (int run = 0; run < 5; ++run) {
                  if (!team_works()) _exit(2);
                }
                set_thread_count(3);
                _exit(team_has_workers() ? kGood : 3);
              }),
              kGood);
  }
  stop = true;
  for (std::thread& host : hosts) host.join();
}

TEST_F(ThreadTeamProcess, TellsTheChildOfALoopThatItsHelpersAreLost) {
  std::atomic<bool> held = false, release = false;
  pid_t child = -1;
  try {
    parallel_chunks(2, [&](int64_t) {
      hold_worker(held, release);
      if (thread_index() != 0) return;
      child = fork_briefly();
      release = true;
    });
    if (child == 0) _exit(2);
  } catch (const DeviceError& error) {
    if (child == 0) _exit(team_works() && team_has_workers() ? kGood : 3);
    ADD_FAILURE() << error.what();
  }
  EXPECT_EQ(status_of(child), kGood);
  EXPECT_TRUE(team_has_workers());
}

TEST_F(ThreadTeamProcess, LetsTheChildFinishALoopThatLostNobody) {
  std::atomic<int> arrived = 0;
  std::atomic<bool> release = false;
  std::thread host([&] {  // keeps both workers away from the loop below
    parallel_chunks(3, [&](int64_t) {
      ++arrived;
      while (!release) std::this_thread::sleep_for(100us);
    });
  });
  while (arrived < 3) std::this_thread::sleep_for(100us);

  std::vector<int> visits(10);
  pid_t child = -1;
  parallel_chunks(10, [&](int64_t chunk) {
    ++visits[chunk];
    if (chunk == 3) child = fork_briefly();
  });
  if (child == 0) _exit(visits == std::vector<int>(10, 1) ? kGood : 2);
  EXPECT_EQ(status_of(child), kGood);
  EXPECT_EQ(visits, std::vector<int>(10, 1));
  release = true;
  host.join();
}

TEST_F(ThreadTeamProcess, WorksInAChildThatAWorkerForked) {
  std::atomic<bool> held = false, release = true;
  pid_t child = -1;
  parallel_chunks(2, [&](int64_t) {
    hold_worker(held, release);
    if (thread_index() == 0) return;
    child = fork_briefly();
    if (child == 0) _exit(team_works() && team_has_workers() ? kGood : 2);
  });
  EXPECT_EQ(status_of(child), kGood);
}

TEST_F(ThreadTeamProcess, EndsAChildThatAWorkerForkedWithTheBody) {
  std::atomic<bool> held = false, release = true;
  pid_t child = -1;
  parallel_chunks(2, [&](int64_t) {
    hold_worker(held, release);
    if (thread_index() == 0) return;
    child = fork_briefly();
    if (child == 0) std::atexit([] { _exit(kGood); });
  });
  EXPECT_EQ(status_of(child), kGood);
  EXPECT_TRUE(team_has_workers());
}

TEST_F(ThreadTeamProcess, LeavesTheLoopOfAnotherThreadAloneInAChildThatAWorkerForked) {
  std::atomic<bool> held = false, release = true;
  pid_t child = -1;
  parallel_chunks(2, [&](int64_t) {
    hold_worker(held, release);
    if (thread_index() == 0) return;
    child = fork_briefly();
    if (child != 0) return;
    std::atomic<bool>* const begun = &held;  // the child's own copy
    *begun = false;
    std::thread([begun] {
      parallel_chunks(4, [begun](int64_t) {
        *begun = true;
        std::this_thread::sleep_for(20ms);  // meanwhile the worker leaves its body
      });
      _exit(team_works() ? kGood : 2);
    }).detach();
    while (!*begun) std::this_thread::sleep_for(100us);
  });
  EXPECT_EQ(status_of(child), kGood);
}

TEST_F(ThreadTeamProcess, ExitsFromAWorker) {
  EXPECT_EQ(status_of_child([] {
              std::atomic<bool> held = false, release = true;
              parallel_chunks(2, [&](int64_t) {
                hold_worker(held, release);
                if (thread_index() != 0) std::exit(kGood);
                std::this_thread::sleep_for(1h);
              });
            }),
            kGood);
}

TEST_F(ThreadTeamProcess, ExitsFromAnyThreadWhileOthersWork) {
  EXPECT_EQ(status_of_child([] {
              for (int host = 0; host < 3; ++host) {
                std::thread([] {
                  while (team_works()) {
                  }
                }).detach();
              }
              std::thread([] {
                team_has_workers();
                std::exit(kGood);
              }).join();
            }),
            kGood);
}

TEST_F(ThreadTeamProcess, WorksWhileTheProcessExits) {
  EXPECT_EQ(status_of_child([] {
              std::atexit([] { _exit(team_works() && team_has_workers() ? kGood : 2); });
              std::exit(3);
            }),
            kGood);
}

}  // namespace
}  // namespace plait
