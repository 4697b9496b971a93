// Computations that run again, to recompute values for a derivative.
#pragma once

#include <utility>

#include "plait/core/ambient.h"

namespace plait::control {

// While it exists, this thread recomputes earlier computations: nothing is printed again.
class Again {
 public:
  explicit Again(bool is_so = true) : outer_(std::exchange(ambient.recomputes, is_so)) {}
  ~Again() { ambient.recomputes = outer_; }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

  static bool is_open() { return ambient.recomputes; }

 private:
  const bool outer_;
};

}  // namespace plait::control
