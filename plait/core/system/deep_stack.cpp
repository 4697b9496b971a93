#include "plait/core/system/deep_stack.h"

#include <cstddef>
#include <cstdint>
#include <exception>

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "plait/core/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace plait {
namespace {

constexpr size_t kReserve = size_t{1} << 20;  // enough for a call of ordinary depth
constexpr size_t kSegment = size_t{1} << 26;
constexpr size_t kMostSegments = 64;
constexpr size_t kGuard = size_t{1} << 16;  // an inaccessible guard at its end

struct ThreadStack {
  const std::byte* lowest = nullptr;  // lowest address of the current stack; null: not yet known
  size_t segments = 0;
};
thread_local constinit ThreadStack current;

const std::byte* lowest_of_thread() {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
  }
  return static_cast<const std::byte*>(lowest);
}

// Memory for a stack, and the work to run on it.
struct Segment {
  explicit Segment(FunctionRef<void()> to_do) : work(to_do) {
    memory = mmap(nullptr, kSegment, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0) {
      throw MemoryError("no memory for a stack of {} MiB", kSegment >> 20);
    }
  }
  ~Segment() { munmap(memory, kSegment); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::byte* lowest() const { return static_cast<std::byte*>(memory) + kGuard; }

  void* memory;
  FunctionRef<void()> work;
  std::exception_ptr failure;
  ucontext_t before, inside;
  // Information about the old stack for the sanitizers.
  const void* outer_lowest = nullptr;
  size_t outer_size = 0;
  void* outer_fiber = nullptr;
};

void run_segment(unsigned high, unsigned low) {
  auto& segment =
      *reinterpret_cast<Segment*>(static_cast<uintptr_t>(high) << 32 | static_cast<uintptr_t>(low));
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &segment.outer_lowest, &segment.outer_size);
#endif
  try {
    segment.work();
  } catch (...) {
    segment.failure = std::current_exception();
  }
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, segment.outer_lowest, segment.outer_size);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(segment.outer_fiber, 0);
#endif
}

void run(Segment& segment) {
  getcontext(&segment.inside);
  segment.inside.uc_stack.ss_sp = segment.lowest();
  segment.inside.uc_stack.ss_size = kSegment - kGuard;
  segment.inside.uc_link = &segment.before;
  const auto address = reinterpret_cast<uintptr_t>(&segment);
  makecontext(&segment.inside, reinterpret_cast<void (*)()>(run_segment), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#ifdef __SANITIZE_ADDRESS__
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, segment.lowest(), kSegment - kGuard);
#endif
#ifdef __SANITIZE_THREAD__
  segment.outer_fiber = __tsan_get_current_fiber();
  void* const fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(fiber, 0);
#endif
  swapcontext(&segment.before, &segment.inside);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(fiber);
#endif
}

}  // namespace

bool is_stack_short() {
  if (current.lowest == nullptr) current.lowest = lowest_of_thread();
  const auto here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return static_cast<size_t>(here - current.lowest) < kReserve;
}

void on_more_stack(FunctionRef<void()> work) {
  if (current.segments == kMostSegments) {
    throw MemoryError("a recursion needs more than {} GiB of stack", kMostSegments * kSegment >> 30)
        .hint("check that the recursion ends");
  }
  Segment segment(work);
  const ThreadStack outer = current;
  current = {segment.lowest(), outer.segments + 1};
  run(segment);
  current = outer;
  if (segment.failure) std::rethrow_exception(segment.failure);
}

}  // namespace plait
