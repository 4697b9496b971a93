// Sorting of whole numbers in lanes.
#pragma once

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// The least first.
using WordSort = void (*)(uint32_t* words, int64_t count);

extern const EachLevel<WordSort> kWordSorts;

// That of the level in use; null where there is none.
WordSort word_sort();

}  // namespace plait::cpu
