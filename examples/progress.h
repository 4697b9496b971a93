// A bar of progress: one line that is written over and over where somebody watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace plait::examples {

class Progress {
 public:
  explicit Progress(int64_t images) : images_(images) {}

  // The loss is shown as a running mean.
  void show(int epoch, int epochs, int64_t done, double loss) {
    constexpr int kWidth = 30;
    loss_ = done_ == 0 ? loss : 0.98 * loss_ + 0.02 * loss;
    done_ = done;
    if (!is_watched_ && done < images_) return;
    const auto filled = static_cast<int>(kWidth * done / images_);
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    const double speed = static_cast<double>(done) / passed.count();
    fmt::print("{}  epoch {}/{}  [{:#<{}}{:-<{}}]  loss {:.3f}  {:.0f} images/s",
               is_watched_ ? "\r" : "", epoch, epochs, "", filled, "", kWidth - filled, loss_,
               speed);
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t images_, done_ = 0;
  double loss_ = 0;
  Clock::time_point begin_ = Clock::now();
  bool is_watched_ = isatty(STDOUT_FILENO) != 0;
};

}  // namespace plait::examples
