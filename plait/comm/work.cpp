#include "plait/comm/work.h"

#include "plait/comm/inside/deadline.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {

void Work::wait() { wait_for(Duration::max()); }

void Work::wait_for(Duration timeout) {
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
