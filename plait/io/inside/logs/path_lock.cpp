#include "plait/io/inside/logs/path_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/core/error.h"

namespace plait {
namespace {

// A lock belongs to an open file, which a forked process shares. If such a process outlived the
// writer, the lock would outlive it too; so it closes the files of all locks when it begins.
class HeldLocks {
 public:
  void add(int descriptor) {
    const std::lock_guard lock(mutex_);
    static const bool is_watching = watch();
    (void)is_watching;
    descriptors_.push_back(descriptor);
  }
  void remove(int descriptor) {
    const std::lock_guard lock(mutex_);
    std::erase(descriptors_, descriptor);
  }

 private:
  static bool watch();
  void close_all() {
    for (const int descriptor : descriptors_) ::close(descriptor);
    descriptors_.clear();
  }

  std::mutex mutex_;
  std::vector<int> descriptors_;
};

HeldLocks& held_locks() {
  static HeldLocks& all = *new HeldLocks;
  return all;
}

bool HeldLocks::watch() {
  pthread_atfork([] { held_locks().mutex_.lock(); }, [] { held_locks().mutex_.unlock(); },
                 [] {
                   held_locks().close_all();
                   held_locks().mutex_.unlock();
                 });
  return true;
}

// Some file systems have no locks: a writer there is better than none.
bool has_no_locks(int error) { return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP; }

std::string writer_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view digits(text.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return digits.empty() ? "another writer" : fmt::format("process {}", digits);
}

// True if the path still leads to this file: the former writer may have removed it since.
bool is_at(const std::string& path, int descriptor) {
  struct stat opened{}, found{};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &found) == 0 &&
         opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

}  // namespace

PathLock::PathLock(std::string path, std::string_view what)
    : path_(std::move(path)), process_(::getpid()) {
  while (!acquire(what)) continue;
  const std::string number = std::to_string(process_);
  if (::ftruncate(descriptor_, 0) == 0) {
    (void)!::pwrite(descriptor_, number.data(), number.size(), 0);  // only for messages
  }
  held_locks().add(descriptor_);
}

bool PathLock::acquire(std::string_view what) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw IoError("cannot write {}: {}: {}", what, path_, std::generic_category().message(errno));
  }
  const bool is_locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || has_no_locks(errno);
  if (is_locked && is_at(path_, descriptor_)) return true;
  const int error = errno;
  const std::string writer = is_locked ? "" : writer_of(descriptor_);
  ::close(descriptor_);
  if (is_locked) return false;
  if (error != EWOULDBLOCK) {
    throw IoError("cannot lock {}: {}", path_, std::generic_category().message(error));
  }
  throw IoError("{} is being written by {}", what, writer)
      .hint("close the other writer, or choose another place");
}

PathLock::~PathLock() {
  if (process_ != ::getpid()) return;  // closed when the process was forked
  held_locks().remove(descriptor_);
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace plait
