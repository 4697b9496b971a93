#include "plait/core/system/thread_team.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): pthread_sigmask is POSIX

#include "plait/core/error.h"
#include "plait/core/inside/system/cpu_count.h"
#include "plait/core/inside/system/job_slot.h"
#include "plait/core/system/denormals.h"

namespace plait {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int kUnlimited = std::numeric_limits<int>::max();

// More ranges than threads balance the load; claiming one costs some tens of nanoseconds.
constexpr int kRangesPerThread = 4;
// A short loop has one range per thread, all of equal length. The caller takes the first one, so
// that the next short loop finds its data in the cache of the same core.
constexpr int kGrainsOfShortLoop = 16;  // per thread
constexpr int kUnit = 64;               // no cache line is written by two threads

// The team's state of a thread.
struct ThreadState {
  int index = 0;
  int limit = kUnlimited;
  LoopContext* context = nullptr;
  Job* innermost = nullptr;  // innermost of the nested calls of this thread
  int unwatched_waits = 0;   // see watch_until
};
constinit thread_local ThreadState state;

// The state of a thread while it runs chunks of one job.
class Role {
 public:
  Role(int index, int limit) : Role(index, limit, state.context) {}
  Role(int index, int limit, LoopContext* context)
      : outer_index_(state.index), outer_limit_(state.limit), outer_context_(state.context) {
    state.index = index;
    state.limit = limit;
    state.context = context;
  }
  ~Role() {
    state.index = outer_index_;
    state.limit = outer_limit_;
    state.context = outer_context_;
  }
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

 private:
  int outer_index_, outer_limit_;
  LoopContext* outer_context_;
};

void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `ready` is true or the time is over; returns whether it is ready. A gap between two
// readings of the clock means that another thread needs this CPU: the next waits do not spin.
template <class Ready>
bool watch_until(Ready ready, microseconds time) {
  constexpr int kLooksPerClock = 32, kUnwatchedWaits = 100;
  constexpr microseconds kDisplaced{100};
  if (time.count() == 0) return ready();
  if (state.unwatched_waits > 0) {
    --state.unwatched_waits;
    return ready();
  }
  const auto start = steady_clock::now();
  for (auto last = start;;) {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (ready()) return true;
      pause_cpu();
    }
    const auto now = steady_clock::now();
    if (now - last > kDisplaced) state.unwatched_waits = kUnwatchedWaits;
    if (now - last > kDisplaced || now - start >= time) return ready();
    last = now;
  }
}

void run_alone(int64_t chunks, FunctionRef<void(int64_t)> body) {
  const Role role(0, state.limit);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

std::exception_ptr failure_of(const Job& job, int64_t chunk) {
  try {
    job.body(chunk);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// The only instance is created before main and never destroyed, and its workers are detached: the
// process may exit at any time, from any thread.
class Team {
 public:
  int size() {
    read_settings();
    return size_.load(std::memory_order_relaxed);
  }
  microseconds spin_time() {
    read_settings();
    return microseconds(spin_time_.load(std::memory_order_relaxed));
  }
  void refresh() { settings_version_.fetch_add(1); }
  void run(int64_t chunks, int size, FunctionRef<void(int64_t)> body);

  void before_fork() { control_.lock(); }
  void after_fork_in_parent() { control_.unlock(); }
  void after_fork_in_child();

  void read_settings();

 private:
  static constexpr int kSlots = 64;
  static constexpr uint64_t bit(int slot) { return uint64_t{1} << slot; }

  microseconds patience() const;

  void start_workers(int size);
  bool start_worker(int index);
  bool retire(int index);
  void work(int index);
  bool help_anyone(int& first);
  void help(JobSlot& slot, const JobSlot::Claim& claim);
  void wait_for_news(uint32_t seen);
  void wake(int workers);
  void wake_for_what_is_open();

  int take_slot();
  void run_as_owner(Job& job, JobSlot& slot);
  void settle(Job& job, JobSlot& slot, int64_t chunk, std::exception_ptr failure);

  std::atomic<uint32_t> settings_version_ = 1;  // counts changes of the settings
  std::atomic<uint32_t> version_read_ = 0;
  std::atomic<int> size_ = 0;
  std::atomic<int> spin_time_ = 0;
  std::atomic<int> cpus_ = 0;
  std::atomic<int> staffed_for_ = 0;  // size of the team for which workers were started
  std::mutex control_;                // held while starting and retiring workers, and during a fork
  std::array<bool, kMaxThreadCount> is_alive_ = {};
  std::atomic<int> forks_ = 0;  // number of forks between the first process and this one

  std::array<JobSlot, kSlots> slots_;
  alignas(64) std::atomic<uint64_t> taken_ = 0;  // a bit mask of slots
  alignas(64) std::atomic<uint32_t> news_ = 0;   // incremented for each new job or size
  alignas(64) std::atomic<int> watching_ = 0;    // idle workers that spin
  std::atomic<int> sleeping_ = 0;                // idle workers that sleep
};

constinit Team team;

[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { team.before_fork(); }, [] { team.after_fork_in_parent(); },
                   [] { team.after_fork_in_child(); });

// Settings

void Team::read_settings() {
  const uint32_t version = settings_version_.load(std::memory_order_acquire);
  if (version_read_.load(std::memory_order_acquire) == version) return;
  const int cpus = std::min(available_cpu_count(), kMaxThreadCount);
  const auto threads = static_cast<int>(setting::kThreads.get());
  const auto spin_time = static_cast<int>(setting::kSpinMicroseconds.get());
  const std::lock_guard lock(control_);
  spin_time_.store(spin_time, std::memory_order_relaxed);
  cpus_.store(cpus);
  size_.store(threads > 0 ? threads : cpus, std::memory_order_release);
  version_read_.store(version, std::memory_order_release);
  staffed_for_.store(0);  // workers may leave before the next call
  news_.fetch_add(1);
  news_.notify_all();
}

microseconds Team::patience() const {
  const bool crowded =
      size_.load(std::memory_order_relaxed) > cpus_.load(std::memory_order_relaxed);
  return microseconds(crowded ? 0 : spin_time_.load(std::memory_order_relaxed));
}

// Workers

void Team::start_workers(int size) {
  if (staffed_for_.load(std::memory_order_acquire) == size) return;
  const std::lock_guard lock(control_);
  const int wanted = size_.load(std::memory_order_relaxed);
  for (int index = 1; index < wanted; ++index) {
    if (!is_alive_[index] && !start_worker(index)) break;  // the team also works with fewer workers
  }
  staffed_for_.store(wanted, std::memory_order_release);
}

// Workers block all signals, which are for the program's own threads.
bool Team::start_worker(int index) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this, index] { work(index); }).detach();
    is_alive_[index] = true;
  } catch (const std::exception&) {
    is_alive_[index] = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_alive_[index];
}

bool Team::retire(int index) {
  const std::lock_guard lock(control_);
  if (index < size_.load(std::memory_order_relaxed)) return false;
  is_alive_[index] = false;
  return true;
}

void Team::work(int index) {
  pthread_setname_np(pthread_self(), fmt::format("plait-{}", index).c_str());
  const int forks = forks_.load();
  int first = index % kSlots;
  for (;;) {
    const uint32_t seen = news_.load(std::memory_order_acquire);
    if (index >= size_.load(std::memory_order_relaxed) && retire(index)) return;
    if (!help_anyone(first)) wait_for_news(seen);
    if (forks_.load(std::memory_order_relaxed) != forks) return;
  }
}

// Workers start their search at different slots and continue after the slot where they last helped,
// so that all jobs get their share. Returns true if there was a job to help.
bool Team::help_anyone(int& first) {
  uint64_t jobs = std::rotr(taken_.load(std::memory_order_acquire), first);
  for (; jobs != 0; jobs &= jobs - 1) {
    JobSlot& slot = slots_[(first + std::countr_zero(jobs)) % kSlots];
    if (const auto claim = slot.join()) {
      first = static_cast<int>(&slot - slots_.data() + 1) % kSlots;
      wake_for_what_is_open();
      help(slot, *claim);
      return true;
    }
  }
  return false;
}

void Team::help(JobSlot& slot, const JobSlot::Claim& claim) {
  const int forks = forks_.load(std::memory_order_relaxed);
  Job& job = *claim.job;
  const Role role(claim.thread_index, job.nests ? kUnlimited : 1, job.context);
  const FlushDenormals flush(job.flushes_denormals);
  for (std::optional<int64_t> chunk = claim.chunk; chunk; chunk = slot.claim(job)) {
    std::exception_ptr failure = failure_of(job, *chunk);
    // In a child that the body forked, no one owns the job any more.
    if (forks_.load(std::memory_order_relaxed) != forks) return;
    settle(job, slot, *chunk, std::move(failure));
  }
  slot.leave();
}

void Team::wait_for_news(uint32_t seen) {
  watching_.fetch_add(1);
  const bool is_news =
      watch_until([&] { return news_.load(std::memory_order_acquire) != seen; }, patience());
  watching_.fetch_sub(1);
  if (is_news) return;
  sleeping_.fetch_add(1);
  news_.wait(seen);
  sleeping_.fetch_sub(1);
}

void Team::wake(int workers) {
  const int asleep = sleeping_.load();
  if (workers >= asleep && asleep > 0) {
    news_.notify_all();
  } else {
    for (int i = 0; i < workers; ++i) news_.notify_one();
  }
}

// A caller relies on the spinning workers, but two callers may rely on the same one. So the last
// spinning worker that finds work wakes others for the rest.
void Team::wake_for_what_is_open() {
  if (sleeping_.load(std::memory_order_relaxed) == 0) return;
  if (watching_.load(std::memory_order_relaxed) > 0) return;
  for (uint64_t jobs = taken_.load(std::memory_order_acquire); jobs != 0; jobs &= jobs - 1) {
    if (slots_[std::countr_zero(jobs)].has_opening()) return wake(1);
  }
}

// Calls

int Team::take_slot() {
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  while (~taken != 0) {
    const int slot = std::countr_one(taken);
    if (taken_.compare_exchange_weak(taken, taken | bit(slot), std::memory_order_acquire)) {
      return slot;
    }
  }
  return -1;
}

void Team::run(int64_t chunks, int size, FunctionRef<void(int64_t)> body) {
  const int threads = static_cast<int>(std::min({chunks, int64_t{size}, int64_t{state.limit}}));
  if (threads == 1) return run_alone(chunks, body);
  start_workers(size);
  const int slot = take_slot();
  if (slot < 0) return run_alone(chunks, body);

  Job job{.body = body,
          .chunks = chunks,
          .helpers = threads - 1,
          .nests = state.limit >= size,
          .context = state.context,
          .flushes_denormals = flushes_denormals(),
          .slot = slot,
          .outer = state.innermost};
  state.innermost = &job;
  slots_[slot].open(job);
  news_.fetch_add(1);
  wake(job.helpers - watching_.load());
  run_as_owner(job, slots_[slot]);
  taken_.fetch_and(~bit(slot), std::memory_order_release);
  state.innermost = job.outer;

  if (job.lost_chunks) {
    throw DeviceError("fork() within a parallel loop lost the work of other threads")
        .hint("fork outside of the loop, or leave the child's loop body by exec or _exit");
  }
  if (std::exception_ptr failure = job.failure.take()) std::rethrow_exception(failure);
}

void Team::run_as_owner(Job& job, JobSlot& slot) {
  const Role role(0, job.nests ? state.limit : 1);
  while (const auto chunk = slot.claim(job)) settle(job, slot, *chunk, failure_of(job, *chunk));
  if (!watch_until([&] { return slot.is_left(); }, patience())) slot.wait_until_left();
}

// Chunks begin in ascending order: when one fails, all lower ones have begun, and higher ones are
// skipped.
void Team::settle(Job& job, JobSlot& slot, int64_t chunk, std::exception_ptr failure) {
  if (!failure || job.lost_chunks) return;
  slot.skip_the_rest();
  job.failure.note(chunk, std::move(failure));
}

// The child has only the thread that forked. Its own calls continue without helpers.
void Team::after_fork_in_child() {
  uint64_t own = 0;
  for (Job* job = state.innermost; job != nullptr; job = job->outer) {
    own |= bit(job->slot);
    if (slots_[job->slot].forget_helpers()) job->lost_chunks = true;
  }
  for (int slot = 0; slot < kSlots; ++slot) {
    if ((own & bit(slot)) == 0) slots_[slot].clear();
  }
  taken_.store(own);
  watching_.store(0);
  sleeping_.store(0);
  is_alive_.fill(false);
  staffed_for_.store(0);
  forks_.fetch_add(1);
  control_.unlock();
}

// Splits [0, count) into ranges of about equal length, which are multiples of a unit.
class Ranges {
 public:
  Ranges(int64_t count, int64_t grain, int threads) : count_(count) {
    const int64_t grains = (count - 1) / grain + 1;
    const bool is_short = grain > 1 && grains <= kGrainsOfShortLoop * threads;
    unit_ = !is_short ? grain : grain % kUnit == 0 ? kUnit : 1;
    units_ = (count - 1) / unit_ + 1;
    const int each = threads == 1 || is_short ? 1 : kRangesPerThread;
    ranges_ = std::min<int64_t>(grains, each * threads);
  }

  int64_t size() const { return ranges_; }
  int64_t begin(int64_t range) const {
    if (range == ranges_) return count_;
    return unit_ * (range * (units_ / ranges_) + std::min(range, units_ % ranges_));
  }

 private:
  int64_t count_, unit_, units_, ranges_;
};

}  // namespace

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count < 0 || grain < 1) {
    throw ValueError("parallel_for: count is {}, grain is {}", count, grain)
        .hint("expected a count of 0 or more, and a grain of 1 or more");
  }
  if (count == 0) return;
  const int size = count <= grain ? 1 : team.size();
  const Ranges ranges(count, grain, size);
  team.run(ranges.size(), size,
           [&](int64_t range) { body(ranges.begin(range), ranges.begin(range + 1)); });
}

void parallel_chunks(int64_t chunks, FunctionRef<void(int64_t)> body) {
  if (chunks < 0) {
    throw ValueError("parallel_chunks: {} chunks", chunks).hint("expected 0 chunks or more");
  }
  if (chunks == 0) return;
  if (chunks <= JobSlot::kMaxChunks) return team.run(chunks, team.size(), body);
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) body(chunk);
  });
}

namespace setting {

constinit Setting<int64_t> kThreads(
    {.name = "threads",
     .standard = "0",
     .description = "number of threads that compute; 0 means every core that the process may use",
     .range = {0, kMaxThreadCount},
     .changed = [] { team.refresh(); }});
constinit Setting<int64_t> kSpinMicroseconds(
    {.name = "spin_microseconds",
     .standard = "30",
     .description = "how long an idle thread spins before it sleeps",
     .range = {0, kMostSpinMicroseconds},
     .changed = [] { team.refresh(); }});
constinit Setting<bool> kReproducible(
    {.name = "reproducible",
     .standard = "false",
     .description = "whether results are the same bits for any number of threads"});

}  // namespace setting

namespace {
const ListedSettings thread_settings{&setting::kThreads, &setting::kSpinMicroseconds,
                                     &setting::kReproducible};
}

int thread_count() { return team.size(); }

int planned_thread_count() {
  constexpr int kReproducible = 16;
  return setting::kReproducible.get() ? kReproducible : thread_count();
}

void set_thread_count(int count) {
  if (count < 1 || count > kMaxThreadCount) {
    throw ValueError("set_thread_count: {} threads", count)
        .hint(fmt::format("expected 1 to {}", kMaxThreadCount));
  }
  setting::kThreads.set(count);
  team.read_settings();  // surplus workers leave now
}

int thread_index() { return state.index; }

ThreadLimit::ThreadLimit(int count) : outer_(state.limit) {
  if (count < 1) {
    throw ValueError("ThreadLimit: {} threads", count)
        .hint("expected 1 or more: the calling thread itself counts");
  }
  state.limit = std::min(outer_, count);
}

ThreadLimit::~ThreadLimit() { state.limit = outer_; }

LoopContext* LoopContext::current() { return state.context; }

LoopContext::Scope::Scope(LoopContext& context) : outer_(state.context) {
  state.context = &context;
}

LoopContext::Scope::~Scope() { state.context = outer_; }

microseconds spin_time() { return team.spin_time(); }

void set_spin_time(microseconds time) {
  if (time.count() < 0 || time.count() > kMostSpinMicroseconds) {
    throw ValueError("set_spin_time: {} microseconds", time.count())
        .hint(fmt::format("expected 0 to {}", kMostSpinMicroseconds));
  }
  setting::kSpinMicroseconds.set(time.count());
}

}  // namespace plait
