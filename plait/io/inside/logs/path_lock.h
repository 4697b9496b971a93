// One writer at a time: a lock that ends with its process, however that ends.
#pragma once

#include <string>
#include <string_view>

namespace plait {

// Locks a file that is made for it and removed afterwards. It has the number of the process that
// writes. Processes forked by this one do not hold the lock.
class PathLock {
 public:
  // `what` is what the lock protects, for the IoError of a second writer: "the log runs/a".
  PathLock(std::string path, std::string_view what);
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

 private:
  bool acquire(std::string_view what);

  std::string path_;
  int descriptor_ = -1;
  int process_;
};

}  // namespace plait
