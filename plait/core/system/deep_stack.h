// Recursion as deep as memory allows: a call that finds little left of its thread's stack goes on
// on another piece of memory, and comes back.
#pragma once

#include <optional>

#include "plait/core/function_ref.h"

namespace plait {

// Whether a call deeper should better be made by `on_more_stack`.
bool is_stack_short();

// Runs it on the same thread, with a stack of its own; exceptions go through. MemoryError where
// there is no memory for it, or the thread has gigabytes of stack already.
void on_more_stack(FunctionRef<void()> work);

// f(), with enough stack for a call of ordinary depth.
template <class F>
auto with_enough_stack(const F& f) -> decltype(f()) {
  if (!is_stack_short()) return f();
  std::optional<decltype(f())> result;
  on_more_stack([&] { result.emplace(f()); });
  return std::move(*result);
}

}  // namespace plait
