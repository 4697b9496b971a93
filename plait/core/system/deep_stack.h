// Deep recursion: a call that finds little stack left continues on another piece of memory, and
// returns to the old stack afterwards.
#pragma once

#include <optional>

#include "plait/core/function_ref.h"

namespace plait {

// True if a deeper call should be made with `on_more_stack`.
bool is_stack_short();

// Runs `work` on the same thread with a new stack; exceptions pass through. MemoryError if there is
// no memory for it, or if the thread has gigabytes of stack already.
void on_more_stack(FunctionRef<void()> work);

// Returns f(), with enough stack for a call of ordinary depth.
template <class F>
auto with_enough_stack(const F& f) -> decltype(f()) {
  if (!is_stack_short()) return f();
  std::optional<decltype(f())> result;
  on_more_stack([&] { result.emplace(f()); });
  return std::move(*result);
}

}  // namespace plait
