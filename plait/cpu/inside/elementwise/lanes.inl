// Vectors of one register. This is Highway or, without it, a replacement of the functions that the
// kernels use, for single elements in loops that the compiler may vectorise. A source that includes
// this file is compiled once per level, each time into another namespace; HWY_TARGET_INCLUDE is its
// own path. It includes exactly one file that leads here, once.
#ifdef PLAIT_HAVE_HIGHWAY

// Compiles these three levels, whatever the compiler's target options are.
#undef HWY_BASELINE_TARGETS
#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3))
#include <hwy/foreach_target.h>  // NOLINT(readability-duplicate-include)
// After foreach_target.h, which selects the level.
#include <hwy/highway.h>

#define PLAIT_EACH_LEVEL(name) {N_SSE4::name, N_AVX2::name, N_AVX3::name}

#else

#include "plait/cpu/inside/elementwise/plain_lanes.inl"

#define PLAIT_EACH_LEVEL(name) {N_PLAIN::name, N_PLAIN::name, N_PLAIN::name}

#endif

// For loops whose result may be in place of an operand, but overlaps it in no other way: the
// compiler need not check for overlaps.
#undef PLAIT_VECTORISE
#ifdef __clang__
#define PLAIT_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PLAIT_VECTORISE _Pragma("GCC ivdep")
#endif
