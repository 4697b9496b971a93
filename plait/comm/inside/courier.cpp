#include "plait/comm/inside/courier.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/lane.h"

namespace plait::dist {
namespace {

constexpr std::chrono::microseconds kBetweenPolls{100};

}  // namespace

Courier& Courier::of_process() {
  static std::atomic<Courier*> current = nullptr;
  Courier* found = current.load();
  if (found != nullptr && found->process_ == ::getpid()) return *found;
  static std::mutex making;
  const std::lock_guard lock(making);
  found = current.load();
  if (found == nullptr || found->process_ != ::getpid()) {
    found = new Courier;  // lives as long as the process
    current.store(found);
  }
  return *found;
}

Courier::Courier() : process_(::getpid()), bell_(Doorbell::own()) {
  std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "plait-courier");
    serve();
  }).detach();
}

void Courier::take(const std::shared_ptr<Lane>& lane) {
  {
    const std::lock_guard lock(mutex_);
    taken_.push_back(lane);
  }
  bell_->ring();
}

void Courier::serve() {
  std::vector<std::shared_ptr<Lane>> lanes;
  auto checked = std::chrono::steady_clock::now();
  for (;;) {
    const Doorbell::Sleeper sleeper(*bell_);
    {
      const std::lock_guard lock(mutex_);
      for (auto& lane : std::exchange(taken_, {})) {
        if (std::ranges::find(lanes, lane) == lanes.end()) lanes.push_back(std::move(lane));
      }
    }
    std::erase_if(lanes, [](const auto& lane) { return !lane->has_work(); });
    bool has_ended = false;
    for (const auto& lane : lanes) has_ended |= lane->advance();
    if (has_ended) continue;
    const bool is_any_polled =
        std::ranges::any_of(lanes, [](const auto& lane) { return lane->engine().is_polled(); });
    sleeper.sleep(lanes.empty()   ? std::chrono::hours(1)
                  : is_any_polled ? kBetweenPolls
                                  : kInterruptible);
    const auto now = std::chrono::steady_clock::now();
    if (now - checked < kInterruptible) continue;
    checked = now;
    for (const auto& lane : lanes) lane->check();
  }
}

}  // namespace plait::dist
