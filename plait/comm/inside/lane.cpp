#include "plait/comm/inside/lane.h"

#include <utility>

#include "plait/comm/inside/courier.h"
#include "plait/comm/inside/local/doorbell.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {
namespace {

using Clock = std::chrono::steady_clock;

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Lane::run(Call call, Duration timeout) {
  if (!begin_driving()) {
    const auto work = std::make_shared<Work>();
    start(std::move(call), timeout, work);
    return work->wait();
  }
  struct End {
    Lane& lane;
    ~End() {
      if (lane.end_driving()) Courier::of_process().take(lane.shared_from_this());
    }
  };
  const End end{*this};
  const std::unique_ptr<Task> task = engine_->begin(std::move(call));
  drive(*task, timeout);
}

bool Lane::begin_driving() {
  const std::lock_guard lock(mutex_);
  if (is_driven_ || !queue_.empty()) return false;
  return is_driven_ = true;
}

bool Lane::end_driving() {
  const std::lock_guard lock(mutex_);
  is_driven_ = false;
  return !queue_.empty();
}

void Lane::drive(Task& task, Duration timeout) {
  for (int tries = task.patience(); tries > 0; --tries) {
    if (task.step()) return;
    pause_core();
  }
  const Deadline deadline(timeout);
  const std::shared_ptr<const Doorbell> bell = Doorbell::own();
  Clock::time_point checked = Clock::now();
  for (;;) {
    const Doorbell::Sleeper sleeper(*bell);
    if (task.step()) return;
    sleeper.sleep(deadline.left(kInterruptible));
    const bool is_late = deadline.has_passed();
    if (!is_late && Clock::now() - checked < kInterruptible) continue;
    checked = Clock::now();
    task.check();
    if (is_late && !task.step()) task.end_late(timeout);
    try {
      check_interruption();
    } catch (...) {
      task.give_up("was interrupted");
      throw;
    }
  }
}

void Lane::start(Call call, Duration timeout, std::shared_ptr<Work> work) {
  engine_->check();
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(call), Deadline(timeout), timeout, std::move(work)});
  }
  Courier::of_process().take(shared_from_this());
}

void Lane::run(Message message, Duration timeout) {
  const std::unique_ptr<Task> task = engine_->begin(std::move(message));
  drive(*task, timeout);
}

void Lane::start(Message message, Duration timeout, std::shared_ptr<Work> work) {
  std::unique_ptr<Task> task = engine_->begin(std::move(message));
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back({{}, Deadline(timeout), timeout, std::move(work), std::move(task)});
  }
  Courier::of_process().take(shared_from_this());
}

template <class Go>
bool Lane::go_on(Queued& queued, const Go& go, std::exception_ptr& failure) {
  try {
    return go(queued);
  } catch (...) {
    failure = std::current_exception();
    return true;
  }
}

template <class Go>
bool Lane::with_first(const Go& go) {
  Queued* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (is_driven_ || queue_.empty()) return false;
    is_driven_ = true;
    first = &queue_.front();  // stays where it is while others are added
  }
  std::exception_ptr failure;
  const bool is_over = go_on(*first, go, failure);
  std::shared_ptr<Work> ended;
  {
    const std::lock_guard lock(mutex_);
    is_driven_ = false;
    if (is_over) {
      ended = std::move(first->work);
      queue_.pop_front();
    }
  }
  if (ended) ended->end(std::move(failure));
  return is_over;
}

template <class Go>
bool Lane::with_messages(const Go& go) {
  bool is_any_over = false;
  std::unique_lock lock(mutex_);
  for (auto at = messages_.begin(); at != messages_.end();) {
    lock.unlock();
    std::exception_ptr failure;
    const bool is_over = go_on(*at, go, failure);
    lock.lock();
    if (!is_over) {
      ++at;
      continue;
    }
    const std::shared_ptr<Work> ended = std::move(at->work);
    at = messages_.erase(at);
    ended->end(std::move(failure));
    is_any_over = true;
  }
  return is_any_over;
}

bool Lane::advance() {
  const bool is_message_over = with_messages([](Queued& queued) { return queued.task->step(); });
  return with_first([&](Queued& first) {
           if (!first.task) first.task = engine_->begin(std::move(first.call));
           return first.task->step();
         }) ||
         is_message_over;
}

void Lane::check() {
  const auto check = [](Queued& queued) {
    if (!queued.task) return false;
    if (queued.task->step()) return true;
    queued.task->check();
    if (queued.deadline.has_passed()) queued.task->end_late(queued.timeout);
    return false;
  };
  with_messages(check);
  with_first(check);
}

bool Lane::has_work() {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() || !messages_.empty();
}

}  // namespace plait::dist
