#include "plait/core/inside/system/interruption.h"

#include <atomic>
#include <chrono>

namespace plait {
namespace {

std::atomic<void (*)()> interruption_check = nullptr;

}  // namespace

void set_interruption_check(void (*check)()) { interruption_check = check; }

void check_interruption() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point asked{};
  void (*const check)() = interruption_check.load(std::memory_order_relaxed);
  if (check == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (now - asked < std::chrono::milliseconds(5)) return;
  asked = now;
  check();
}

}  // namespace plait
