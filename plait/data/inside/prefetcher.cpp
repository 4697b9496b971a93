#include "plait/data/inside/prefetcher.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "plait/core/error.h"

namespace plait::data {

Prefetcher::Prefetcher(const Options& options)
    : ahead_(std::max<int64_t>(options.ahead, 1)),
      in_order_(options.in_order),
      process_(::getpid()),
      count_(options.count) {}

std::shared_ptr<Prefetcher> Prefetcher::make(const Options& options) {
  return {new Prefetcher(options), [](Prefetcher* prefetcher) {
            if (!prefetcher->is_forked()) delete prefetcher;
          }};
}

bool Prefetcher::is_forked() const { return ::getpid() != process_; }

bool Prefetcher::is_ready() const {
  return !ready_.empty() && (!in_order_ || ready_.begin()->first == consumed_);
}

std::optional<int64_t> Prefetcher::take() {
  if (is_forked()) return std::nullopt;
  std::unique_lock lock(mutex_);
  workers_.wait(lock, [&] { return is_cancelled_ || next_ >= count_ || may_take(); });
  if (is_cancelled_ || next_ >= count_) return std::nullopt;
  return next_++;
}

void Prefetcher::deliver(Outcome outcome) {
  if (is_forked()) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_ || outcome.number >= count_) return;  // the value is dropped after the lock
    const int64_t number = outcome.number;
    ready_.emplace(number, std::move(outcome));
  }
  consumer_.notify_one();
}

void Prefetcher::shorten(int64_t count) {
  if (is_forked()) return;
  std::map<int64_t, Outcome> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (count >= count_) return;
    count_ = count;
    while (!ready_.empty() && ready_.rbegin()->first >= count_) {
      dropped.insert(ready_.extract(std::prev(ready_.end())));
    }
  }
  workers_.notify_all();
  consumer_.notify_one();
}

Prefetcher::State Prefetcher::wait(std::chrono::nanoseconds most) {
  if (is_forked()) {
    throw ValueError("the loader has no threads in this process, which was forked while they ran")
        .hint("begin the iteration again in the new process");
  }
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return is_cancelled_ || consumed_ >= count_; };
  // The clock of wait_until, since that of wait_for is not known to thread sanitizers.
  const auto end = std::chrono::system_clock::now() + most;
  consumer_.wait_until(lock, end, [&] { return is_ready() || is_over(); });
  if (is_over()) return State::finished;
  return is_ready() ? State::ready : State::late;
}

Prefetcher::Outcome Prefetcher::pop() {
  Outcome outcome;
  {
    const std::lock_guard lock(mutex_);
    if (!is_ready()) throw ValueError("no piece is ready");
    outcome = std::move(ready_.extract(ready_.begin()).mapped());
    ++consumed_;
  }
  workers_.notify_all();
  return outcome;
}

void Prefetcher::cancel() {
  if (is_forked()) return;
  std::map<int64_t, Outcome> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    dropped.swap(ready_);
  }
  workers_.notify_all();
  consumer_.notify_all();
}

bool Prefetcher::is_cancelled() const {
  if (is_forked()) return true;
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

}  // namespace plait::data
