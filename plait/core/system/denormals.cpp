#include "plait/core/system/denormals.h"

#include <cstdint>

#include "plait/core/inside/system/denormal_mode.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace plait {
namespace {

#if defined(__SSE2__)
constexpr bool kCanFlush = true;
constexpr uint32_t kFlush = 0x8040;  // FTZ for results, DAZ for operands

uint32_t mode() { return _mm_getcsr(); }
void set_mode(uint32_t mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
constexpr bool kCanFlush = true;
constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ, for results and operands

uint64_t mode() {
  uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void set_mode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
constexpr bool kCanFlush = false;
constexpr uint32_t kFlush = 1;

uint32_t mode() { return 0; }
void set_mode(uint32_t) {}
#endif

void set_flush(bool flush) {
  const auto now = mode(), wanted = flush ? now | kFlush : now & ~kFlush;
  if (now != wanted) set_mode(wanted);
}

}  // namespace

FlushDenormals::FlushDenormals(bool flush) : outer_(flushes_denormals()) { set_flush(flush); }

FlushDenormals::~FlushDenormals() { set_flush(outer_); }

bool flushes_denormals() { return (mode() & kFlush) == kFlush; }

bool can_flush_denormals() { return kCanFlush; }

}  // namespace plait
