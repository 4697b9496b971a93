// A call to the other ranks that is in progress, or over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "plait/comm/store.h"
#include "plait/tensor/tensor.h"

namespace plait::dist {

class Lane;

class Work {
 public:
  explicit Work(std::vector<Tensor> result = {}, std::shared_ptr<std::atomic<int>> source = {});
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Returns when the call is over, which it is within its own timeout; throws the error that it
  // ended with.
  void wait();
  // DistError if it is not over by then; it goes on.
  void wait_for(Duration timeout);
  bool is_completed() const { return is_over_.load(std::memory_order_acquire); }
  bool is_success() const { return is_completed() && failure_ == nullptr; }
  std::exception_ptr exception() const { return is_completed() ? failure_ : nullptr; }
  // The tensors that this rank receives. Waits.
  const std::vector<Tensor>& result();
  // The rank that has sent what was received; -1 for other calls. Waits.
  int source_rank();

 private:
  friend class Lane;
  void end(std::exception_ptr failure);

  std::vector<Tensor> result_;
  std::shared_ptr<std::atomic<int>> source_;
  uint64_t forks_;  // when it was made
  std::atomic<bool> is_over_ = false;
  std::exception_ptr failure_;  // written before is_over_
  std::mutex mutex_;
  std::condition_variable ended_;
};

}  // namespace plait::dist
