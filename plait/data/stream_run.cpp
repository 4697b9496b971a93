#include "plait/data/stream_run.h"

#include "plait/data/sample_key.h"

namespace plait::data {

void Turns::wait_for(int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return number_ == number; });
}

void Turns::end() {
  {
    const std::lock_guard lock(mutex_);
    ++number_;
  }
  changed_.notify_all();
}

Tensor key_of_place(uint64_t seed, int64_t epoch, int64_t place) {
  return tensor_of(sample_key(seed, epoch, place));
}

}  // namespace plait::data
