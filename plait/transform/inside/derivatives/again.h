// Computations that run again, to recompute values for a derivative.
#pragma once

#include <utility>

namespace plait::control {

// While it exists, this thread recomputes earlier computations: nothing is printed again.
class Again {
 public:
  explicit Again(bool is_so = true) : outer_(std::exchange(is_open_, is_so)) {}
  ~Again() { is_open_ = outer_; }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

  static bool is_open() { return is_open_; }

 private:
  static inline constinit thread_local bool is_open_ = false;
  const bool outer_;
};

}  // namespace plait::control
