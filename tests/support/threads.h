// Sets the number of threads for a test.
#pragma once

#include "plait/core/system/thread_team.h"

namespace plait {

// Restores the previous number at the end of its scope.
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
