// Counts the errors that reached host code: a recorded function may catch one and take a path that
// another call would not take.
#pragma once

#include <cstdint>

namespace plait {

// On this thread. Errors caught by C++ host code are not counted.
uint64_t errors_shown();
void count_error();

}  // namespace plait
