// The end of a wait, by a clock that only goes forward.
#pragma once

#include <algorithm>
#include <chrono>

namespace plait::dist {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // A time that is too long for the clock ends never.
  explicit Deadline(std::chrono::milliseconds from_now)
      : end_(from_now < kLongest ? Clock::now() + from_now : Clock::time_point::max()) {}

  bool has_passed() const { return Clock::now() >= end_; }
  // 0 if it has passed; never more than `most`.
  std::chrono::milliseconds left(std::chrono::milliseconds most) const {
    const Clock::time_point now = Clock::now();
    if (now >= end_) return std::chrono::milliseconds(0);
    if (end_ - now >= most) return most;
    return std::chrono::ceil<std::chrono::milliseconds>(end_ - now);
  }

 private:
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);

  Clock::time_point end_;
};

// A wait asks this often whether it is interrupted (plait/core/inside/system/interruption.h).
inline constexpr std::chrono::milliseconds kInterruptible{50};

}  // namespace plait::dist
