#include "tests/cuda_emulator/libraries/nccl_ranks.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda_emulator/device/memory.h"

namespace emulator {
namespace {

struct Id {
  char mark[8] = {'e', 'm', 'u', 'n', 'c', 'c', 'l', 0};
  pid_t process = 0;
  int file = -1;
  uint64_t number = 0;
};

Id read_id(const ncclUniqueId& id) {
  Id read;
  std::memcpy(static_cast<void*>(&read), id.internal, sizeof read);
  return read;
}

// A mapping of a file, which is closed with it.
std::shared_ptr<NcclRanks> mapped(int file) {
  void* const memory =
      mmap(nullptr, sizeof(NcclRanks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  return {static_cast<NcclRanks*>(memory), [file](NcclRanks* ranks) {
            munmap(ranks, sizeof(NcclRanks));
            close(file);
          }};
}

// Those that this process has made, until all ranks have them.
std::map<uint64_t, std::shared_ptr<NcclRanks>>& own_ranks() {
  static auto* all = new std::map<uint64_t, std::shared_ptr<NcclRanks>>;
  return *all;
}

std::string path_of(pid_t process, int file) {
  return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
}

}  // namespace

ncclResult_t make_nccl_ranks(ncclUniqueId& id) {
  Id made;
  made.process = getpid();
  made.file = memfd_create("plait_emulated_nccl", MFD_CLOEXEC);
  if (made.file < 0 || ftruncate(made.file, sizeof(NcclRanks)) != 0) return ncclSystemError;
  const std::shared_ptr<NcclRanks> ranks = mapped(made.file);
  if (!ranks) return ncclSystemError;
  new (ranks.get()) NcclRanks;
  std::random_device random;
  made.number = ranks->number = (uint64_t{random()} << 32 | random()) + 1;
  own_ranks()[made.number] = ranks;
  std::memset(id.internal, 0, sizeof id.internal);
  std::memcpy(id.internal, static_cast<const void*>(&made), sizeof made);
  return ncclSuccess;
}

std::shared_ptr<NcclRanks> open_nccl_ranks(const ncclUniqueId& id) {
  const Id read = read_id(id);
  if (std::memcmp(read.mark, Id().mark, sizeof read.mark) != 0) return nullptr;
  if (read.process == getpid()) {
    const auto found = own_ranks().find(read.number);
    return found == own_ranks().end() ? nullptr : found->second;
  }
  const int file = open(path_of(read.process, read.file).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  std::shared_ptr<NcclRanks> ranks = mapped(file);
  return ranks && ranks->number == read.number ? ranks : nullptr;
}

void release_nccl_ranks(const ncclUniqueId& id) {
  const Id read = read_id(id);
  if (read.process == getpid()) own_ranks().erase(read.number);
}

const char* bytes_of_rank(const NcclRank& rank, uint64_t address) {
  if (rank.process == getpid()) {
    const int device = device_with(address);
    return device < 0 ? nullptr : memory_of(device).access(address);
  }
  static auto* mappings = new std::map<std::pair<pid_t, int>, const char*>;
  const char*& mapping = (*mappings)[{rank.process, rank.file}];
  if (!mapping) {
    const int file = open(path_of(rank.process, rank.file).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory =
        mmap(nullptr, rank.memory_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, rank.memory_bytes, MADV_DONTDUMP);
    mapping = static_cast<const char*>(memory);
  }
  return mapping + (address - rank.memory_begin);
}

}  // namespace emulator
