// How many errors host code was shown: what is recorded may catch one, and go on by a path that
// another call would not take.
#pragma once

#include <cstdint>

namespace plait {

// On this thread. Those of host code in C++ are not counted.
uint64_t errors_shown();
void count_error();

}  // namespace plait
