// Ranks that are killed or stopped at random moments, during random calls: the others have an
// error, and no wrong number.
#include <atomic>
#include <csignal>
#include <fstream>
#include <new>
#include <random>

#include <sys/mman.h>

#include "plait/comm/collectives.h"
#include "plait/comm/messages.h"

#include "tests/comm/ranks.h"

namespace plait::dist {
namespace {

constexpr int kSize = 4;
constexpr Duration kDeadline(300);

Tensor filled(int64_t count, int value) {
  return Tensor(Array::filled(DType::i64, {count}, Element::of(static_cast<double>(value))));
}

bool is_filled(const Tensor& x, int64_t value) {
  const Array array = x.array().on_host();
  const auto elements = array.elements<int64_t>();
  return std::ranges::all_of(elements, [&](int64_t each) { return each == value; });
}

// One call with operands that depend on its number; true if the result is right.
bool call_is_right(Group& group, int64_t number, std::mt19937& random) {
  const int own = group.rank() + static_cast<int>(number);
  const auto root = static_cast<int>(random() % kSize);
  const uint32_t most = is_nccl() ? 10'000 : 200'000;  // emulated GPUs take long
  const int64_t count = random() % 3 == 0 ? static_cast<int64_t>(random() % most)
                                          : static_cast<int64_t>(random() % 10);
  const int64_t sum = 6 + 4 * number;
  switch (random() % 5) {
    case 0: return is_filled(all_reduce(filled(count, own), ReduceOp::sum, group), sum);
    case 1: return is_filled(broadcast(filled(count, own), root, group), root + number);
    case 2:
      return is_filled(async::all_reduce(filled(count, own), ReduceOp::max, group)->result()[0],
                       3 + number);
    case 3: {
      const Tensor received = reduce(filled(count, own), root, ReduceOp::sum, group);
      return is_filled(received, root == group.rank() ? sum : own);
    }
    default: {
      const auto sent = async::send(filled(count, own), (group.rank() + 1) % kSize, group);
      const int before = (group.rank() + kSize - 1) % kSize;
      const Received received = recv(filled(count, 0), before, group);
      sent->wait();
      return is_filled(received.tensor, before + number);
    }
  }
}

// Calls until one fails; checks that a DistError ends them, not a wrong number.
void call_until_it_fails(Group& group, std::atomic<int64_t>& calls) {
  std::mt19937 random(7);  // the same calls on all ranks
  for (int64_t number = 0;; ++number) {
    try {
      ASSERT_TRUE(call_is_right(group, number, random)) << number;
      ++calls;
    } catch (const DistError& error) {
      std::cerr << "call " << number << ": " << error.what() << "\n";
      return;
    }
  }
}

// Starts ranks that wait for others at most for the deadline.
class Victims {
 public:
  Victims() : calls_(*new(shared_memory()) std::atomic<int64_t>(0)) {
    for (int rank = 0; rank < kSize; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(run(rank));
      children_.push_back(child);
    }
  }
  ~Victims() { ::munmap(&calls_, sizeof calls_); }
  Victims(const Victims&) = delete;
  Victims& operator=(const Victims&) = delete;

  // Returns when ranks have made calls.
  void wait_for_calls() const {
    for (int i = 0; i < 60'000 && calls_.load() < 2 * kSize; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GE(calls_.load(), 2 * kSize);
  }
  pid_t process(int rank) const { return children_[static_cast<size_t>(rank)]; }
  int status_of(int rank) const {
    int status = -1;
    ::waitpid(process(rank), &status, 0);
    return status;
  }

 private:
  static void* shared_memory() {
    return ::mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  int run(int rank) const {
    try {
      const auto store = std::make_shared<FileStore>(folder_.path("store"), 0, kTestTimeout);
      const auto all = join_as(store, rank, kSize);
      // NCCL is given some time to end what a rank that has ended has sent.
      const Duration deadline = is_nccl() ? kDeadline * 3 : kDeadline;
      const auto group = all->subgroup({0, 1, 2, 3}, {.timeout = deadline});
      call_until_it_fails(*group, calls_);
      return testing::Test::HasFailure() ? 1 : 0;
    } catch (const std::exception& error) {
      std::cerr << "rank " << rank << ": " << error.what() << "\n";
      return 2;
    }
  }

  TemporaryFolder folder_;
  std::atomic<int64_t>& calls_;  // that have succeeded, of all ranks
  std::vector<pid_t> children_;
};

void strike(int signal, int rounds) {
  const int64_t seed = testing::UnitTest::GetInstance()->random_seed();
  std::mt19937 random(static_cast<uint32_t>(seed) + static_cast<uint32_t>(signal));
  for (int round = 0; round < rounds; ++round) {
    const Victims ranks;
    const int victim = static_cast<int>(random() % kSize);
    ranks.wait_for_calls();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    ::kill(ranks.process(victim), signal);
    for (int rank = 0; rank < kSize; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(ranks.status_of(rank), 0) << "round " << round;
    }
    if (signal == SIGSTOP) ::kill(ranks.process(victim), SIGCONT);
    const int status = ranks.status_of(victim);
    EXPECT_EQ(signal == SIGSTOP ? WEXITSTATUS(status) : WTERMSIG(status),
              signal == SIGSTOP ? 0 : SIGKILL);
  }
}

int rounds() { return share_of(is_nccl() ? 4 : 10); }  // the emulated device begins slowly

// One of the ranks that strike_under_mpi.sh starts.
TEST(RandomFailures, OnOwnRank) {
  if (!is_own_rank()) GTEST_SKIP() << "the ranks are not processes of their own";
  run_on_own_rank(kSize, [](Group& all) {
    // Ranks that are polled take turns on few cores.
    const auto group = all.subgroup({0, 1, 2, 3}, {.timeout = kDeadline * 10});
    std::ofstream(std::string(std::getenv("PLAIT_TEST_FOLDER")) + "/began_" +
                  std::to_string(all.rank()));
    std::atomic<int64_t> calls = 0;
    call_until_it_fails(*group, calls);
  });
}

TEST(RandomFailures, RanksAreKilled) { strike(SIGKILL, rounds()); }
TEST(RandomFailures, RanksAreStopped) { strike(SIGSTOP, rounds()); }

}  // namespace
}  // namespace plait::dist
