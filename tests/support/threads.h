// Work by a given number of threads.
#pragma once

#include "plait/core/system/thread_team.h"

namespace plait {

// Until this ends.
class Threads {
 public:
  explicit Threads(int count) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = thread_count();
};

}  // namespace plait
