// The one team of threads of this process. Every kernel runs its loops in it, whoever calls.
//
//   parallel_for(rows, 16, [&](int64_t begin, int64_t end) { … });
//
// The team's workers are started when first needed and shared by all callers: there are never more
// than thread_count() - 1. A caller takes part in its own loop and in no other, so a loop ends even
// when every worker is busy elsewhere, and loops may nest to any depth. Idle workers sleep.
#pragma once

#include <chrono>
#include <cstdint>

#include "plait/core/function_ref.h"

namespace plait {

inline constexpr int kMaxThreadCount = 1024;
inline constexpr int kMostSpinMicroseconds = 1'000'000;

// Calls body(begin, end) for ranges that together cover [0, count) once, on several threads, and
// returns when all are done. More than `grain`, the least work worth a thread (1 where elements are
// large and uneven), is split; every begin, and every end but the last, is a multiple of 64 if
// `grain` is. The ranges follow from count, grain and thread_count() alone,
// so what is computed a range at a time comes out the same on every run.
// When bodies throw, the exception of the lowest range is thrown here, as a plain loop would; later
// ranges that have not begun are skipped. One range, or a team of one, runs without
// synchronisation.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Calls body(chunk) for each chunk in [0, chunks), handing out one at a time in ascending order.
void parallel_chunks(int64_t chunks, FunctionRef<void(int64_t)> body);

// The size of the team, its caller included: the setting `threads`, or available_cpu_count() when
// that is 0.
int thread_count();

// Changes the size for calls that begin later, also from within a body; those under way go on.
void set_thread_count(int count);

// Which of the threads that run the innermost parallel call this is: 0 is the caller, also outside
// of any call. Distinct among them, and less than both the thread_count() and the ThreadLimit that
// the call began with. To have one scratch a thread, hold the number fixed over the call:
//   const ThreadLimit limit(thread_count());
int thread_index();

// While this lives, calls of the thread that made it use at most `count` threads; calls nested in
// such a call then run on the thread that makes them. Ranges stay as they are, and so do results.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

// Something of a thread's that those see, too, who work in its loops while they do.
class LoopContext {
 public:
  virtual ~LoopContext() = default;

  // What this thread is given; null where there is nothing.
  static LoopContext* current();

  // While this lives.
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

// How long a thread with nothing to do watches for work before it sleeps. Watching makes loops that
// follow each other closely start several times faster, and burns a CPU meanwhile. This is the
// setting `spin_microseconds`. A thread that finds itself displaced by others
// while watching, or a team larger than the CPUs at hand, does not watch.
std::chrono::microseconds spin_time();
void set_spin_time(std::chrono::microseconds time);

// Called when one of the two settings has changed.
void refresh_thread_team();

}  // namespace plait
