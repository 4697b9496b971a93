#include "plait/comm/inside/local/arena.h"

#include <algorithm>
#include <new>
#include <thread>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

constexpr uint64_t kMagic = 0x706c61697441524e;
constexpr size_t kPage = 4096;

constexpr size_t rounded(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share them");

}  // namespace

Arena Arena::make(int size) {
  Arena arena(SharedMemory::make("plait-group", bytes_of(size)), size);
  new (&arena.head()) ArenaHead;
  for (int rank = 0; rank < size; ++rank) new (&arena.rank(rank)) RankBlock;
  arena.head().magic = kMagic;
  arena.head().size = static_cast<uint64_t>(size);
  return arena;
}

Arena Arena::open(pid_t process, int descriptor, int size) {
  Arena arena(SharedMemory::open(process, descriptor, bytes_of(size)), size);
  if (arena.head().magic != kMagic || arena.head().size != static_cast<uint64_t>(size)) {
    throw DistError("the shared memory of process {} is not that of a group of {} ranks", process,
                    size);
  }
  return arena;
}

std::byte* Arena::slot(int rank, uint64_t round) const {
  const size_t slots = block_of(size_) + static_cast<size_t>(rank) * kSlots * kSlotBytes;
  return at<std::byte>(slots + (round % kSlots) * kSlotBytes);
}

Ring& Arena::ring(int from, int to) const {
  const size_t place =
      static_cast<size_t>(from) * static_cast<size_t>(size_) + static_cast<size_t>(to);
  return *at<Ring>(rings_of(size_) + place * sizeof(Ring));
}

size_t Arena::bytes_of(int size) {
  return rings_of(size) + static_cast<size_t>(size) * static_cast<size_t>(size) * sizeof(Ring);
}

size_t Arena::rings_of(int size) {
  return block_of(size) + static_cast<size_t>(size) * kSlots * kSlotBytes;
}

size_t Arena::block_of(int rank) {
  return rounded(sizeof(ArenaHead)) + static_cast<size_t>(rank) * rounded(sizeof(RankBlock));
}

void fail_with(Failure& failure, std::string_view text) {
  uint32_t none = 0;
  if (!failure.stage.compare_exchange_strong(none, 1)) return;
  const size_t size = std::min(text.size(), failure.text.size() - 1);
  std::copy_n(text.begin(), size, failure.text.begin());
  failure.text[size] = '\0';
  failure.stage.store(2);
}

std::optional<std::string> text_of(const Failure& failure) {
  if (failure.stage.load(std::memory_order_relaxed) == 0) return std::nullopt;
  for (int i = 0; failure.stage.load() != 2; ++i) {
    if (i == 1000) return "a rank was killed while it wrote why the group failed";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::string(failure.text.data());
}

}  // namespace plait::dist
