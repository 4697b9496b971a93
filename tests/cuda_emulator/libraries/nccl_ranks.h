// The memory that the ranks of a communicator share, threads or processes: who they are, and the
// operations that their streams have come to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sys/types.h>

#include "tests/cuda_emulator/abi/nccl.h"

namespace emulator {

constexpr int kMostRanks = 16;
constexpr uint64_t kMessagesInFlight = 8;  // from one rank to another

enum class NcclKind : int {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  send,
  receive
};

// An operation as the others see it.
struct NcclRecord {
  NcclKind kind = NcclKind::all_reduce;
  int type = 0, op = 0, root = 0;  // the other rank of a message
  uint64_t count = 0;
  uint64_t in = 0;  // an address of the device
};

// Messages from one rank to another, counted from 0: message k is in record k modulo their number
// until it is taken.
struct NcclMessages {
  std::atomic<uint64_t> posted{0}, taken{0};
  NcclRecord records[kMessagesInFlight];
};

struct NcclRank {
  std::atomic<bool> is_there{false};
  pid_t process = 0;
  int device = 0;
  // The file of its devices' memory (memory.h).
  int file = -1;
  uint64_t memory_begin = 0;
  size_t memory_bytes = 0;
  // Collectives that its stream has come to, and whose operands it has read; the record of
  // collective k is at k modulo 2, since ranks are at most one apart.
  std::atomic<uint64_t> posted{0}, read{0};
  NcclRecord records[2];
};

struct NcclRanks {
  uint64_t number = 0;       // another one for each communicator
  std::atomic<int> size{0};  // 0: no rank has come
  NcclRank ranks[kMostRanks];
  NcclMessages messages[kMostRanks][kMostRanks];  // from, to
};

// Makes the memory, and the id by which others find it.
ncclResult_t make_nccl_ranks(ncclUniqueId& id);
// Null if it cannot be found.
std::shared_ptr<NcclRanks> open_nccl_ranks(const ncclUniqueId& id);
// All ranks have it: the process that made it keeps it no longer.
void release_nccl_ranks(const ncclUniqueId& id);

// The bytes of an address that is of the device of a rank; null if its memory cannot be mapped.
const char* bytes_of_rank(const NcclRank& rank, uint64_t address);

}  // namespace emulator
