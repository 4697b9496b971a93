#include "plait/data/inside/worker_threads.h"

#include <exception>
#include <new>
#include <utility>

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): pthread_sigmask is POSIX
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"

namespace plait::data {
namespace {

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

WorkerThreads::WorkerThreads(int count, const std::string& name, const std::function<void()>& work)
    : process_(::getpid()) {
  const BlockedSignals blocked;
  threads_.reserve(static_cast<size_t>(count));
  try {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([i, name, work] {
        pthread_setname_np(pthread_self(), fmt::format("{}-{}", name, i).c_str());
        const ThreadLimit alone(1);
        work();
      });
    }
  } catch (const std::exception& error) {  // those that were started must not be lost
    if (threads_.empty()) throw ValueError("no thread could be started: {}", error.what());
  }
}

WorkerThreads::~WorkerThreads() {
  if (::getpid() != process_) {  // a fork does not have them: they cannot be joined, nor detached
    (void)new (std::nothrow) std::vector<std::thread>(std::move(threads_));
    return;
  }
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace plait::data
