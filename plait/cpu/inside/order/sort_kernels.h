// Vectorised sorting of integers.
#pragma once

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// Sorts in ascending order.
using WordSort = void (*)(uint32_t* words, int64_t count);

extern const EachLevel<WordSort> kWordSorts;

// The kernel of the level in use, or null.
WordSort word_sort();

}  // namespace plait::cpu
