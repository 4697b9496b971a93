// Ranks that disagree, are late, or end: every rank has an error that says so, and none waits for
// ever.
#include <chrono>
#include <csignal>
#include <fstream>

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
  for (int round = 0; round < 20; ++round) {
    const Processes processes(4, [](Group& group) {
      for (int i = 0; i < 20; ++i) all_reduce(ones(i * 10'000), ReduceOp::sum, group);
      broadcast(ones(100), 0, group);
    });
  }
}

}  // namespace
}  // namespace plait::dist
