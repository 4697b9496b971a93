// Runs a function on each rank of a group, as threads or as processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/comm/file_store.h"
#include "plait/comm/group.h"
#include "plait/comm/memory_store.h"

#include "tests/comm/emulated_gpus.h"
#include "tests/io/temporary_folder.h"

namespace plait::dist {

using OnRank = std::function<void(Group& group)>;

// The rounds to be run where PLAIT_SHARE asks for a part of them.
inline int share_of(int rounds) {
  const char* const share = std::getenv("PLAIT_SHARE");
  return share == nullptr ? rounds : std::max(2, static_cast<int>(rounds * std::atof(share)));
}

// One thread waits until another has come to a place.
class Flag {
 public:
  void set() { is_set_ = true; }
  void wait() const {
    for (int i = 0; i < 60'000 && !is_set_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::atomic<bool> is_set_ = false;
};

// That of all groups of these tests, which run once for each.
inline std::string test_engine() {
  const char* const named = std::getenv("PLAIT_TEST_ENGINE");
  return named == nullptr ? "local" : named;
}

inline bool is_nccl() { return test_engine() == "nccl"; }
// Others cannot tell as much of ranks that are late or have left. On one host, nccl asks local.
inline bool is_local() { return test_engine() == "local" || is_nccl(); }

constexpr Duration kTestTimeout = std::chrono::seconds(60);

inline void expect_success(int rank, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << rank << ": " << error.what();
  }
}

// A rank of a group of the engine that is tested.
inline std::shared_ptr<Group> join_as(const std::shared_ptr<Store>& store, int rank, int size) {
  if (is_nccl()) use_emulated_gpus(8, 64 << 20);
  auto group = Group::join({.store = store,
                            .rank = rank,
                            .size = size,
                            .engine = test_engine(),
                            .timeout = kTestTimeout});
  rank_device() = group->device();
  return group;
}

// Each process is a rank of all tests, as run_by_mpi.sh and run_on_hosts.sh start it.
inline bool is_own_rank() { return std::getenv("PLAIT_TEST_RANK") != nullptr; }

inline void run_on_own_rank(int size, const OnRank& on_rank) {
  static int runs = 0;
  const int rank = std::atoi(std::getenv("PLAIT_TEST_RANK"));
  const int all = std::atoi(std::getenv("PLAIT_TEST_RANKS"));
  const int run = runs++;
  if (run == 0 && size < all) run_on_own_rank(all, [](Group&) {});  // all initialise MPI
  const std::string folder = std::getenv("PLAIT_TEST_FOLDER");
  const std::string path = folder + "/" + std::to_string(run);
  if (rank >= size) return;
  expect_success(rank, [&] {
    const auto store = std::make_shared<FileStore>(path, 0, kTestTimeout);
    on_rank(*join_as(store, rank, size));
  });
}

inline void run_on_threads(int size, const OnRank& on_rank) {
  if (is_own_rank()) return run_on_own_rank(size, on_rank);
  const auto store = std::make_shared<MemoryStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back(
        [&, rank] { expect_success(rank, [&] { on_rank(*join_as(store, rank, size)); }); });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(emulator_findings(), "");
}

// The work of one rank in a forked process: true if the function returns without failed checks.
inline bool succeeds(const OnRank& on_rank, const std::string& path, int rank, int size) {
  try {
    const auto store = std::make_shared<FileStore>(path, 0, kTestTimeout);
    on_rank(*join_as(store, rank, size));
    EXPECT_EQ(emulator_findings(), "");
  } catch (const std::exception& error) {
    std::cerr << "rank " << rank << ": " << error.what() << "\n";
    return false;
  }
  return !testing::Test::HasFailure();
}

class Processes {
 public:
  // The processes begin with no threads but that of the test.
  Processes(int size, const OnRank& on_rank) {
    for (int rank = 0; rank < size; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(succeeds(on_rank, folder_.path("store"), rank, size) ? 0 : 1);
      children_.push_back(child);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() {
    for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
      if (children_[static_cast<size_t>(rank)] == 0) continue;
      EXPECT_EQ(status_of(rank), 0) << "rank " << rank;
    }
  }

  pid_t process(int rank) const { return children_[static_cast<size_t>(rank)]; }
  // Waits for its end. The rank is not expected to succeed.
  int status_of(int rank) {
    int status = -1;
    ::waitpid(std::exchange(children_[static_cast<size_t>(rank)], 0), &status, 0);
    return status;
  }

 private:
  TemporaryFolder folder_;
  std::vector<pid_t> children_;
};

}  // namespace plait::dist
