#include "plait/comm/inside/lane.h"

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "plait/comm/inside/call_log.h"
#include "plait/comm/inside/courier.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {
namespace {

using Clock = std::chrono::steady_clock;

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown error";
  }
}

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

template <class Run>
auto Lane::with_numbering(const Run& run) {
  try {
    return run();
  } catch (DistError& error) {
    if (!numbering_.empty()) error.prepend(numbering_);
    throw;
  }
}

void Lane::run(Call call, Duration timeout) {
  if (!begin_driving()) {
    expect_other_driver(call);
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
  run_here(std::move(call), timeout);
}

template <class Operation>
void Lane::run_here(Operation operation, Duration timeout) {
  CallLog& log = CallLog::of_process();
  const uint64_t entry = log.begin(group_, operation);
  try {
    with_numbering([&] { drive(*engine_->begin(std::move(operation)), timeout); });
  } catch (const std::exception& error) {
    log.end(entry, true);
    log.write(error.what());
    throw;
  }
  log.end(entry, false);
}

bool Lane::begin_driving() {
  const std::lock_guard lock(mutex_);
  if (is_driven_ || !queue_.empty()) return false;
  driver_ = std::this_thread::get_id();
  return is_driven_ = true;
}

void Lane::expect_other_driver(const Call& call) {
  const std::lock_guard lock(mutex_);
  if (!is_driven_ || driver_ != std::this_thread::get_id()) return;
  throw DistError("{}: this thread is within another call of the group, for which it would wait",
                  dist::text_of(call))
      .hint("code that runs within a call, such as a handler of a signal, cannot call the group");
}

bool Lane::end_driving() {
  const std::lock_guard lock(mutex_);
  driver_ = {};
  is_driven_ = false;
  return !queue_.empty();
}

void Lane::drive(Task& task, Duration timeout) {
  const Patience patience = engine_->patience();
  for (int tries = patience.steps; tries > 0; --tries) {
    if (task.step()) return;
    patience.yields ? std::this_thread::yield() : pause_core();
  }
  const Deadline deadline(timeout);
  Clock::time_point checked = Clock::now();
  for (;;) {
    if (engine_->step_or_sleep(task, deadline.left(kInterruptible))) return;
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
  with_numbering([&] { engine_->check(); });
  {
    const std::lock_guard lock(mutex_);
    const uint64_t entry = CallLog::of_process().begin(group_, call);
    queue_.push_back({std::move(call), Deadline(timeout), timeout, std::move(work), entry});
  }
  Courier::of_process().take(shared_from_this());
}

void Lane::run(Message message, Duration timeout) { run_here(std::move(message), timeout); }

void Lane::start(Message message, Duration timeout, std::shared_ptr<Work> work) {
  const uint64_t entry = CallLog::of_process().begin(group_, message);
  std::unique_ptr<Task> task = with_numbering([&] { return engine_->begin(std::move(message)); });
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back({{}, Deadline(timeout), timeout, std::move(work), entry, std::move(task)});
  }
  Courier::of_process().take(shared_from_this());
}

template <class Go>
bool Lane::go_on(Queued& queued, const Go& go, std::exception_ptr& failure) {
  try {
    return with_numbering([&] { return go(queued); });
  } catch (...) {
    failure = std::current_exception();
    return true;
  }
}

void Lane::end(Queued& queued, std::exception_ptr failure) {
  CallLog& log = CallLog::of_process();
  log.end(queued.entry, failure != nullptr);
  if (failure) log.write(text_of(failure));
  queued.work->end(std::move(failure));
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
  std::optional<Queued> ended;
  {
    const std::lock_guard lock(mutex_);
    is_driven_ = false;
    if (is_over) {
      ended.emplace(std::move(*first));
      queue_.pop_front();
    }
  }
  if (ended) end(*ended, std::move(failure));
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
    Queued ended = std::move(*at);
    at = messages_.erase(at);
    end(ended, std::move(failure));
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

void Lane::check_queue() {
  std::string late;
  {
    const std::lock_guard lock(mutex_);
    for (const Queued& queued : queue_) {
      if (queued.task || !queued.deadline.has_passed()) continue;
      late = fmt::format("called {}, which did not begin within {} s, behind other calls",
                         dist::text_of(queued.call),
                         static_cast<double>(queued.timeout.count()) / 1000);
      break;
    }
  }
  if (!late.empty()) engine_->give_up(late);
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
  check_queue();
}

bool Lane::has_work() {
  const std::lock_guard lock(mutex_);
  return !queue_.empty() || !messages_.empty();
}

}  // namespace plait::dist
