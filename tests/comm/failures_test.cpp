// Ranks that disagree, are late, or end: every rank has an error that says so, and none waits for
// ever.
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "plait/comm/collectives.h"
#include "plait/comm/messages.h"
#include "plait/core/inside/system/interruption.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

Tensor ones(int64_t count) { return Tensor(Array::filled(DType::f32, {count}, Element::of(1.))); }

using Clock = std::chrono::steady_clock;

// Checks that the work fails within a second, and that later calls say the same.
void expect_failure(Group& group, std::initializer_list<std::string_view> parts,
                    const std::function<void()>& work, Duration within = std::chrono::seconds(1)) {
  const auto begin = Clock::now();
  const std::string text = message_of<DistError>(work);
  EXPECT_LT(Clock::now() - begin, within * 2);  // sanitizers and other tests take time
  expect_contains(text, parts);
  EXPECT_EQ(message_of<DistError>([&] { barrier(group); }), text);
  EXPECT_EQ(message_of<DistError>([&] { async::barrier(group); }), text);
}

TEST(Failures, RanksCallDifferentFunctions) {
  run_on_threads(3, [](Group& group) {
    barrier(group);
    expect_failure(group,
                   {"ranks disagree", "rank 1 called broadcast from rank 0 of f32[4]",
                    "called all_reduce(sum) of f32[4]", "failures_test.cpp"},
                   [&] {
                     if (group.rank() == 1) {
                       broadcast(ones(4), 0, group);
                       barrier(group);
                     } else {
                       all_reduce(ones(4), ReduceOp::sum, group);
                     }
                   });
  });
}

TEST(Failures, RanksPassDifferentTypes) {
  struct Pair {
    std::function<void(Group&)> first, second;
    std::string_view first_text, second_text;
  };
  const auto sum_of = [](int64_t count) {
    return [count](Group& group) { all_reduce(ones(count), ReduceOp::sum, group); };
  };
  const std::vector<Pair> pairs = {
      {sum_of(4), sum_of(5), "f32[4]", "f32[5]"},
      {sum_of(4), sum_of(400'000), "f32[4]", "f32[400000]"},
      {sum_of(200'000), sum_of(400'000), "f32[200000]", "f32[400000]"},
      {sum_of(4), [](Group& group) { all_reduce(ones(4), ReduceOp::max, group); },
       "all_reduce(sum)", "all_reduce(max)"},
      {sum_of(4), [](Group& group) { barrier(group); }, "all_reduce(sum) of f32[4]", "barrier"},
      {sum_of(4),
       [](Group& group) {
         all_reduce(Tensor(ones(4).array().converted(DType::bf16)), ReduceOp::sum, group);
       },
       "f32[4]", "bf16[4]"},
      {[](Group& group) { reduce(ones(4), 0, ReduceOp::sum, group); },
       [](Group& group) { reduce(ones(4), 1, ReduceOp::sum, group); }, "to rank 0", "to rank 1"},
  };
  for (const Pair& pair : pairs) {
    run_on_threads(2, [&](Group& group) {
      expect_failure(group, {pair.first_text, pair.second_text}, [&] {
        (group.rank() == 0 ? pair.first : pair.second)(group);
        barrier(group);  // a root may have gone on
      });
    });
  }
}

// Neither rank needs anything of the other one.
TEST(Failures, RanksNameOtherRoots) {
  const std::vector<std::function<void(Group&)>> calls = {
      [](Group& group) { broadcast(ones(4), group.rank(), group); },
      [](Group& group) { broadcast(ones(400'000), group.rank(), group); },
      [](Group& group) {
        scatter(Tensor(Array::filled(DType::f32, {2, 4}, Element::of(1.))), ones(4), group.rank(),
                group);
      },
      [](Group& group) { reduce(ones(4), 1 - group.rank(), ReduceOp::sum, group); },
      [](Group& group) { gather(ones(4), 1 - group.rank(), group); },
  };
  for (const auto& call : calls) {
    run_on_threads(2, [&](Group& group) {
      barrier(group);
      expect_failure(group, {"ranks disagree", "rank 0 of f32[4", "rank 1 of f32[4"},
                     [&] { call(group); });
    });
  }
}

TEST(Failures, RanksMakeOtherGroups) {
  run_on_threads(2, [&](Group& group) {
    expect_failure(group, {"ranks disagree", "new_group of rank 0, 1", "called barrier"}, [&] {
      if (group.rank() == 0) {
        group.subgroup({0, 1});
      } else {
        barrier(group);
      }
    });
  });
  run_on_threads(2, [&](Group& group) {
    const std::vector<int> ranks = group.rank() == 0 ? std::vector{0, 1} : std::vector{1, 0};
    expect_failure(group, {"ranks disagree", "new_group of rank 0, 1"},
                   [&] { group.subgroup(ranks); });
  });
}

TEST(Failures, RanksExpectOtherCounts) {
  run_on_threads(2, [](Group& group) {
    const bool is_first = group.rank() == 0;
    expect_failure(group, {"all_to_all", "sends 3 elements to rank", "which expects 2"}, [&] {
      all_to_all_parts(ones(6), {3, 3},
                       is_first ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{3, 3}, group);
      barrier(group);
    });
  });
  run_on_threads(2, [](Group& group) {
    const bool is_first = group.rank() == 0;
    expect_failure(group, {"ranks disagree", "parts of several sizes"}, [&] {
      all_gather_parts(ones(1), is_first ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 1},
                       group);
    });
  });
}

TEST(Failures, ARankIsLate) {
  Flag is_late;
  run_on_threads(3, [&](Group& group) {
    if (group.rank() == 2) {
      barrier(group);
      is_late.wait();
      expect_contains(message_of<DistError>([&] { barrier(group); }), {"did not end within 0.2 s"});
      return;
    }
    barrier(group);
    expect_failure(group,
                   {"all_reduce(sum) of f32[4]", "did not end within 0.2 s", "called by rank 0, 1",
                    is_local() ? "not by rank 2 (rank 2 called barrier" : "heard of rank 2"},
                   [&] {
                     all_reduce(ones(4), ReduceOp::sum, group,
                                {.timeout = std::chrono::milliseconds(200)});
                   });
    is_late.set();
  });
}

TEST(Failures, ACallBehindTheCallerIsLate) {
  Flag is_late;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 1) {
      is_late.wait();
      EXPECT_THROW(barrier(group), DistError);
      return;
    }
    const auto work = async::all_reduce(ones(4), ReduceOp::sum, group,
                                        {.timeout = std::chrono::milliseconds(200)});
    expect_contains(message_of<DistError>([&] { work->wait_for(Duration(20)); }),
                    {"not over after 0.02 s"});
    EXPECT_FALSE(work->is_completed());
    EXPECT_EQ(work->exception(), nullptr);
    expect_contains(message_of<DistError>([&] { work->wait(); }),
                    {"did not end within 0.2 s", is_local() ? "not by rank 1" : "rank 1"});
    EXPECT_TRUE(work->is_completed());
    EXPECT_FALSE(work->is_success());
    EXPECT_NE(work->exception(), nullptr);
    is_late.set();
  });
}

TEST(Failures, ARankLeaves) {
  run_on_threads(2, [](Group& group) {
    all_reduce(ones(400'000), ReduceOp::sum, group);
    if (group.rank() == 1) return;
    expect_failure(
        group,
        {"barrier", is_local() ? "rank 1 has left the group" : "rank 1 has ended or left the group",
         is_local() ? "rank 1 called all_reduce(sum) of f32[400000]" : ""},
        [&] { barrier(group); });
  });
}

TEST(Failures, EmptyCallsAreComparedToo) {
  run_on_threads(2, [](Group& group) {
    expect_failure(group, {"ranks disagree", "all_reduce(sum) of f32[0]", "all_gather of f32[0]"},
                   [&] {
                     if (group.rank() == 0) {
                       all_reduce(ones(0), ReduceOp::sum, group);
                     } else {
                       all_gather(ones(0), group);
                     }
                   });
  });
}

TEST(Failures, ACallThatWaitsForItsTurnKeepsItsDeadline) {
  Flag is_over;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 1) {
      if (!is_own_rank()) is_over.wait();
      return;
    }
    const auto first = async::barrier(group);
    const auto begin = Clock::now();
    const std::string text = message_of<DistError>([&] {
      all_reduce(ones(4), ReduceOp::sum, group, {.timeout = std::chrono::milliseconds(300)});
    });
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
    if (!is_own_rank()) {
      expect_contains(text,
                      {"rank 0 called all_reduce(sum) of f32[4]", "did not begin within 0.3 s"});
    }
    EXPECT_THROW(first->wait(), DistError);
    is_over.set();
  });
}

TEST(Failures, ACallWithinACallIsRefused) {
  static thread_local Group* own = nullptr;
  static std::atomic<int> refused = 0;
  set_interruption_check([] {
    if (own == nullptr) return;
    Group& group = *std::exchange(own, nullptr);
    expect_contains(message_of<DistError>([&] { barrier(group); }),
                    {"this thread is within another call of the group"});
    ++refused;
  });
  run_on_threads(2, [](Group& group) {
    if (group.rank() == 1) {
      if (is_own_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      while (!is_own_rank() && refused == 0) std::this_thread::yield();
    } else {
      own = &group;
    }
    barrier(group);
  });
  set_interruption_check(nullptr);
}

TEST(Failures, AWorkOfTheProcessThatWasForkedIsNotWaitedFor) {
  Flag is_over;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 1) {
      is_over.wait();
      barrier(group);
      return;
    }
    const auto work = async::barrier(group);
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(message_of<DistError>([&] { work->wait(); }).find("forked") == std::string::npos);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    is_over.set();
    work->wait();
  });
}

TEST(Failures, ARankGivesUp) {
  run_on_threads(3, [](Group& group) {
    barrier(group);
    if (group.rank() == 1) {
      group.give_up("was ended by ValueError: no data");
      EXPECT_THROW(barrier(group), DistError);
      return;
    }
    expect_failure(group, {"rank 1 was ended by ValueError: no data"}, [&] { barrier(group); });
  });
}

TEST(Failures, RanksThatJoinWithOtherEnginesOrNotAtAllAreNamed) {
  const auto store = std::make_shared<MemoryStore>();
  const auto join = [&](int rank, const char* engine) {
    return message_of<DistError>([&] {
      Group::join({.store = store,
                   .rank = rank,
                   .size = 2,
                   .engine = engine,
                   .timeout = std::chrono::seconds(10)});
    });
  };
  std::thread other([&] {
    expect_contains(join(1, "gloo"), {"rank 1", "the engine gloo", "rank 0 with local"});
  });
  expect_contains(join(0, "local"), {"rank 0", "the engine local", "rank 1 with gloo"});
  other.join();
  const std::string text = message_of<DistError>([&] {
    Group::join({.store = std::make_shared<MemoryStore>(),
                 .rank = 1,
                 .size = 4,
                 .timeout = std::chrono::milliseconds(200)});
  });
  expect_contains(text, {"rank 0, 2, 3 did not join the group within 0.2 s"});
}

TEST(Failures, RanksOfAPartAreSaidToBeItsOwn) {
  run_on_threads(3, [](Group& group) {
    const auto part = group.subgroup({1, 2}, {.timeout = std::chrono::milliseconds(400)});
    if (group.rank() == 1) {
      const std::string said = "in the group of ranks 1, 2, which are 0 to 1 there: ";
      expect_failure(*part, {said, "barrier at ", "called by rank 0"}, [&] { barrier(*part); });
      const auto work = message_of<DistError>([&] { async::barrier(*part)->wait(); });
      EXPECT_EQ(work.find(said), 0u) << work;
      EXPECT_EQ(work.find(said, 1), std::string::npos) << work;
    }
    barrier(group);
  });
}

TEST(Failures, AMessageThatIsOverdueSaysWhatTheOtherRankDoes) {
  run_on_threads(2, [](Group& group) {
    barrier(group);
    if (group.rank() == 1) {
      send(ones(3), 0, group, {.tag = 1});
      EXPECT_THROW(all_reduce(ones(7), ReduceOp::sum, group), DistError);
      return;
    }
    const std::string text = message_of<DistError>(
        [&] { recv(ones(3), 1, group, {.tag = 2, .timeout = std::chrono::milliseconds(600)}); });
    expect_contains(
        text, {"recv of f32[3] from rank 1 with tag 2", ", which rank 0 called, did not end",
               "rank 1 called all_reduce(sum) of f32[7]",
               is_local() ? "has sent f32[3] with tag 1" : "send of f32[3] to rank 0 with tag 1"});
  });
}

TEST(Failures, ACallThatIsOverdueNamesTheMessageThatOthersWaitFor) {
  run_on_threads(2, [](Group& group) {
    barrier(group);
    if (group.rank() == 1) {
      EXPECT_THROW(recv(ones(3), 0, group), DistError);
      return;
    }
    const std::string text =
        message_of<DistError>([&] { barrier(group, {.timeout = std::chrono::milliseconds(600)}); });
    expect_contains(text, {"barrier at ", "did not end within 0.6 s", "rank 1 called barrier",
                           "and waits in recv of f32[3] from rank 0 at ", "failures_test.cpp"});
  });
}

TEST(Failures, ARankIsKilled) {
  for (const bool is_behind : {false, true}) {
    Processes processes(3, [&](Group& group) {
      barrier(group);
      if (group.rank() == 2) ::raise(SIGKILL);
      expect_failure(group, {"rank 2 has ended", is_local() ? "rank 2 called barrier" : ""}, [&] {
        if (is_behind) {
          async::all_reduce(ones(4), ReduceOp::sum, group)->wait();
        } else {
          all_reduce(ones(4), ReduceOp::sum, group);
        }
      });
    });
    EXPECT_TRUE(WIFSIGNALED(processes.status_of(2)));
  }
}

TEST(Failures, ARankIsKilledBeforeAPartIsMade) {
  Processes processes(3, [&](Group& group) {
    barrier(group);
    if (group.rank() == 2) ::raise(SIGKILL);
    const auto begin = Clock::now();
    expect_contains(message_of<DistError>([&] { group.subgroup({0, 1, 2}, {.by_members = true}); }),
                    {"rank 2 has ended"});
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  });
  EXPECT_TRUE(WIFSIGNALED(processes.status_of(2)));
}

TEST(Failures, AForkedProcessHasNoGroup) {
  run_on_threads(1, [](Group& group) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 1;
      try {
        barrier(group);
      } catch (const DistError&) {
        status = 0;
      }
      ::_exit(status);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    barrier(group);
  });
}

thread_local bool is_interrupted = false;

TEST(Failures, AWaitIsInterrupted) {
  set_interruption_check([] {
    if (is_interrupted) throw CheckError("interrupted");
  });
  Flag has_failed;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 0) {
      is_interrupted = true;
      EXPECT_THROW(barrier(group), CheckError);
      is_interrupted = false;
      has_failed.set();
    } else {
      has_failed.wait();
    }
    expect_contains(message_of<DistError>([&] { barrier(group); }),
                    {"rank 0 was interrupted in barrier"});
  });
  set_interruption_check(nullptr);
}

TEST(Failures, AreWrittenWithTheLastCalls) {
  const TemporaryFolder folder;
  set_setting("call_log", folder.path("calls"));
  run_on_threads(2, [](Group& group) {
    barrier(group);
    async::all_reduce(ones(4), ReduceOp::sum, group)->wait();
    if (group.rank() == 1) return;
    EXPECT_THROW(recv(ones(3), 1, group, {.tag = 5}), DistError);
  });
  reset_setting("call_log");
  std::ifstream file(folder.path("calls") + "/calls_of_process_" + std::to_string(::getpid()) +
                     ".txt");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  expect_contains(text, {"recv of f32[3] from rank 1 with tag 5", "world, rank 0: barrier at ",
                         "all_reduce(sum) of f32[4] at ", "failures_test.cpp", ": done after ",
                         ": failed after "});
  expect_contains(recent_calls(), {"world, rank 1: barrier at "});
}

TEST(Failures, RanksThatEndTogetherAreNoFailure) {
  const int rounds = share_of(is_nccl() ? 4 : 20);  // the emulated device begins slowly
  for (int round = 0; round < rounds; ++round) {
    const Processes processes(4, [](Group& group) {
      for (int i = 0; i < 20; ++i) all_reduce(ones(i * 10'000), ReduceOp::sum, group);
      broadcast(ones(100), 0, group);
    });
  }
}

}  // namespace
}  // namespace plait::dist
