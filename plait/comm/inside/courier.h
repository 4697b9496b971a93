// The thread of a process that goes on with calls that no thread waits for. It sleeps while there
// are none, and does not belong to the thread team.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <sys/types.h>

#include "plait/comm/inside/local/doorbell.h"

namespace plait::dist {

class Lane;

class Courier {
 public:
  // A forked process has its own.
  static Courier& of_process();

  // Goes on with the calls of a lane until it has none.
  void take(const std::shared_ptr<Lane>& lane);

 private:
  Courier();
  [[noreturn]] void serve();

  const pid_t process_;
  const std::shared_ptr<const Doorbell> bell_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Lane>> taken_;  // that the thread has not seen yet
};

}  // namespace plait::dist
