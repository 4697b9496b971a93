#include "tests/cuda_emulator/driver/streams.h"

#include <algorithm>
#include <chrono>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<Stream*> all_streams() {
  std::vector<Stream*> streams;
  for (const auto& context : state().contexts) streams.push_back(&context->legacy);
  const auto& others = state().streams.in_order();
  streams.insert(streams.end(), others.begin(), others.end());
  return streams;
}

// Waits until no other thread runs work of the stream.
void wait_while_busy(Stream& stream) {
  std::unique_lock lock(driver_mutex(), std::adopt_lock);
  stream_progress().wait(lock, [&] { return !stream.is_busy; });
  lock.release();
}

bool is_first(const Stream& stream, const std::shared_ptr<Marker>& marker) {
  return !stream.is_busy && !stream.queue.empty() && stream.queue.front().done == marker;
}

bool step(Stream& stream, bool may_wait);

// The other streams of the process, which devices run without being asked, may have what it waits
// for.
void advance_others(const Stream& waiting) {
  static bool is_advancing = false;
  if (is_advancing) return;
  is_advancing = true;
  for (Stream* const stream : all_streams()) {
    const auto takes_part = [](const Work& work) { return static_cast<bool>(work.is_ready); };
    while (stream != &waiting && std::ranges::any_of(stream->queue, takes_part)) {
      if (!step(*stream, false)) break;
    }
  }
  is_advancing = false;
}

// True when the first work of the stream may run, or is no longer the first one.
bool become_ready(Stream& stream, const std::shared_ptr<Marker>& first, bool may_wait) {
  while (is_first(stream, first)) {
    const auto is_ready = stream.queue.front().is_ready;
    if (!is_ready || stream.context->sticky != CUDA_SUCCESS || is_ready()) return true;
    advance_others(stream);
    if (!is_first(stream, first) || is_ready()) return true;
    if (!may_wait) return false;
    wait_for_others();
  }
  return true;
}

// Runs the first work of a stream, after what it waits for. False if it does not, since it would
// wait for other threads or processes.
bool step(Stream& stream, bool may_wait) {
  if (stream.is_busy) {
    if (may_wait) wait_while_busy(stream);
    return may_wait;
  }
  const auto waits_for = stream.queue.front().waits_for;
  const auto first = stream.queue.front().done;
  for (const auto& marker : waits_for) {
    if (!run_until(marker, may_wait)) return false;
  }
  if (!become_ready(stream, first, may_wait)) return false;
  // Others may have run meanwhile.
  if (!is_first(stream, first)) return true;
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.is_busy = true;
  Context& context = *stream.context;
  if (context.sticky == CUDA_SUCCESS) {
    const CUresult result = run_work(work);
    if (result != CUDA_SUCCESS && context.sticky == CUDA_SUCCESS) context.sticky = result;
  }
  stream.is_busy = false;
  work.done->milliseconds = milliseconds_now();
  work.done->is_done = true;
  stream_progress().notify_all();
  return true;
}

// Other streams may run before what is waited for: with other orders than 0 they do.
void run_others(const Stream& waited) {
  const int order = settings().order;
  if (order == 0) return;
  static uint64_t salt = 0;
  ++salt;
  std::vector<Stream*> streams = all_streams();
  const std::vector<int> indices = chosen_order(static_cast<int>(streams.size()), salt * 977);
  for (const int k : indices) {
    Stream& stream = *streams[static_cast<size_t>(k)];
    if (&stream == &waited) continue;
    // Reversed: all of them run first. Random: each runs a part of its work.
    size_t count = order == 1 ? stream.queue.size()
                              : static_cast<size_t>(chosen_order(
                                    static_cast<int>(stream.queue.size()) + 1, salt + 7)[0]);
    for (; count && !stream.queue.empty() && step(stream, false); --count) {
    }
  }
}

void add_legacy_waits(Stream& stream, Work& work) {
  const auto add = [&](const Stream& other) {
    if (other.last && !other.last->is_done) work.waits_for.push_back(other.last);
  };
  if (!stream.is_legacy) {
    if (stream.is_blocking) add(stream.context->legacy);
    return;
  }
  for (const Stream* other : state().streams.in_order()) {
    if (other->context == stream.context && other->is_blocking) add(*other);
  }
}

}  // namespace

std::mutex& driver_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::condition_variable& stream_progress() {
  static auto* progress = new std::condition_variable;
  return *progress;
}

bool& is_in_host_function() {
  static thread_local bool is_in = false;
  return is_in;
}

CUresult run_work(const Work& work) {
  if (!work.run) return CUDA_SUCCESS;
  if (!work.is_host_function) return work.run();
  driver_mutex().unlock();
  is_in_host_function() = true;
  const CUresult result = work.run();
  is_in_host_function() = false;
  driver_mutex().lock();
  return result;
}

void enqueue(Stream& stream, Work work) {
  if (stream.is_legacy) refuse_implicit_wait(*stream.context);
  if (stream.capture) return capture_work(stream, std::move(work));
  add_legacy_waits(stream, work);
  work.done->stream = &stream;
  stream.last = work.done;
  stream.queue.push_back(std::move(work));
}

void enqueue_and_wait(Stream& stream, Work work) {
  refuse_while_capturing(stream);
  const auto done = work.done;
  enqueue(stream, std::move(work));
  run_until(done);
}

void wait_for_others() {
  std::unique_lock lock(driver_mutex(), std::adopt_lock);
  stream_progress().wait_until(lock,
                               std::chrono::system_clock::now() + std::chrono::microseconds(100));
  lock.release();
}

bool run_until(const std::shared_ptr<Marker>& marker, bool may_wait) {
  if (!marker || marker->is_done) return true;
  static bool is_ordering = false;
  if (!is_ordering) {
    is_ordering = true;
    run_others(*marker->stream);
    is_ordering = false;
  }
  while (!marker->is_done) {
    if (!step(*marker->stream, may_wait)) return false;
  }
  return true;
}

void drain(Stream& stream) {
  if (stream.last) run_until(stream.last);
}

void drain(Context& context) {
  for (Stream* stream : all_streams()) {
    if (stream->context == &context) drain(*stream);
  }
}

bool is_drained(const Stream& stream) { return !stream.last || stream.last->is_done; }

}  // namespace emulator
