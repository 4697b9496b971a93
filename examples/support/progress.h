// A progress bar: one line that is overwritten on a terminal.
#pragma once

#include <chrono>
#include <cstdint>

namespace plait::examples {

class Progress {
 public:
  explicit Progress(int64_t images);

  // Shows a running mean of the loss.
  void show(int64_t epoch, int64_t epochs, int64_t done, double loss);

 private:
  int64_t images_, done_ = 0;
  double loss_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool is_watched_;
};

}  // namespace plait::examples
