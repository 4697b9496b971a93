// Vectors of as many elements as a register holds. This is Highway; without it, what the kernels
// use of it, on one element, in loops that the compiler may vectorise. A source that includes this
// is compiled once a level, each time into another namespace: HWY_TARGET_INCLUDE is its own name.
// It includes one file that leads here, and that once.
#ifdef PLAIT_HAVE_HIGHWAY

// These three levels whatever the compiler is told of the machine.
#undef HWY_BASELINE_TARGETS
#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3))
#include <hwy/foreach_target.h>  // NOLINT(readability-duplicate-include)
// Behind foreach_target.h, since it defines which level is compiled.
#include <hwy/highway.h>

#define PLAIT_EACH_LEVEL(name) {N_SSE4::name, N_AVX2::name, N_AVX3::name}

#else

#include "plait/cpu/inside/elementwise/plain_lanes.inl"

#define PLAIT_EACH_LEVEL(name) {N_PLAIN::name, N_PLAIN::name, N_PLAIN::name}

#endif

// Before a loop whose result may lie where an operand does, but not elsewhere among them: the
// compiler need not look whether they overlap.
#undef PLAIT_VECTORISE
#ifdef __clang__
#define PLAIT_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLAIT_VECTORISE _Pragma("GCC ivdep")
#endif
