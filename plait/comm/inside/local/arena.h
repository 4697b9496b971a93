// The memory that the ranks of a group on one host share: who they are, what they have called, how
// far they have come, and slots through which data moves.
//
// All ranks pass through the same rounds, numbered from 0. In a round a rank may write to its slot
// of that number (modulo kSlots), which the others read; it writes there again only when all ranks
// have done with the round.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "plait/comm/inside/calls/collective_call.h"
#include "plait/comm/inside/local/shared_memory.h"

namespace plait::dist {

inline constexpr uint64_t kSlots = 4;
inline constexpr size_t kSlotBytes = size_t{512} << 10;
inline constexpr size_t kLineBytes = 48;  // fit into one cache line beside its counter
inline constexpr uint64_t kRecords = 64;  // more than the calls that ranks are apart
inline constexpr size_t kPlaceBytes = 200;
inline constexpr size_t kWaitBytes = 400;
inline constexpr uint64_t kWaits = 8;
inline constexpr uint64_t kRingBytes = uint64_t{256} << 10;

// A short payload with its counter: it moves between cores together.
struct alignas(64) Line {
  std::atomic<uint64_t> rounds{0};  // the round it was written in, plus 1
  uint64_t history = 0;             // that of the call
  std::array<std::byte, kLineBytes> payload;
};

// A call that a rank has begun.
struct CallRecord {
  CallSummary summary;
  std::array<char, kPlaceBytes> place;  // the user's line, ends with 0
};

// A rank is `present` when the others can open what is its own, and has `joined` when it has opened
// what is theirs.
enum class RankState : uint32_t { absent, present, joined, left };

struct RankBlock {
  // Written once, before `state`.
  pid_t process = 0;
  int32_t doorbell = -1;
  alignas(64) std::atomic<RankState> state{RankState::absent};
  alignas(64) std::atomic<uint64_t> calls{0};   // that it has begun
  alignas(64) std::atomic<uint64_t> writes{0};  // steps of rounds that it has written
  alignas(64) std::atomic<uint64_t> rounds{0};  // that it has done with
  // A hash of a call and of all before it: ranks that differed once do not agree again.
  alignas(64) std::array<std::atomic<uint64_t>, kRecords> histories;
  std::array<CallRecord, kRecords> records;
  std::array<Line, kSlots> lines;
  // Messages for which it has waited for a while, the last ones; texts end with 0.
  std::atomic<uint64_t> waits{0};     // that it has begun
  std::atomic<uint32_t> in_waits{0};  // threads that still wait
  std::array<std::array<char, kWaitBytes>, kWaits> wait_texts;
};

// Bytes that flow from one rank to another (messages.h). The counters only grow.
struct Ring {
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  alignas(64) std::array<std::byte, kRingBytes> bytes;
};

// Why the group is dead: the first rank that notices writes it.
struct Failure {
  std::atomic<uint32_t> stage{0};  // 1: the text is being written; 2: it is there
  std::array<char, 4096> text;     // ends with 0
};

struct ArenaHead {
  uint64_t magic = 0;
  uint64_t size = 0;  // ranks
  Failure failure;
};

class Arena {
 public:
  static Arena make(int size);
  // DistError unless it is an arena of as many ranks.
  static Arena open(pid_t process, int descriptor, int size);

  int size() const { return size_; }
  int descriptor() const { return memory_->descriptor(); }
  ArenaHead& head() const { return *at<ArenaHead>(0); }
  RankBlock& rank(int rank) const { return *at<RankBlock>(block_of(rank)); }
  std::byte* slot(int rank, uint64_t round) const;
  Ring& ring(int from, int to) const;

  static size_t bytes_of(int size);

 private:
  Arena(std::shared_ptr<SharedMemory> memory, int size) : memory_(std::move(memory)), size_(size) {}
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(memory_->data() + offset);
  }
  static size_t block_of(int rank);
  static size_t rings_of(int size);

  std::shared_ptr<SharedMemory> memory_;
  int size_;
};

// Writes a failure, unless there is one.
void fail_with(Failure& failure, std::string_view text);
// The text of a failure, if there is one.
std::optional<std::string> text_of(const Failure& failure);

}  // namespace plait::dist
