#include "plait/core/inside/system/interruption.h"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace plait {
namespace {

constexpr int64_t kInterval = 5'000'000;  // nanoseconds

std::atomic<void (*)()> interruption_check = nullptr;

// Advances every few milliseconds, and takes a fifth of the time to read of a precise clock.
int64_t coarse_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void set_interruption_check(void (*check)()) { interruption_check = check; }

void check_interruption() {
  thread_local int64_t asked = 0;
  void (*const check)() = interruption_check.load(std::memory_order_relaxed);
  if (check == nullptr) return;
  const int64_t now = coarse_nanoseconds();
  if (now - asked < kInterval) return;
  asked = now;
  check();
}

}  // namespace plait
