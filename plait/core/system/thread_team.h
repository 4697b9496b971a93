// The thread team of this process. Every kernel runs its loops in it, whichever thread calls.
//
//   parallel_for(rows, 16, [&](int64_t begin, int64_t end) { … });
//
// The workers are started on demand and shared by all callers: there are never more than
// thread_count() - 1. A caller takes part in its own loop and in no other, so a loop ends even if
// every worker is busy elsewhere, and loops may nest to any depth. Idle workers sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "plait/core/function_ref.h"
#include "plait/core/settings.h"

namespace plait {

namespace setting {
extern Setting<int64_t> kThreads, kSpinMicroseconds;
extern Setting<bool> kReproducible;
}  // namespace setting

inline constexpr int kMaxThreadCount = 1024;
inline constexpr int kMostSpinMicroseconds = 1'000'000;

// Calls body(begin, end) for ranges that together cover [0, count) once, on several threads, and
// returns when all are done. `grain` is the least work worth a thread (1 if elements are large and
// uneven); larger counts are split. If `grain` is a multiple of 64, so is every begin, and every
// end but the last. The ranges depend on count, grain and thread_count() only, so results are
// reproducible if they are computed range by range. If bodies throw, the exception of the lowest
// range is rethrown here, as in a plain loop; later ranges that have not begun are skipped. A
// single range, or a team of one, runs without synchronisation.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Calls body(chunk) for each chunk in [0, chunks); chunks are handed out one at a time in ascending
// order.
void parallel_chunks(int64_t chunks, FunctionRef<void(int64_t)> body);

// The size of the team, including the caller: the setting `threads`, or available_cpu_count() if
// that is 0.
int thread_count();

// The number of threads for which products and convolutions are cut into pieces: pieces of another
// size may be rounded otherwise. thread_count(), or always the same with the setting
// `reproducible`.
int planned_thread_count();

// Changes the size for later calls, also from within a body; running calls are not affected.
void set_thread_count(int count);

// Index of this thread within the innermost parallel call: 0 for the caller, also outside of any
// call. The indices are distinct, and less than both thread_count() and the ThreadLimit at the
// start of the call. To have one scratch buffer for each thread, fix the number during the call:
//   const ThreadLimit limit(thread_count());
int thread_index();

// While one exists, calls of its thread use at most `count` threads; calls nested inside run on the
// calling thread only. The ranges do not change, and neither do results.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

// A context of a thread that the workers see too while they run loops of that thread.
class LoopContext {
 public:
  virtual ~LoopContext() = default;

  // The context of this thread; null if there is none.
  static LoopContext* current();

  // Sets the context during its lifetime.
  class Scope {
   public:
    explicit Scope(LoopContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    LoopContext* outer_;
  };
};

// The time for which an idle thread spins before it sleeps. Spinning makes loops that follow each
// other closely start several times faster, but uses a CPU meanwhile. This is the setting
// `spin_microseconds`. A thread that is preempted while spinning stops for a while; a team larger
// than the number of available CPUs does not spin.
std::chrono::microseconds spin_time();
void set_spin_time(std::chrono::microseconds time);

}  // namespace plait
