#include "tests/cuda_emulator/device/memory.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda_emulator/device/findings.h"

namespace emulator {
namespace {

constexpr size_t kRoomUnit = 512;  // rooms begin at multiples of this,
constexpr size_t kRedZone = 256;   // allocations this much later, and so much follows them at least
constexpr size_t kMostPoisoned = size_t{64}
                                 << 20;  // freed memory beyond this is returned to the system
constexpr size_t kMostFilled = size_t{256}
                               << 20;  // larger fresh allocations are filled at both ends only
constexpr size_t kEndFilled = size_t{1} << 20;

size_t rounded_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }
size_t room_for(size_t bytes) { return rounded_up(kRedZone + bytes + kRedZone, kRoomUnit); }

void* map_reserved(size_t bytes, int protection) {
  void* mapped =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  madvise(mapped, bytes, MADV_DONTDUMP);
  return mapped;
}

char* map_shared_file(size_t bytes, int& file) {
  file = memfd_create("plait_emulated_device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  madvise(mapped, bytes, MADV_DONTDUMP);
  return static_cast<char*>(mapped);
}

void fill_fresh(char* begin, size_t bytes) {
  if (bytes <= kMostFilled) {
    std::memset(begin, kFreshByte, bytes);
    return;
  }
  std::memset(begin, kFreshByte, kEndFilled);
  std::memset(begin + bytes - kEndFilled, kFreshByte, kEndFilled);
}

}  // namespace

ByteSet::ByteSet(size_t bytes)
    : size_(bytes / 8 + 8),
      bits_(static_cast<uint8_t*>(map_reserved(size_, PROT_READ | PROT_WRITE))) {}

ByteSet::~ByteSet() { munmap(bits_, size_); }

void ByteSet::set(size_t offset, size_t count, bool value) {
  const auto one = [&](size_t at) {
    const auto bit = static_cast<uint8_t>(1u << (at % 8));
    bits_[at / 8] = static_cast<uint8_t>(value ? bits_[at / 8] | bit : bits_[at / 8] & ~bit);
  };
  for (; count && offset % 8; ++offset, --count) one(offset);
  std::memset(bits_ + offset / 8, value ? 0xff : 0, count / 8);
  offset += count / 8 * 8;
  for (count %= 8; count; ++offset, --count) one(offset);
}

bool ByteSet::has_all(size_t offset, size_t count) const {
  for (; count && offset % 8; ++offset, --count) {
    if (!has(offset)) return false;
  }
  for (; count >= 8; offset += 8, count -= 8) {
    if (bits_[offset / 8] != 0xff) return false;
  }
  for (; count; ++offset, --count) {
    if (!has(offset)) return false;
  }
  return true;
}

DeviceMemory::DeviceMemory(int device, uint64_t hidden, char* access, size_t space, size_t total)
    : device_(device),
      hidden_(hidden),
      access_(access),
      space_(space),
      total_(total),
      cursor_(kRoomUnit),
      watched_(space) {
  rooms_[kRoomUnit] = space - 2 * kRoomUnit;
}

// The first room at or after the cursor, so that what was freed is reused as late as possible.
uint64_t DeviceMemory::find_room(size_t room) {
  const auto fits = [&](const auto& entry) { return entry.second >= room; };
  auto found = rooms_.upper_bound(cursor_);
  if (found != rooms_.begin() &&
      std::prev(found)->first + std::prev(found)->second >= cursor_ + room) {
    --found;
  } else {
    found = std::find_if(found, rooms_.end(), fits);
    if (found == rooms_.end()) found = std::find_if(rooms_.begin(), rooms_.end(), fits);
    if (found == rooms_.end()) return 0;
    cursor_ = found->first;
  }
  const auto [begin, size] = *found;
  rooms_.erase(found);
  const uint64_t at = cursor_;
  if (at > begin) rooms_[begin] = at - begin;
  if (begin + size > at + room) rooms_[at + room] = begin + size - at - room;
  cursor_ = at + room;
  return at;
}

uint64_t DeviceMemory::reserve(size_t bytes, bool stream_ordered, void* pool) {
  if (bytes > total_ - used_) return 0;
  const uint64_t room = find_room(room_for(bytes));
  if (!room) return 0;
  used_ += bytes;
  const uint64_t begin = hidden_ + room + kRedZone;
  allocations_[begin] = {begin, bytes, stream_ordered, false, pool};
  return begin;
}

void DeviceMemory::make_live(uint64_t begin) {
  Allocation& allocation = allocations_.at(begin);
  allocation.live = true;
  const size_t offset = begin - hidden_;
  fill_fresh(access_ + offset, allocation.bytes);
  watched_.written.set(offset, allocation.bytes, false);
  watched_.live.set(offset, allocation.bytes, true);
}

void DeviceMemory::count_free(Allocation& allocation) {
  if (!allocation.free_queued) used_ -= allocation.bytes;
  allocation.free_queued = true;
}

void DeviceMemory::release(uint64_t begin) {
  const auto found = allocations_.find(begin);
  if (found == allocations_.end()) return;
  const Allocation allocation = found->second;
  count_free(found->second);
  allocations_.erase(found);
  const size_t offset = begin - hidden_;
  std::memset(access_ + offset, kPoisonByte, std::min(allocation.bytes, kMostPoisoned));
  watched_.live.set(offset, allocation.bytes, false);
  watched_.written.set(offset, allocation.bytes, false);
  const size_t room = room_for(allocation.bytes);
  return_room(offset - kRedZone, room);
  poisoned_.emplace_back(offset - kRedZone, room);
  poisoned_bytes_ += room;
  while (poisoned_bytes_ > kMostPoisoned) discard_oldest();
}

void DeviceMemory::return_room(uint64_t begin, size_t room) {
  auto next = rooms_.lower_bound(begin);
  if (next != rooms_.end() && next->first == begin + room) {
    room += next->second;
    next = rooms_.erase(next);
  }
  if (next != rooms_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += room;
      return;
    }
  }
  rooms_[begin] = room;
}

// Pages that hold nothing but what was freed long ago are returned to the system.
void DeviceMemory::discard_oldest() {
  const auto [begin, room] = poisoned_.front();
  poisoned_.pop_front();
  poisoned_bytes_ -= room;
  const uint64_t first = rounded_up(begin, 4096), last = (begin + room) / 4096 * 4096;
  if (first >= last) return;
  const auto next = allocations_.lower_bound(hidden_ + begin + room);
  if (next != allocations_.begin()) {
    const Allocation& before = std::prev(next)->second;
    if (before.begin + before.bytes > hidden_ + begin) return;  // reused meanwhile
  }
  madvise(access_ + first, last - first, MADV_REMOVE);
  watched_.shadow.forget(first, last - first);
}

Allocation* DeviceMemory::find(uint64_t address) {
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return nullptr;
  Allocation& allocation = std::prev(found)->second;
  return address - allocation.begin < allocation.bytes ? &allocation : nullptr;
}

std::string DeviceMemory::place(uint64_t address) {
  const std::string device = " of device " + std::to_string(device_);
  const auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return "before all allocations" + device;
  const Allocation& allocation = std::prev(found)->second;
  const std::string bytes = std::to_string(allocation.bytes);
  if (address - allocation.begin < allocation.bytes) {
    return "offset " + std::to_string(address - allocation.begin) + " of an allocation of " +
           bytes + " bytes" + device;
  }
  return std::to_string(address - allocation.begin - allocation.bytes) +
         " bytes past the end of an allocation of " + bytes + " bytes" + device;
}

namespace {

// The memory of all devices: two regions in which theirs follow each other.
struct AllMemory {
  size_t space = rounded_up(settings().memory * 4, size_t{2} << 20);
  uint64_t hidden;
  int file = -1;
  char* access;
  std::vector<std::unique_ptr<DeviceMemory>> devices;

  AllMemory() {
    const auto count = static_cast<size_t>(settings().devices);
    hidden = reinterpret_cast<uint64_t>(map_reserved(count * space, PROT_NONE));
    access = map_shared_file(count * space, file);
    for (size_t k = 0; k < count; ++k) {
      devices.push_back(std::make_unique<DeviceMemory>(
          static_cast<int>(k), hidden + k * space, access + k * space, space, settings().memory));
    }
  }
};

AllMemory& all_memory() {
  static AllMemory* all = new AllMemory;  // kept to the end of the process
  return *all;
}

struct Alias {
  char* target;
  size_t bytes;
};

std::map<uint64_t, Alias>& aliases() {
  static auto* all = new std::map<uint64_t, Alias>;
  return *all;
}

}  // namespace

MemoryFile memory_file() {
  const AllMemory& all = all_memory();
  return {all.file, all.hidden, all.devices.size() * all.space};
}

DeviceMemory& memory_of(int device) { return *all_memory().devices[static_cast<size_t>(device)]; }

int device_with(uint64_t address) {
  const AllMemory& all = all_memory();
  const uint64_t offset = address - all.hidden;
  return offset < all.devices.size() * all.space ? static_cast<int>(offset / all.space) : -1;
}

int device_with_access(const void* address) {
  const AllMemory& all = all_memory();
  const auto offset = static_cast<uint64_t>(static_cast<const char*>(address) - all.access);
  return offset < all.devices.size() * all.space ? static_cast<int>(offset / all.space) : -1;
}

uint64_t reserve_alias(char* target, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(map_reserved(rounded_up(bytes, 4096), PROT_NONE));
  aliases()[address] = {target, bytes};
  return address;
}

void release_alias(uint64_t address) {
  const auto found = aliases().find(address);
  if (found == aliases().end()) return;
  munmap(reinterpret_cast<void*>(address), rounded_up(found->second.bytes, 4096));
  aliases().erase(found);
}

char* alias_target(uint64_t address, size_t& following) {
  auto found = aliases().upper_bound(address);
  if (found == aliases().begin()) return nullptr;
  --found;
  const uint64_t offset = address - found->first;
  if (offset >= found->second.bytes) return nullptr;
  following = found->second.bytes - offset;
  return found->second.target + offset;
}

}  // namespace emulator
