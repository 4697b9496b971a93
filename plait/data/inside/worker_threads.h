// Threads that work beside the program, apart from the thread team of the kernels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace plait::data {

// They block all signals, which are for the program's own threads, and run kernels alone, so that
// they take no helpers from the program's computations. The destructor waits for them.
class WorkerThreads {
 public:
  // ValueError if the system starts none; with fewer than wanted the work takes longer.
  WorkerThreads(int count, const std::string& name, const std::function<void()>& work);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

 private:
  pid_t process_;
  std::vector<std::thread> threads_;
};

}  // namespace plait::data
