// How many errors there have been: host code that is recorded may catch one, and go on by a path
// that another call would not take.
#pragma once

#include <cstdint>

namespace plait {

// On this thread, thrown or not.
uint64_t errors_made();
void count_error();  // that another language has made

}  // namespace plait
