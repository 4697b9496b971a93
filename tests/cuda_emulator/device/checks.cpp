#include "tests/cuda_emulator/device/checks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/source_line.h"

alignas(1024) char emulated_dynamic_shared[emulator::kMostShared + 1024];

namespace emulator {
namespace {

constexpr size_t kMostFindings = 20;  // a launch

std::set<std::pair<std::string, const void*>>& reported() {
  static auto* all = new std::set<std::pair<std::string, const void*>>;
  return *all;
}

std::map<const char*, size_t>& mapped_host() {
  static auto* all = new std::map<const char*, size_t>;
  return *all;
}

// Shared memory is watched as one region: what the kernel declares, what functions declare, and the
// dynamic part.
constexpr size_t kCommonBegin = kMostSharedUnasked, kDynamicBegin = 2 * kMostSharedUnasked;

Watched& watched_shared() {
  static auto* watched = new Watched(kDynamicBegin + kMostShared + 64);
  return *watched;
}

struct SharedPart {
  char* begin;
  size_t bytes;
  size_t offset;  // in the watched region
  const char* name;
};

template <class F>
void for_each_shared_part(F&& f) {
  const EmulatedKernel& kernel = *running.run->kernel;
  f(SharedPart{kernel.shared, static_cast<size_t>(kernel.shared_end - kernel.shared), 0,
               "shared memory"});
  f(SharedPart{kernel.common_shared,
               static_cast<size_t>(kernel.common_shared_end - kernel.common_shared), kCommonBegin,
               "shared memory of functions"});
  f(SharedPart{emulated_dynamic_shared, running.run->dynamic_shared, kDynamicBegin,
               "dynamic shared memory"});
}

const char* verb(AccessKind kind) {
  return kind == AccessKind::read    ? "reads"
         : kind == AccessKind::write ? "writes"
                                     : "changes by an atomic operation";
}

std::string access_text(AccessKind kind, size_t bytes) {
  return thread_text(running.thread) + " " + verb(kind) + " " + std::to_string(bytes) +
         " bytes at ";
}

std::string others_text(unsigned who) {
  if (who < kMostThreads) return "thread " + std::to_string(who);
  if (who == 2047) return "several threads";
  return "threads of warp " + std::to_string(who - kMostThreads);
}

void report_race(const Race& race, const std::string& place, size_t bytes, AccessKind kind,
                 const void* code) {
  const std::string earlier = race.earlier_writes ? "wrote" : "read";
  const std::string other = race.between_blocks ? "which another block of the launch " + earlier
                                                : "which " + others_text(race.who) + " " + earlier +
                                                      " since the last barrier";
  report(race.between_blocks ? "race between blocks" : "race",
         std::string(race.between_blocks ? "race between blocks: " : "race: ") +
             access_text(kind, bytes) + place + ", " + other,
         code, CUDA_ERROR_LAUNCH_FAILED);
}

void check_watched(Watched& watched, size_t offset, size_t bytes, AccessKind kind, uint64_t floor,
                   const void* code, const auto& place) {
  if (kind != AccessKind::write) {
    const bool written = bytes <= 16 ? watched.written.has_few(offset, static_cast<unsigned>(bytes))
                                     : watched.written.has_all(offset, bytes);
    if (!written) {
      report("unwritten",
             "unwritten: " + access_text(kind, bytes) + place() + ", which was never written", code,
             CUDA_ERROR_LAUNCH_FAILED);
    }
  }
  if (kind != AccessKind::read) {
    if (bytes <= 16) {
      watched.written.set_few(offset, static_cast<unsigned>(bytes));
    } else {
      watched.written.set(offset, bytes, true);
    }
  }
  const Race race =
      watched.shadow.note(offset, static_cast<unsigned>(bytes), kind,
                          static_cast<unsigned>(running.thread), running.clock, floor);
  if (race.found) report_race(race, place(), bytes, kind, code);
}

void check_device_access(size_t offset, size_t bytes, AccessKind kind, const void* code) {
  Watched& watched = running.memory->watched();
  const auto place = [&] { return running.memory->place(running.memory->hidden_begin() + offset); };
  const bool live = bytes <= 16 ? watched.live.has_few(offset, static_cast<unsigned>(bytes))
                                : watched.live.has_all(offset, bytes);
  if (!live) {
    size_t bad = 0;
    while (watched.live.has(offset + bad)) ++bad;
    report("outside",
           "outside: " + access_text(kind, bytes) +
               running.memory->place(running.memory->hidden_begin() + offset + bad) +
               ", not in a live allocation",
           code, CUDA_ERROR_ILLEGAL_ADDRESS);
    stop_kernel();
  }
  check_watched(watched, offset, bytes, kind, running.clock.launch_start, code, place);
}

bool check_shared_access(char* address, size_t bytes, AccessKind kind, const void* code) {
  bool found = false;
  for_each_shared_part([&](const SharedPart& part) {
    const auto offset = static_cast<size_t>(address - part.begin);
    if (found || offset >= part.bytes || part.bytes - offset < bytes) return;
    found = true;
    const auto place = [&] { return "offset " + std::to_string(offset) + " of " + part.name; };
    check_watched(watched_shared(), part.offset + offset, bytes, kind, running.clock.block_start,
                  code, place);
  });
  return found;
}

bool is_in_image(const char* address) {
  return address >= running.run->image_begin && address < running.run->image_end;
}

bool is_in_shared_section(const char* address) {
  bool near = false;
  const auto at = reinterpret_cast<uintptr_t>(address);
  for_each_shared_part([&](const SharedPart& part) {
    const auto begin = reinterpret_cast<uintptr_t>(part.begin);
    near |= part.bytes && at + 64 >= begin && at < begin + part.bytes + 64;
  });
  return near || (address >= emulated_dynamic_shared &&
                  address < emulated_dynamic_shared + sizeof emulated_dynamic_shared);
}

[[noreturn]] void stop_for_address(char* address, size_t bytes, AccessKind kind, const void* code) {
  std::string place = "an address that is neither device memory nor shared memory";
  if (is_in_shared_section(address)) place = "an address past the shared memory of the kernel";
  if (const int device = device_with_access(address); device >= 0) {
    const DeviceMemory& other = memory_of(device);
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - other.access_begin();
    place = memory_of(device).place(other.hidden_begin() + offset) +
            ", another device than the kernel's";
  } else if (device_with(reinterpret_cast<uint64_t>(address)) >= 0) {
    place = "a device address that was not a parameter of the launch, which is not emulated";
  }
  report("outside", "outside: " + access_text(kind, bytes) + place, code,
         CUDA_ERROR_ILLEGAL_ADDRESS);
  stop_kernel();
}

}  // namespace

void report(const char* kind, const std::string& text, const void* code, CUresult result) {
  if (running.result == CUDA_SUCCESS) running.result = result;
  if (reported().size() >= kMostFindings || !reported().insert({kind, code}).second) return;
  note_finding("kernel " + std::string(running.run->kernel->name) + ": " + text +
               source_line(running.run->image, code));
}

void forget_reported() { reported().clear(); }

void check_access(void* address, size_t bytes, AccessKind kind, const void* code) {
  char* const at = static_cast<char*>(address);
  const size_t offset = reinterpret_cast<uint64_t>(address) - running.access_begin;
  if (offset < running.access_space) return check_device_access(offset, bytes, kind, code);
  if (static_cast<size_t>(at - running.stacks) < running.stacks_bytes) return;
  if (check_shared_access(at, bytes, kind, code)) return;
  if (is_in_shared_section(at)) stop_for_address(at, bytes, kind, code);
  if (is_in_image(at) || is_mapped_host(at, bytes)) return;
  stop_for_address(at, bytes, kind, code);
}

void check_alignment(void* address, size_t alignment, const void* code) {
  if (reinterpret_cast<uint64_t>(address) % alignment == 0) return;
  report("misaligned",
         "misaligned: " + thread_text(running.thread) + " accesses " + std::to_string(alignment) +
             " bytes at an address that is " +
             std::to_string(reinterpret_cast<uint64_t>(address) % alignment) +
             " past a multiple of that",
         code, CUDA_ERROR_MISALIGNED_ADDRESS);
  stop_kernel();
}

void clear_shared() {
  for_each_shared_part([](const SharedPart& part) {
    if (!part.bytes) return;
    std::memset(part.begin, kFreshByte, part.bytes);
    watched_shared().written.set(part.offset, part.bytes, false);
  });
}

void add_mapped_host(char* address, size_t bytes) { mapped_host()[address] = bytes; }
void remove_mapped_host(char* address) { mapped_host().erase(address); }

bool is_mapped_host(const void* address, size_t bytes) {
  const char* const at = static_cast<const char*>(address);
  auto found = mapped_host().upper_bound(at);
  if (found == mapped_host().begin()) return false;
  --found;
  const auto offset = static_cast<size_t>(at - found->first);
  return offset <= found->second && bytes <= found->second - offset;
}

}  // namespace emulator
