#include "progress.h"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace plait::examples {

Progress::Progress(int64_t images) : images_(images), is_watched_(isatty(STDOUT_FILENO) != 0) {}

void Progress::show(int64_t epoch, int64_t epochs, int64_t done, double loss) {
  constexpr int kWidth = 30;
  loss_ = done_ == 0 ? loss : 0.98 * loss_ + 0.02 * loss;
  done_ = done;
  if (!is_watched_ && done < images_) return;
  const auto filled = static_cast<int>(kWidth * done / images_);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  const double speed = static_cast<double>(done) / passed.count();
  fmt::print("{}  epoch {}/{}  [{:#<{}}{:-<{}}]  loss {:.3f}  {:.0f} images/s",
             is_watched_ ? "\r" : "", epoch, epochs, "", filled, "", kWidth - filled, loss_, speed);
  std::fflush(stdout);
}

}  // namespace plait::examples
