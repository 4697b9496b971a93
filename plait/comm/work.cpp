#include "plait/comm/work.h"

#include <utility>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/forks.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {

Work::Work(std::vector<Tensor> result, std::shared_ptr<std::atomic<int>> source)
    : result_(std::move(result)), source_(std::move(source)), forks_(fork_count()) {}

void Work::wait() { wait_for(Duration::max()); }

void Work::wait_for(Duration timeout) {
  if (forks_ != fork_count() && !is_completed()) {
    throw DistError("Work.wait: the call goes on in the process that this one was forked from")
        .hint("join a group in each process");
  }
  const Deadline deadline(timeout);
  std::unique_lock lock(mutex_);
  while (!is_completed()) {
    if (deadline.has_passed()) {
      throw DistError("Work.wait: the call is not over after {} s",
                      static_cast<double>(timeout.count()) / 1000);
    }
    // The clock of wait_until, since that of wait_for is not known to thread sanitizers.
    ended_.wait_until(lock, std::chrono::system_clock::now() + deadline.left(kInterruptible));
    lock.unlock();
    check_interruption();
    lock.lock();
  }
  if (failure_) std::rethrow_exception(failure_);
}

const std::vector<Tensor>& Work::result() {
  wait();
  return result_;
}

int Work::source_rank() {
  wait();
  return source_ ? source_->load() : -1;
}

void Work::end(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  is_over_.store(true, std::memory_order_release);
  ended_.notify_all();
}

}  // namespace plait::dist
