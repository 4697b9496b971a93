#include "plait/comm/inside/wires/mpi_wire.h"

#include "plait/core/error.h"

#ifdef PLAIT_HAVE_MPI
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "plait/comm/inside/calls/message.h"
#include "plait/comm/inside/hosts.h"
#include "plait/comm/inside/wires/mpi_library.h"
#include "plait/core/inside/system/immortal.h"
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

// A tag has 31 bits: the number of the group, and some of the slot.
constexpr int kSlotBits = 20;
constexpr int64_t kMostGroups = int64_t{1} << (31 - kSlotBits);

constexpr Patience kSpinning{.steps = 20'000}, kYielding{.steps = 200, .yields = true};

void check(int status, int rank) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MpiLibrary::get().error_string(status, text.data(), &size);
  throw DistError("transfer with rank {}: MPI: {}", rank, text.data());
}

// Bytes as elements of MPI, which counts in 32 bits.
class Elements {
 public:
  explicit Elements(size_t bytes) {
    const MpiLibrary& mpi = MpiLibrary::get();
    if (bytes <= kBlock) {
      count = static_cast<int>(bytes);
      type = mpi.byte;
      return;
    }
    MPI_Datatype block = nullptr;
    mpi.type_contiguous(static_cast<int>(kBlock), mpi.byte, &block);
    const std::array<int, 2> counts = {static_cast<int>(bytes / kBlock),
                                       static_cast<int>(bytes % kBlock)};
    const std::array<MPI_Aint, 2> places = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
    const std::array<MPI_Datatype, 2> types = {block, mpi.byte};
    mpi.type_create_struct(2, counts.data(), places.data(), types.data(), &type);
    mpi.type_commit(&type);
    mpi.type_free(&block);
    is_own_ = true;
  }
  // MPI keeps it while transfers use it.
  ~Elements() {
    if (is_own_) MpiLibrary::get().type_free(&type);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int count = 1;
  MPI_Datatype type = nullptr;

 private:
  static constexpr size_t kBlock = size_t{1} << 30;

  bool is_own_ = false;
};

// MPI cannot take back what it has begun: it may write to these bytes as long as the process lives.
void keep_for_ever(std::shared_ptr<const void> bytes) {
  static Immortal<std::pair<std::mutex, std::vector<std::shared_ptr<const void>>>> kept;
  const std::lock_guard lock(kept->first);
  kept->second.push_back(std::move(bytes));
}

class MpiTransfer : public WireTransfer {
 public:
  // The rank of each process of the world in the group is looked up in `world_ranks`.
  MpiTransfer(int rank, std::shared_ptr<const std::vector<int>> world_ranks,
              std::shared_ptr<const void> keeps)
      : rank_(rank), world_ranks_(std::move(world_ranks)), keeps_(std::move(keeps)) {}
  ~MpiTransfer() override {
    if (is_over_ || request_ == nullptr) return;
    if (is_received_) MpiLibrary::get().cancel(&request_);
    keep_for_ever(std::move(keeps_));
  }
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  void send(int tag, std::span<const std::byte> bytes, bool is_acknowledged) {
    const MpiLibrary& mpi = MpiLibrary::get();
    const Elements elements(bytes.size());
    const auto begin = is_acknowledged ? mpi.issend : mpi.isend;
    check(
        begin(bytes.data(), elements.count, elements.type, world_rank(), tag, mpi.world, &request_),
        rank_);
  }
  void receive(int tag, std::span<std::byte> bytes) {
    const MpiLibrary& mpi = MpiLibrary::get();
    const Elements elements(bytes.size());
    is_received_ = true;
    const int from = rank_ == kAnyRank ? MPI_ANY_SOURCE : world_rank();
    check(mpi.irecv(bytes.data(), elements.count, elements.type, from, tag, mpi.world, &request_),
          rank_);
  }

  bool is_over() override {
    if (is_over_) return true;
    int is_done = 0;
    MPI_Status status{};
    check(MpiLibrary::get().test(&request_, &is_done, &status), rank_);
    if (is_done == 0) return false;
    if (rank_ == kAnyRank) {
      const auto found = std::ranges::find(*world_ranks_, status.MPI_SOURCE);
      rank_ = static_cast<int>(found - world_ranks_->begin());
    }
    return is_over_ = true;
  }
  int source() const override { return rank_; }

 private:
  int world_rank() const { return (*world_ranks_)[static_cast<size_t>(rank_)]; }

  int rank_;
  const std::shared_ptr<const std::vector<int>> world_ranks_;
  std::shared_ptr<const void> keeps_;
  MPI_Request request_ = nullptr;
  bool is_received_ = false, is_over_ = false;
};

class MpiWire : public Wire {
 public:
  MpiWire(std::vector<int> world_ranks, int64_t number)
      : world_ranks_(std::make_shared<const std::vector<int>>(std::move(world_ranks))),
        number_(static_cast<int>(number % kMostGroups)),
        patience_(has_cores_for(static_cast<int>(world_ranks_->size())) ? kSpinning : kYielding) {}

  std::string_view name() const override { return "mpi"; }

  std::unique_ptr<WireTransfer> send(int rank, uint64_t slot, std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> keeps,
                                     bool is_acknowledged) override {
    auto made = std::make_unique<MpiTransfer>(rank, world_ranks_, std::move(keeps));
    made->send(tag_of(slot), bytes, is_acknowledged);
    return made;
  }
  std::unique_ptr<WireTransfer> receive(int rank, uint64_t slot, std::span<std::byte> bytes,
                                        std::shared_ptr<const void> keeps) override {
    auto made = std::make_unique<MpiTransfer>(rank, world_ranks_, std::move(keeps));
    made->receive(tag_of(slot), bytes);
    return made;
  }
  // The others read of it in the store.
  void close() override { note_failure_of_mpi(); }
  Patience patience() const override { return patience_; }
  bool is_polled() const override { return true; }

 private:
  // One bit tells calls and messages apart.
  int tag_of(uint64_t slot) const {
    const auto bits = static_cast<int>((slot >> 63 << (kSlotBits - 1)) |
                                       (slot & ((uint64_t{1} << (kSlotBits - 1)) - 1)));
    return number_ << kSlotBits | bits;
  }

  const std::shared_ptr<const std::vector<int>> world_ranks_;  // those of the ranks of the group
  const int number_;
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
