#include "plait/comm/inside/local/doorbell.h"

#include <ctime>
#include <limits>
#include <mutex>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plait/core/inside/system/immortal.h"

namespace plait::dist {
namespace {

constexpr size_t kBellBytes = 4096;

struct OwnDoorbell {
  std::mutex mutex;
  pid_t process = 0;
  std::shared_ptr<const Doorbell> bell;
};

}  // namespace

std::shared_ptr<const Doorbell> Doorbell::own() {
  static Immortal<OwnDoorbell> own;
  const std::lock_guard lock(own->mutex);
  if (own->process != ::getpid()) {  // a forked process is not that of its parent
    own->bell = std::make_shared<const Doorbell>(SharedMemory::make("plait-doorbell", kBellBytes));
    own->process = ::getpid();
  }
  return own->bell;
}

std::shared_ptr<const Doorbell> Doorbell::of(pid_t process, int descriptor) {
  if (process == ::getpid()) return own();
  return std::make_shared<const Doorbell>(SharedMemory::open(process, descriptor, kBellBytes));
}

void Doorbell::wake() const {
  Words& shared = words();
  shared.rings.fetch_add(1);
  ::syscall(SYS_futex, &shared.rings, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr,
            0);
}

void Doorbell::Sleeper::sleep(std::chrono::microseconds most) const {
  const timespec time{.tv_sec = most.count() / 1'000'000,
                      .tv_nsec = most.count() % 1'000'000 * 1'000};
  ::syscall(SYS_futex, &words_.rings, FUTEX_WAIT, seen_, &time, nullptr, 0);
}

}  // namespace plait::dist
