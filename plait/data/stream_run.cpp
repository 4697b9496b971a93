#include "plait/data/stream_run.h"

#include <condition_variable>
#include <mutex>

namespace plait::data {

struct Turns::State {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t number = 0;
};

Turns::Turns() : state_(std::make_shared<State>()) {}

void Turns::wait_for(int64_t number) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->number == number; });
}

void Turns::end() {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->number;
  }
  state_->changed.notify_all();
}

}  // namespace plait::data
