#include "plait/comm/messages.h"

#include <random>

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

Tensor numbers(int64_t count, double first = 0) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
  return placed(Tensor(Array::of(std::span<const double>(values), {count})));
}

double first_of(const Tensor& x) { return x.array().elements<double>()[0]; }

void expect_numbers(const Tensor& x, int64_t count, double first = 0) {
  const Array array = x.array().on_host();
  const auto elements = array.elements<double>();
  ASSERT_EQ(static_cast<int64_t>(elements.size()), count);
  for (size_t i = 0; i < elements.size(); ++i) {
    ASSERT_EQ(elements[i], first + static_cast<double>(i)) << i;
  }
}

const std::vector<int64_t> kLengths = {0, 1, 3, 1000, 32'768, 100'003};

void pass_around(Group& group) {
  const int size = group.size(), next = (group.rank() + 1) % size,
            before = (group.rank() + size - 1) % size;
  for (const int64_t count : kLengths) {
    const auto sent = async::send(numbers(count, group.rank()), next, group);
    const Received received = recv(numbers(count), before, group);
    EXPECT_EQ(received.source, before);
    expect_numbers(received.tensor, count, before);
    sent->wait();
  }
}

class Passing : public testing::TestWithParam<int> {};

TEST_P(Passing, AsThreads) { run_on_threads(GetParam(), pass_around); }
TEST_P(Passing, AsProcesses) { const Processes processes(GetParam(), pass_around); }

INSTANTIATE_TEST_SUITE_P(Messages, Passing, testing::Values(2, 3, 4));

TEST(Messages, OfManyTagsAreToldApart) {
  run_on_threads(2, [](Group& group) {
    constexpr int kMessages = 2500;
    std::vector<std::shared_ptr<Work>> works;
    if (group.rank() == 0) {
      for (int tag = 0; tag < kMessages; ++tag) {
        works.push_back(async::send(numbers(1, tag), 1, group, {.tag = tag}));
      }
      for (const auto& work : works) work->wait();
      return;
    }
    for (int tag = kMessages - 1; tag >= 0; --tag) {
      works.push_back(async::recv(numbers(1), 0, group, {.tag = tag}));
    }
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_EQ(first_of(works[static_cast<size_t>(i)]->result()[0]), kMessages - 1 - i);
    }
  });
}

TEST(Messages, OfAllSizesAreInOrder) {
  run_on_threads(3, [](Group& group) {
    std::vector<std::shared_ptr<Work>> works;
    for (int other = 0; other < 3; ++other) {
      if (other == group.rank()) continue;
      for (const int64_t count : {0, 1, 486, 487, 488, 489, 8192, 8193, 40'000, 3}) {
        works.push_back(async::send(numbers(count, group.rank() + 7), other, group));
      }
    }
    for (int other = 0; other < 3; ++other) {
      if (other == group.rank()) continue;
      for (const int64_t count : {0, 1, 486, 487, 488, 489, 8192, 8193, 40'000, 3}) {
        expect_numbers(recv(numbers(count), other, group).tensor, count, other + 7);
      }
    }
    for (const auto& work : works) work->wait();
  });
}

TEST(Messages, AreTakenByTag) {
  run_on_threads(2, [](Group& group) {
    constexpr int kMessages = 20;
    if (group.rank() == 0) {
      std::vector<std::shared_ptr<Work>> sent;
      for (int i = 0; i < kMessages; ++i) {
        sent.push_back(async::send(numbers(1 + i * 5000, i), 1, group, {.tag = i % 4}));
        // While the receiver waits for a message, it takes those before it.
        if (is_local()) sent.back()->wait();
      }
      for (const auto& work : sent) work->wait();
      return;
    }
    for (int tag = 3; tag >= 0; --tag) {
      for (int i = tag; i < kMessages; i += 4) {
        expect_numbers(recv(numbers(1 + i * 5000), 0, group, {.tag = tag}).tensor, 1 + i * 5000, i);
      }
    }
  });
}

// A message of another tag is stored, while it arrives, until a call waits for it.
TEST(Messages, AreTakenWhileTheyAreStored) {
  constexpr int64_t kLong = 3'000'000;
  run_on_threads(2, [](Group& group) {
    const Tensor like = numbers(kLong);
    for (int round = 0; round < 5; ++round) {
      if (group.rank() == 0) {
        const auto sent = async::send(numbers(kLong, round), 1, group);
        send(numbers(3, round), 1, group, {.tag = 1});
        send(numbers(5, round), 1, group);
        sent->wait();
        continue;
      }
      const auto last = async::recv(numbers(3), 0, group, {.tag = 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(round));
      const auto first = async::recv(like, 0, group);
      expect_numbers(first->result()[0], kLong, round);
      expect_numbers(recv(numbers(5), 0, group).tensor, 5, round);
      expect_numbers(last->result()[0], 3, round);
    }
  });
}

TEST(Messages, FromAnyRank) {
  run_on_threads(4, [](Group& group) {
    if (group.rank() != 0) return send(numbers(2, group.rank() * 10), 0, group);
    std::vector<bool> has_come(4);
    for (int i = 1; i < 4; ++i) {
      const Received received = recv(numbers(2), std::nullopt, group);
      EXPECT_EQ(first_of(received.tensor), received.source * 10);
      has_come[static_cast<size_t>(received.source)] = true;
    }
    EXPECT_EQ(has_come, (std::vector<bool>{false, true, true, true}));
  });
}

TEST(Messages, ManyInFlight) {
  run_on_threads(3, [](Group& group) {
    constexpr int kMessages = 40;
    std::mt19937 random(5);
    std::vector<std::shared_ptr<Work>> sent, received;
    for (int i = 0; i < kMessages; ++i) {
      const int64_t count = static_cast<int64_t>(random() % 50'000);  // the same on all ranks
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == group.rank()) continue;
        sent.push_back(async::send(numbers(count, group.rank() * 100 + i), rank, group));
        received.push_back(async::recv(numbers(count), rank, group));
      }
      if (i % 10 == 0) barrier(group);
    }
    auto next = received.begin();
    for (int i = 0; i < kMessages; ++i) {
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == group.rank()) continue;
        const auto& work = *next++;
        const Tensor& tensor = work->result()[0];
        EXPECT_EQ(work->source_rank(), rank);
        expect_numbers(tensor, tensor.array().element_count(), rank * 100 + i);
      }
    }
    for (const auto& work : sent) work->wait();
  });
}

TEST(Messages, OfAnotherTypeAreAnError) {
  run_on_threads(2, [](Group& group) {
    const std::string text = message_of<DistError>([&] {
      if (group.rank() == 0) {
        send(numbers(3), 1, group);
        barrier(group);
      } else {
        recv(numbers(4), 0, group);
      }
    });
    expect_contains(text, {"rank 0 sends f64[3]", "rank 1 receives f64[4]", "messages_test.cpp"});
  });
}

TEST(Messages, NobodySends) {
  Flag is_late;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 1) {
      barrier(group);
      return is_late.wait();
    }
    barrier(group);
    expect_contains(message_of<DistError>(
                        [&] { recv(numbers(4), 1, group, {.tag = 7, .timeout = Duration(100)}); }),
                    {"recv of f64[4] from rank 1 with tag 7", "messages_test.cpp", "0.1 s"});
    is_late.set();
  });
}

// The rest of a long message is not taken for another one.
TEST(Messages, OneThatIsLateEndsAll) {
  Flag is_late;
  run_on_threads(2, [&](Group& group) {
    if (group.rank() == 0) {
      // Longer than the ring, so that it cannot end.
      const auto sent =
          async::send(numbers(1'000'000), 1, group, {.tag = 1, .timeout = Duration(100)});
      expect_contains(message_of<DistError>([&] { sent->wait(); }),
                      {"send of f64[1000000]", "0.1 s"});
      return is_late.set();
    }
    is_late.wait();
    const std::string text = message_of<DistError>([&] { recv(numbers(3), 0, group); });
    expect_contains(text, {"send of f64[1000000]", "0.1 s"});
  });
}

TEST(Messages, ARankIsKilled) {
  for (const bool is_any : {false, true}) {
    Processes processes(2, [&](Group& group) {
      if (group.rank() == 1) {
        send(numbers(3), 0, group);
        if (!is_local()) barrier(group);
        ::raise(SIGKILL);
      }
      const std::optional<int> rank = is_any ? std::nullopt : std::optional(1);
      expect_numbers(recv(numbers(3), rank, group).tensor, 3);
      if (!is_local()) barrier(group);
      expect_contains(message_of<DistError>([&] { recv(numbers(3), rank, group); }),
                      {"recv of f64[3]", "ended"});
    });
    EXPECT_TRUE(WIFSIGNALED(processes.status_of(1)));
  }
}

TEST(Messages, RefusePeers) {
  run_on_threads(1, [](Group& group) {
    expect_contains(message_of<ValueError>([&] { send(numbers(1), 1, group); }),
                    {"send", "rank 1"});
    expect_contains(message_of<ValueError>([&] { recv(numbers(1), -1, group); }),
                    {"recv", "rank -1"});
  });
}

}  // namespace
}  // namespace plait::dist
