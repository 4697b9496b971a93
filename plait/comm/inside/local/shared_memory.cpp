#include "plait/comm/inside/local/shared_memory.h"

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait::dist {
namespace {

// Memory that this process has made, by descriptor: ranks that are threads share one mapping.
struct OwnMemory {
  std::mutex mutex;
  std::map<std::pair<pid_t, int>, std::weak_ptr<SharedMemory>> all;
};

OwnMemory& own_memory() {
  static Immortal<OwnMemory> own;
  return *own;
}

[[noreturn]] void fail(const char* action) {
  throw DistError("cannot {} shared memory: {}", action, std::generic_category().message(errno));
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::make(const char* name, size_t size) {
  Descriptor made(::memfd_create(name, MFD_CLOEXEC));
  if (made.number() < 0 || ::ftruncate(made.number(), static_cast<off_t>(size)) != 0) fail("make");
  std::shared_ptr<SharedMemory> memory(new SharedMemory(std::move(made), size));
  OwnMemory& own = own_memory();
  const std::lock_guard lock(own.mutex);
  std::erase_if(own.all, [](const auto& entry) { return entry.second.expired(); });
  own.all[{::getpid(), memory->descriptor()}] = memory;
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::open(pid_t process, int descriptor, size_t size) {
  if (process == ::getpid()) {
    OwnMemory& own = own_memory();
    const std::lock_guard lock(own.mutex);
    const auto found = own.all.find({process, descriptor});
    if (found != own.all.end()) {
      if (auto memory = found->second.lock(); memory && memory->size() == size) return memory;
    }
    throw DistError("shared memory of this process is gone");
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  Descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status{};
  if (opened.number() < 0 || ::fstat(opened.number(), &status) != 0) fail("open");
  if (static_cast<size_t>(status.st_size) != size) {
    throw DistError("shared memory has {} bytes, expected {}", status.st_size, size);
  }
  return std::shared_ptr<SharedMemory>(new SharedMemory(std::move(opened), size));
}

SharedMemory::SharedMemory(Descriptor descriptor, size_t size)
    : descriptor_(std::move(descriptor)), size_(size) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                              descriptor_.number(), 0);
  if (mapped == MAP_FAILED) fail("map");
  data_ = static_cast<std::byte*>(mapped);
}

SharedMemory::~SharedMemory() { ::munmap(data_, size_); }

}  // namespace plait::dist
