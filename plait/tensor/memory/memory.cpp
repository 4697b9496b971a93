// Blocks come in a few hundred size classes: multiples of 64 bytes up to 1 KiB, then four classes
// for each doubling. Each class has a free list: small classes one list for each thread, the others
// one shared list.
#include "plait/tensor/memory/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <span>
#include <utility>

#include <sys/mman.h>

#include "plait/core/ambient.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/available_memory.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/tensor/memory/device_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define PLAIT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLAIT_ASAN 1
#endif
#endif
#ifdef PLAIT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace plait {

namespace setting {
constinit Setting<int64_t> kMemoryLimit(
    {.name = "memory_limit",
     .standard = "0",
     .description = "limit on the bytes of all arrays together; 0 means the available memory",
     .range = {0, int64_t{1} << 62}});
constinit Setting<int64_t> kDeviceMemoryLimit(
    {.name = "device_memory_limit",
     .standard = "0",
     .description = "limit on the bytes of all arrays on one device; 0 means its free memory",
     .range = {0, int64_t{1} << 62}});
}  // namespace setting

namespace {

const ListedSettings memory_settings{&setting::kMemoryLimit, &setting::kDeviceMemoryLimit};

constexpr int64_t kStep = 64, kLinearLimit = 1024;
constexpr int kLinearClasses = kLinearLimit / kStep;  // class 0 has 64 bytes, class 15 has 1024
constexpr int kClasses = kLinearClasses + 4 * 36;     // up to 2^46 bytes
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kMostPerThreadList = int64_t{256} << 10;  // bytes
// Smaller requests skip the check of available memory, which takes as long as touching some
// megabytes.
constexpr int64_t kWorthAsking = int64_t{32} << 20;
constexpr int kMostTags = 250;

int64_t size_of_class(int size_class) {
  if (size_class < kLinearClasses) return (size_class + 1) * kStep;
  const int beyond = size_class - kLinearClasses;
  return (int64_t{kLinearLimit} << (beyond / 4)) / 4 * (5 + beyond % 4);
}

int class_of(int64_t size) {
  if (size <= kLinearLimit) return static_cast<int>((size - 1) / kStep);
  const auto above = static_cast<uint64_t>(size - 1);
  const int doubling = std::bit_width(above) - 1;  // 2^doubling <= size - 1
  const auto quarter = static_cast<int>(above >> (doubling - 2)) - 4;
  return kLinearClasses + 4 * (doubling - 10) + quarter;
}

bool is_mapped(int64_t size) { return size >= kHugePage; }
int64_t mapped_size(int64_t size) { return (size + kHugePage - 1) / kHugePage * kHugePage; }

// Poisons cached memory for the address sanitizer.
void hide(MemoryBlock* block) {
#ifdef PLAIT_ASAN
  ASAN_POISON_MEMORY_REGION(block->own_data(),
                            size_of_class(block->size_class) - sizeof(MemoryBlock));
#else
  (void)block;
#endif
}
void show(MemoryBlock* block) {
#ifdef PLAIT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(block->own_data(), block->bytes);
#else
  (void)block;
#endif
}

// ---- Allocation from the system.

void* map_huge(int64_t size) {
  const int64_t wanted = mapped_size(size);
  void* mapped = mmap(nullptr, static_cast<size_t>(wanted + kHugePage), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) munmap(mapped, aligned - begin);
  const uintptr_t end = begin + static_cast<uintptr_t>(wanted + kHugePage);
  const uintptr_t used_end = aligned + static_cast<uintptr_t>(wanted);
  if (end > used_end) munmap(reinterpret_cast<void*>(used_end), end - used_end);
  void* memory = reinterpret_cast<void*>(aligned);
  madvise(memory, static_cast<size_t>(wanted), MADV_HUGEPAGE);
  return memory;
}

MemoryBlock* from_system(int size_class) {
  const int64_t size = size_of_class(size_class);
  void* memory =
      is_mapped(size) ? map_huge(size) : std::aligned_alloc(kStep, static_cast<size_t>(size));
  if (memory == nullptr) return nullptr;
  auto* block = new (memory) MemoryBlock;
  block->size_class = static_cast<uint16_t>(size_class);
  return block;
}

void to_system(MemoryBlock* block) {
  const int64_t size = size_of_class(block->size_class);
#ifdef PLAIT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(block, size);
#endif
  if (is_mapped(size))
    munmap(block, static_cast<size_t>(mapped_size(size)));
  else
    std::free(block);
}

// ---- Free blocks.

class SharedBlocks {
 public:
  MemoryBlock* take(int size_class) {
    const std::lock_guard lock(mutex_);
    MemoryBlock* block = free_[static_cast<size_t>(size_class)];
    if (block == nullptr) return nullptr;
    free_[static_cast<size_t>(size_class)] = block->next;
    cached_ -= size_of_class(size_class);
    return block;
  }

  void put(MemoryBlock* block) {
    const std::lock_guard lock(mutex_);
    block->next = std::exchange(free_[block->size_class], block);
    cached_ += size_of_class(block->size_class);
  }

  void release() {
    std::array<MemoryBlock*, kClasses> free{};
    {
      const std::lock_guard lock(mutex_);
      free.swap(free_);
      cached_ = 0;
    }
    for (MemoryBlock* block : free) {
      while (block != nullptr) to_system(std::exchange(block, block->next));
    }
  }

  int64_t cached() const {
    const std::lock_guard lock(mutex_);
    return cached_;
  }

 private:
  mutable std::mutex mutex_;
  std::array<MemoryBlock*, kClasses> free_{};
  int64_t cached_ = 0;
};

SharedBlocks& shared_blocks() {
  static Immortal<SharedBlocks> blocks;
  return *blocks;
}

constexpr int kThreadClasses = kLinearClasses + 4 * 6;  // up to 64 KiB; larger blocks are shared

struct ThreadBlocks {
  struct List {
    MemoryBlock* first = nullptr;
    int64_t bytes = 0;
  };
  std::array<List, kThreadClasses> lists{};
  bool is_over = false;  // the thread is ending: freed blocks go to the shared lists

  ~ThreadBlocks() {
    is_over = true;
    give_up();
  }
  void give_up() {
    for (List& list : lists) {
      while (list.first != nullptr) {
        shared_blocks().put(std::exchange(list.first, list.first->next));
      }
      list.bytes = 0;
    }
  }
};
thread_local ThreadBlocks thread_blocks;

// ---- Statistics.

struct Usage {
  std::atomic<int64_t> live{0}, peak{0};

  void add(int64_t bytes) {
    const int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t before = peak.load(std::memory_order_relaxed);
    while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
  }
  void subtract(int64_t bytes) { live.fetch_sub(bytes, std::memory_order_relaxed); }
  MemoryStatistics read(std::string tag) const {
    return {std::move(tag), live.load(std::memory_order_relaxed),
            peak.load(std::memory_order_relaxed)};
  }
};

// The names of the library come first, so that no number of the user's leaves them without a place.
struct Tags {
  std::mutex mutex;
  std::vector<std::string> names{"",
                                 "activations",
                                 "gradients",
                                 "temporaries",
                                 "weights",
                                 "batches",
                                 "weights and states of optimizers"};
};

// The tag of the user is in the lower byte of ambient.memory_tag, that of the library in the upper
// one: scopes of the two may overlap, as those of generators do.
constexpr int kUsers = 0xff, kLibrarys = 0xff00;
static_assert(kMostTags <= kUsers);
uint16_t current_tag() {
  const int users = ambient.memory_tag & kUsers;
  return static_cast<uint16_t>(users != 0 ? users : ambient.memory_tag >> 8);
}
Tags& tags() {
  static Immortal<Tags> tags;
  return *tags;
}
struct DeviceUsage {
  Usage total;
  std::array<Usage, kMostTags + 1> by_tag;
};
constinit DeviceUsage host_usage;
constinit std::array<DeviceUsage, Device::kMost> cuda_usage;

DeviceUsage& usage_of(Device device) {
  return device.is_cpu() ? host_usage : cuda_usage[device.index];
}

[[noreturn]] void refuse(int64_t bytes, std::string_view why) {
  throw MemoryError("cannot allocate {} bytes: {}", bytes, why)
      .hint("free arrays, or use a smaller batch or dtype");
}

// Names the tags that hold most.
[[noreturn]] void refuse_on(Device device, int64_t bytes, std::string_view why) {
  std::vector<MemoryStatistics> tags = memory_statistics_by_tag(device);
  std::ranges::sort(tags, std::ranges::greater(), &MemoryStatistics::live_bytes);
  std::string holders;
  for (const MemoryStatistics& tag : std::span(tags).first(std::min<size_t>(tags.size(), 3))) {
    if (tag.live_bytes == 0) break;
    holders += fmt::format("{}{} holds {}", holders.empty() ? "" : ", ",
                           tag.tag.empty() ? "memory without a tag" : fmt::format("'{}'", tag.tag),
                           tag.live_bytes);
  }
  throw MemoryError("cannot allocate {} bytes on {}: {}{}", bytes, text_of(device), why,
                    holders.empty() ? "" : fmt::format(" ({})", holders))
      .hint("free arrays, or use a smaller batch or dtype");
}

std::atomic<void (*)()> release_reserve{nullptr};

void use_reserve() {
  if (void (*const release)() = release_reserve.load(std::memory_order_relaxed)) release();
}

void check_limit(int64_t bytes) {
  const int64_t limit = setting::kMemoryLimit.get();
  if (limit == 0) return;
  const auto live = [] { return host_usage.total.live.load(std::memory_order_relaxed); };
  if (bytes > limit - live()) use_reserve();
  if (bytes > limit - live()) {
    refuse(bytes, fmt::format("the setting memory_limit is exceeded ({} of {} are in use)", live(),
                              limit));
  }
}

MemoryBlock* new_block(int size_class, int64_t bytes) {
  const int64_t size = size_of_class(size_class);
  if (size >= kWorthAsking && size > available_memory()) {
    release_cached_memory();
    const int64_t available = available_memory();
    if (size > available)
      refuse(bytes, fmt::format("out of memory ({} bytes are available)", available));
  }
  MemoryBlock* block = from_system(size_class);
  if (block == nullptr) {
    release_cached_memory();
    block = from_system(size_class);
  }
  if (block == nullptr) refuse(bytes, "the system refuses");
  return block;
}

MemoryBlock* take_from_thread(int size_class) {
  if (size_class >= kThreadClasses) return nullptr;
  ThreadBlocks::List& list = thread_blocks.lists[static_cast<size_t>(size_class)];
  MemoryBlock* block = list.first;
  if (block == nullptr) return nullptr;
  list.first = block->next;
  list.bytes -= size_of_class(size_class);
  return block;
}

}  // namespace

MemoryBlock* allocate_block(int64_t bytes) {
  constexpr int64_t kMost = int64_t{1} << 46;
  if (bytes < 0 || bytes >= kMost) refuse(bytes, "more than any machine has");
  check_limit(bytes);
  const int size_class = class_of(bytes + static_cast<int64_t>(sizeof(MemoryBlock)));
  MemoryBlock* block = take_from_thread(size_class);
  if (block == nullptr) block = shared_blocks().take(size_class);
  if (block == nullptr) block = new_block(size_class, bytes);
  block->bytes = bytes;
  block->tag = current_tag();
  block->owners.store(1, std::memory_order_relaxed);
  show(block);
  host_usage.total.add(bytes);
  host_usage.by_tag[block->tag].add(bytes);
  return block;
}

void free_block(MemoryBlock* block) noexcept {
  host_usage.total.subtract(block->bytes);
  host_usage.by_tag[block->tag].subtract(block->bytes);
  hide(block);
  const int64_t size = size_of_class(block->size_class);
  if (block->size_class < kThreadClasses && !thread_blocks.is_over) {
    ThreadBlocks::List& list = thread_blocks.lists[block->size_class];
    if (list.bytes + size <= kMostPerThreadList) {
      block->next = std::exchange(list.first, block);
      list.bytes += size;
      return;
    }
  }
  shared_blocks().put(block);
}

MemoryBlock* allocate_block_on(Device device, int64_t bytes) {
  DeviceMemory& memory = device_memory(device);
  const int64_t limit = setting::kDeviceMemoryLimit.get();
  DeviceUsage& usage = usage_of(device);
  if (bytes < 0) refuse_on(device, bytes, "more than any device has");
  if (limit > 0 && bytes > limit - usage.total.live.load(std::memory_order_relaxed)) {
    refuse_on(device, bytes, fmt::format("the setting device_memory_limit is {}", limit));
  }
  MemoryBlock* block = allocate_block(0);
  std::byte* data = nullptr;
  try {
    data = memory.allocate(bytes);
    if (data == nullptr) {
      refuse_on(device, bytes, fmt::format("{} bytes are free", memory.free_bytes()));
    }
  } catch (...) {
    free_block(block);
    throw;
  }
  block->data = data;
  block->memory = &memory;
  block->device = device;
  block->bytes = bytes;
  usage.total.add(bytes);
  usage.by_tag[block->tag].add(bytes);
  return block;
}

void free_block_on_device(MemoryBlock* block) noexcept {
  DeviceUsage& usage = usage_of(block->device);
  usage.total.subtract(block->bytes);
  usage.by_tag[block->tag].subtract(block->bytes);
  block->memory->free(block->data, block->bytes);
  block->data = block->own_data();
  block->memory = nullptr;
  block->device = {};
  block->bytes = 0;
  free_block(block);
}

MemoryStatistics memory_statistics(Device device) { return usage_of(device).total.read("all"); }

std::vector<MemoryStatistics> memory_statistics_by_tag(Device device) {
  const std::lock_guard lock(tags().mutex);
  std::vector<MemoryStatistics> statistics;
  for (size_t i = 0; i < tags().names.size(); ++i) {
    statistics.push_back(usage_of(device).by_tag[i].read(tags().names[i]));
  }
  return statistics;
}

namespace {

void reset_peak(DeviceUsage& usage) {
  for (Usage& each : usage.by_tag) each.peak = each.live.load();
  usage.total.peak = usage.total.live.load();
}

}  // namespace

void reset_peak_memory(Device device) { reset_peak(usage_of(device)); }

void reset_peak_memory() {
  reset_peak(host_usage);
  std::ranges::for_each(cuda_usage, reset_peak);
}

int64_t cached_memory() {
  int64_t bytes = shared_blocks().cached();
  for (const ThreadBlocks::List& list : thread_blocks.lists) bytes += list.bytes;
  return bytes;
}

void set_memory_reserve(void (*release)()) { release_reserve = release; }

void release_cached_memory() {
  use_reserve();
  thread_blocks.give_up();
  shared_blocks().release();
}

uint16_t DefaultMemoryTag::index_of(std::string_view tag) {
  const std::lock_guard lock(tags().mutex);
  std::vector<std::string>& names = tags().names;
  size_t place = 0;
  while (place < names.size() && names[place] != tag) ++place;
  if (place == names.size()) {
    if (names.size() > kMostTags) throw ValueError("more than {} memory tags", kMostTags);
    names.emplace_back(tag);
  }
  return static_cast<uint16_t>(place);
}

namespace {

void set_part(int part, int value) {
  ambient.memory_tag = static_cast<uint16_t>((ambient.memory_tag & ~part) | value);
}

}  // namespace

MemoryTag::MemoryTag(std::string_view tag) : outer_(ambient.memory_tag & kUsers) {
  set_part(kUsers, DefaultMemoryTag::index_of(tag));
}

MemoryTag::~MemoryTag() { set_part(kUsers, outer_); }

DefaultMemoryTag::DefaultMemoryTag(uint16_t index) : outer_(ambient.memory_tag & kLibrarys) {
  if (outer_ == 0) set_part(kLibrarys, index << 8);
}

DefaultMemoryTag::~DefaultMemoryTag() { set_part(kLibrarys, outer_); }

}  // namespace plait
