#include "plait/comm/inside/forks.h"

#include <atomic>

#include <pthread.h>

namespace plait::dist {
namespace {

std::atomic<uint64_t> forks = 0;

}  // namespace

uint64_t fork_count() {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace plait::dist
