#include "plait/comm/inside/wires/mpi_wire.h"

#include "plait/core/error.h"

#ifdef PLAIT_HAVE_MPI
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "plait/comm/inside/calls/message.h"
#include "plait/comm/inside/hosts.h"
#include "plait/comm/inside/wires/mpi_library.h"
#include "plait/comm/inside/wires/mpi_matching.h"
#include "plait/core/hash.h"
#endif

namespace plait::dist {

#ifndef PLAIT_HAVE_MPI

bool has_mpi() { return false; }
bool is_started_by_mpi() { return false; }

std::unique_ptr<Wire> make_mpi_wire(Store&, int, int) {
  throw DistError("the engine mpi is not in this build")
      .hint("install libopenmpi-dev, and build Plait again");
}

#else

namespace {

constexpr Patience kSpinning{.steps = 20'000}, kYielding{.steps = 200, .yields = true};

class MpiTransfer : public WireTransfer {
 public:
  // The rank of each process of the world in the group is looked up in `world_ranks`.
  MpiTransfer(std::shared_ptr<MpiMatching::Message> message, int rank,
              std::shared_ptr<const std::vector<int>> world_ranks)
      : message_(std::move(message)), rank_(rank), world_ranks_(std::move(world_ranks)) {}
  ~MpiTransfer() override { MpiMatching::of_process().abandon(message_); }
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  bool is_over() override {
    try {
      if (!MpiMatching::of_process().is_over(*message_)) return false;
    } catch (DistError& error) {
      if (rank_ != kAnyRank) error.prepend(fmt::format("transfer with rank {}: ", rank_));
      throw;
    }
    if (rank_ == kAnyRank) {
      const auto found = std::ranges::find(*world_ranks_, message_->process);
      rank_ = static_cast<int>(found - world_ranks_->begin());
    }
    return true;
  }
  int source() const override { return rank_; }

 private:
  const std::shared_ptr<MpiMatching::Message> message_;
  int rank_;
  const std::shared_ptr<const std::vector<int>> world_ranks_;
};

class MpiWire : public Wire {
 public:
  MpiWire(std::vector<int> world_ranks, int64_t number)
      : world_ranks_(std::make_shared<const std::vector<int>>(std::move(world_ranks))),
        group_(hash_combine(static_cast<uint64_t>(number),
                            hash_bytes(std::as_bytes(std::span(*world_ranks_))))),
        patience_(has_cores_for(static_cast<int>(world_ranks_->size())) ? kSpinning : kYielding) {}
  ~MpiWire() override { MpiMatching::of_process().forget(group_); }
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  std::string_view name() const override { return "mpi"; }

  std::unique_ptr<WireTransfer> send(int rank, uint64_t slot, std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> keeps,
                                     bool is_acknowledged) override {
    return transfer(MpiMatching::of_process().send(process_of(rank), {group_, slot}, bytes,
                                                   std::move(keeps), is_acknowledged),
                    rank);
  }
  std::unique_ptr<WireTransfer> receive(int rank, uint64_t slot, std::span<std::byte> bytes,
                                        std::shared_ptr<const void> keeps) override {
    const int process = rank == kAnyRank ? kAnyProcess : process_of(rank);
    return transfer(
        MpiMatching::of_process().receive(process, {group_, slot}, bytes, std::move(keeps)), rank);
  }
  // The others read of it in the store.
  void close() override { note_failure_of_mpi(); }
  Patience patience() const override { return patience_; }
  bool is_polled() const override { return true; }

 private:
  int process_of(int rank) const { return (*world_ranks_)[static_cast<size_t>(rank)]; }
  std::unique_ptr<WireTransfer> transfer(std::shared_ptr<MpiMatching::Message> message, int rank) {
    return std::make_unique<MpiTransfer>(std::move(message), rank, world_ranks_);
  }

  const std::shared_ptr<const std::vector<int>> world_ranks_;  // those of the ranks of the group
  const uint64_t group_;  // another one for each group that a process is in
  const Patience patience_;
};

}  // namespace

bool has_mpi() { return true; }

bool is_started_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

std::unique_ptr<Wire> make_mpi_wire(Store& store, int rank, int size) {
  const MpiLibrary& mpi = MpiLibrary::get();
  int world_rank = 0, world_size = 0;
  mpi.comm_rank(mpi.world, &world_rank);
  mpi.comm_size(mpi.world, &world_size);
  if (size > world_size) {
    throw DistError("the engine mpi: a group of {} ranks, but MPI has {} processes", size,
                    world_size)
        .hint("start the processes by mpirun -n " + std::to_string(size));
  }
  // Groups that have two processes in common have other numbers: a message that was never received
  // is not taken for one of another group.
  static std::atomic<int64_t> next_number = 0;
  const auto key_of = [](int of) { return fmt::format("mpi/{}", of); };
  store.set(key_of(rank), fmt::format("{} {}", world_rank, next_number.load()));
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) keys.push_back(key_of(other));
  std::vector<int> world_ranks;
  int64_t number = 0;
  for (const std::string& text : store.multi_get(keys)) {
    std::istringstream stream(text);
    int64_t next = 0;
    stream >> world_ranks.emplace_back() >> next;
    number = std::max(number, next);
  }
  next_number = number + 1;
  return std::make_unique<MpiWire>(std::move(world_ranks), number);
}

#endif

}  // namespace plait::dist
