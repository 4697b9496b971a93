// Runs work on a thread with a small stack, which a recursion over a large program would overflow.
#pragma once

#include <cstddef>
#include <functional>

namespace plait {

void on_small_stack(const std::function<void()>& work, size_t bytes = 512 * 1024);

}  // namespace plait
