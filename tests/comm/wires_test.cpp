// Programs of calls over wires, and what ranks tell each other when they do not go on.
#include <map>

#include "plait/comm/collectives.h"
#include "plait/comm/inside/wires/notice.h"
#include "plait/comm/inside/wires/wire_program.h"
#include "plait/comm/messages.h"
#include "plait/core/error.h"
#include "plait/core/numbers/element.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

int64_t bytes_sent(const WireProgram& program) {
  int64_t bytes = 0;
  for (const WireStep& step : program.steps) {
    if (step.kind == WireStepKind::send) bytes += step.size;
  }
  return bytes;
}

TEST(WireProgram, MovesNoMoreThanItMust) {
  constexpr int64_t kCount = 1'000'003;
  std::vector<float> in(kCount), out(kCount);
  for (const int size : {2, 3, 4, 8, 16}) {
    const auto bytes = static_cast<double>(kCount * 4);
    const double part = (size - 1) / static_cast<double>(size);
    for (int rank = 0; rank < size; ++rank) {
      Call call{.kind = CallKind::all_reduce, .count = kCount};
      call.in = reinterpret_cast<const std::byte*>(in.data());
      call.out = reinterpret_cast<std::byte*>(out.data());
      EXPECT_NEAR(static_cast<double>(bytes_sent(wire_program_of(call, rank, size))),
                  2 * part * bytes, 0.02 * bytes);
      call.kind = CallKind::broadcast;
      call.root = 0;
      const double most = rank == 0 ? 2 * part : part;
      EXPECT_LE(static_cast<double>(bytes_sent(wire_program_of(call, rank, size))),
                1.02 * most * bytes);
    }
  }
}

// A transfer is begun before it is waited for, and each transfer of one rank has another one of its
// size.
TEST(WireProgram, TransfersMeet) {
  std::vector<std::byte> in(1 << 23), out(1 << 23);
  for (const CallKind kind :
       {CallKind::barrier, CallKind::broadcast, CallKind::reduce, CallKind::all_reduce,
        CallKind::gather, CallKind::scatter, CallKind::all_gather, CallKind::reduce_scatter}) {
    for (const int size : {1, 2, 3, 5, 8}) {
      for (const int64_t count : {0, 1, 7, 5000, 100'000}) {
        std::map<std::pair<int, int>, std::vector<int64_t>> sent, received;
        for (int rank = 0; rank < size; ++rank) {
          Call call{.kind = kind, .count = count, .in = in.data(), .out = out.data()};
          if (kind == CallKind::broadcast || kind == CallKind::reduce || kind == CallKind::gather ||
              kind == CallKind::scatter) {
            call.root = size / 2;
          }
          size_t begun = 0;
          for (const WireStep& step : wire_program_of(call, rank, size).steps) {
            EXPECT_TRUE(step.kind != WireStepKind::wait || step.transfer < begun);
            if (step.kind == WireStepKind::send) sent[{rank, step.rank}].push_back(step.size);
            if (step.kind == WireStepKind::receive) {
              received[{step.rank, rank}].push_back(step.size);
            }
            begun += step.kind == WireStepKind::send || step.kind == WireStepKind::receive;
          }
        }
        EXPECT_EQ(sent, received) << name_of(kind) << " " << size << " " << count;
      }
    }
  }
}

TEST(Notice, IsReadAsItWasWritten) {
  const Notice notice{
      .version = 5,
      .calls = {{3, 77, "all_reduce(sum) of f32[4]", {1, 2}, {3}}, {4, 78, "barrier"}},
      .messages = {{9, true, 1, -4, "f32[4]", "a.py:3", 7}, {10, false, -1, 2, "i8[1]", ""}},
      .has_left = true};
  const std::string bytes = bytes_of(notice);
  EXPECT_EQ(bytes_of(read_notice(bytes)), bytes);
  EXPECT_TRUE(read_notice(bytes).has_left);
  EXPECT_TRUE(read_notice("").calls.empty());
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THROW(read_notice(bytes.substr(0, size)), ParseError) << size;
  }
  EXPECT_THROW(read_notice(bytes + "x"), ParseError);
}

Notice with_calls(std::vector<Notice::Call> calls) { return {.calls = std::move(calls)}; }

TEST(Notice, TellsTheFirstDifference) {
  const Notice own = with_calls({{0, 1, "barrier"}, {1, 2, "gather"}, {2, 3, "barrier"}});
  EXPECT_EQ(difference_between(0, 1, {}, {own, with_calls({{0, 1, "barrier"}})}), "");
  const std::vector<Notice> both = {
      own, with_calls({{1, 5, "scatter"}, {2, 6, "barrier"}, {3, 7, "barrier"}})};
  EXPECT_EQ(difference_between(0, 1, {}, both),
            "ranks disagree: rank 0 called gather, rank 1 called scatter");
  EXPECT_EQ(difference_between(0, 1, {},
                               {with_calls({{0, 1, "all_to_all", {4, 5}, {4, 6}}}),
                                with_calls({{0, 1, "all_to_all", {7, 8}, {5, 8}}})}),
            "all_to_all: rank 1 sends 7 elements to rank 0, which expects 6");
}

TEST(Notice, TellsOfARankThatHasLeft) {
  const Notice own = with_calls({{0, 1, "barrier"}, {1, 2, "gather"}});
  Notice other = with_calls({{0, 1, "barrier"}});
  EXPECT_EQ(difference_between(0, 1, {}, {own, other}), "");
  other.has_left = true;
  EXPECT_EQ(difference_between(0, 1, {}, {own, other}),
            "gather: rank 1 has ended or left the group; rank 1 called barrier last");
  EXPECT_EQ(difference_between(1, 0, {}, {own, other}), "");
  Notice same = own;
  same.has_left = true;
  EXPECT_EQ(difference_between(0, 1, {}, {own, same}), "");
}

TEST(Notice, SaysWhatARankDoes) {
  Notice notice = with_calls({{0, 1, "barrier"}, {1, 2, "gather at a.py:1"}});
  EXPECT_EQ(state_of(3, notice), "rank 3 called gather at a.py:1 last");
  notice.messages = {{1, true, 1, 4, "f32[3]", "b.py:2"}, {2, false, -1, 0, "i8[1]", ""}};
  EXPECT_EQ(
      state_of(3, notice),
      "rank 3 called gather at a.py:1 last, and waits in recv of i8[1] from any rank; its send "
      "of f32[3] to rank 1 with tag 4 at b.py:2 is not received");
  EXPECT_EQ(state_of(3, {}), "nothing is heard of rank 3");
}

Notice with_messages(uint64_t version, std::vector<Notice::Message> messages) {
  return {.version = version, .messages = std::move(messages)};
}

// A message that has ended meanwhile is not one that is waited for in vain.
TEST(Notice, TellsOfMessagesThatLast) {
  const Notice sender = with_messages(1, {{1, true, 1, 0, "f32[3]", "a.py:1"}});
  const Notice receiver = with_messages(1, {{7, false, 0, 0, "f32[4]", "b.py:2"}});
  const Notice still_sender = with_messages(2, sender.messages);
  const Notice still_receiver = with_messages(2, receiver.messages);
  const std::string text =
      "ranks disagree: rank 0 sends f32[3] at a.py:1, rank 1 receives f32[4] at b.py:2";
  EXPECT_EQ(difference_between(0, 1, {sender, receiver}, {still_sender, still_receiver}), text);
  EXPECT_EQ(difference_between(1, 0, {sender, receiver}, {still_sender, still_receiver}), text);
  EXPECT_EQ(difference_between(0, 1, {}, {sender, receiver}), "");
  EXPECT_EQ(difference_between(0, 1, {sender, receiver}, {sender, still_receiver}), "");
  const Notice next = with_messages(2, {{8, false, 0, 0, "f32[4]", ""}});
  EXPECT_EQ(difference_between(0, 1, {sender, receiver}, {still_sender, next}), "");
  const Notice other_tag = with_messages(1, {{7, false, 0, 1, "f32[4]", ""}});
  EXPECT_EQ(difference_between(0, 1, {sender, other_tag},
                               {still_sender, with_messages(2, other_tag.messages)}),
            "");
  // One of the type that is received is over for its sender, and still on its way.
  const Notice ahead = with_messages(1, {{1, true, 1, 0, "f32[3]", "a.py:1", 1}});
  EXPECT_EQ(difference_between(0, 1, {ahead, receiver},
                               {with_messages(2, ahead.messages), still_receiver}),
            "");
  // Another one was received between the two notices.
  const Notice received = with_messages(2, {{7, false, 0, 0, "f32[4]", "b.py:2", 1}});
  EXPECT_EQ(
      difference_between(0, 1, {ahead, receiver}, {with_messages(2, ahead.messages), received}),
      "");
  // The second one that is sent is of the type that is received.
  const Notice two = with_messages(1, {sender.messages[0], {2, true, 1, 0, "f32[4]", ""}});
  EXPECT_EQ(
      difference_between(0, 1, {two, receiver}, {with_messages(2, two.messages), still_receiver}),
      "");
}

// On two threads, by the engine whatever the others use.
void run_on_gloo(const OnRank& on_rank, Duration timeout = kTestTimeout) {
  if (!std::ranges::count(engine_names(), "gloo")) GTEST_SKIP() << "there is no Gloo";
  const auto store = std::make_shared<MemoryStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      expect_success(rank, [&] {
        on_rank(*Group::join(
            {.store = store, .rank = rank, .size = 2, .engine = "gloo", .timeout = timeout}));
      });
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

Tensor filled_with(int64_t count, double value) {
  return Tensor(Array::filled(DType::f32, {count}, Element::of(value)));
}

TEST(Wires, Reduce) {
  run_on_gloo([](Group& group) {
    for (const int64_t count : {0, 1, 5, 10'001, 400'003}) {
      const Tensor sum = all_reduce(filled_with(count, group.rank() + 1), ReduceOp::sum, group);
      EXPECT_TRUE(std::ranges::all_of(sum.array().elements<float>(), [](float each) {
        return each == 3;
      })) << count;
    }
  });
}

TEST(Wires, SayWhatDiffers) {
  run_on_gloo([](Group& group) {
    expect_contains(
        message_of<DistError>([&] {
          if (group.rank() == 0) {
            all_reduce(filled_with(3, 1), ReduceOp::sum, group);
          } else {
            barrier(group);
          }
        }),
        {"ranks disagree", "rank 0 called all_reduce(sum) of f32[3]", "rank 1 called barrier"});
  });
}

// The other rank learns it from the connection, not from the deadline.
TEST(Wires, AFailureEndsTheCallsOfOthers) {
  run_on_gloo([](Group& group) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = message_of<DistError>([&] {
      if (group.rank() == 0) {
        recv(filled_with(3, 1), 1, group, {.timeout = Duration(50)});
      } else {
        barrier(group);
      }
    });
    expect_contains(text, {"recv of f32[3]", "0.05 s"});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kTestTimeout / 2);
  });
}

}  // namespace
}  // namespace plait::dist
