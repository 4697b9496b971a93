// One parallel call, as seen by the thread team. Internal to plait/core/system/thread_team.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "plait/core/function_ref.h"

namespace plait {

class LoopContext;

// Keeps the exception of the lowest chunk that threw.
class FirstFailure {
 public:
  void note(int64_t chunk, std::exception_ptr exception) {
    while (busy_.test_and_set(std::memory_order_acquire)) busy_.wait(true);
    if (chunk < chunk_) {
      chunk_ = chunk;
      exception_ = std::move(exception);
    }
    busy_.clear(std::memory_order_release);
    busy_.notify_one();
  }
  // Only when no thread can call note() any more.
  std::exception_ptr take() { return std::move(exception_); }

 private:
  std::atomic_flag busy_;
  int64_t chunk_ = std::numeric_limits<int64_t>::max();
  std::exception_ptr exception_;
};

// Lives on the caller's stack during its call.
struct Job {
  FunctionRef<void(int64_t)> body;
  int64_t chunks;
  int helpers;                     // maximum number of workers that take part
  bool nests;                      // true if calls inside the body may use other threads
  LoopContext* context = nullptr;  // context of the caller
  bool flushes_denormals = false;  // for the caller
  int slot = -1;                   // index of the slot where it is published
  Job* outer = nullptr;            // the enclosing parallel call of this thread
  FirstFailure failure = {};
  bool lost_chunks = false;  // true if a fork removed helpers that were working
};

// Publishes a job to the workers. Slots are never freed, so a late worker finds a slot that is
// empty or has another job: both are safe. The whole shared state is one word:
//   unclaimed chunks (32 bits) | openings for helpers (16) | helpers inside (16)
// A thread that has claimed a chunk, or is inside, keeps the job alive: its owner waits for it.
class alignas(64) JobSlot {
 public:
  struct Claim {
    Job* job;
    int64_t chunk;
    int thread_index;
  };

  static constexpr int64_t kMaxChunks = (int64_t{1} << 32) - 1;

  void open(Job& job) {
    job_.store(&job, std::memory_order_relaxed);
    word_.store(static_cast<uint64_t>(job.chunks) + static_cast<uint64_t>(job.helpers) * kOpening,
                std::memory_order_release);
  }

  bool has_opening() const { return is_joinable(word_.load(std::memory_order_acquire)); }

  // A helper enters and claims its first chunk.
  std::optional<Claim> join() {
    uint64_t word = word_.load(std::memory_order_acquire);
    while (is_joinable(word)) {
      if (word_.compare_exchange_weak(word, word - kChunk - kOpening + kInside,
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
        Job* job = job_.load(std::memory_order_relaxed);
        const int thread_index = job->helpers - static_cast<int>(openings_in(word)) + 1;
        return Claim{job, job->chunks - unbegun_in(word), thread_index};
      }
    }
    return std::nullopt;
  }

  // Claims the next chunk, for a thread that keeps the job alive; chunks are claimed in ascending
  // order.
  std::optional<int64_t> claim(const Job& job) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while (unbegun_in(word) > 0) {
      if (word_.compare_exchange_weak(word, word - kChunk, std::memory_order_relaxed)) {
        return job.chunks - unbegun_in(word);
      }
    }
    return std::nullopt;
  }

  void skip_the_rest() { word_.fetch_and(~kChunksMask, std::memory_order_relaxed); }

  // A helper that found no further chunk leaves. The job may be gone immediately; the slot is not.
  void leave() {
    const uint64_t before = word_.fetch_sub(kInside, std::memory_order_acq_rel);
    if (inside_in(before) > 1) return;
    departures_.fetch_add(1, std::memory_order_seq_cst);
    departures_.notify_all();
  }

  // For the owner, after the last chunk was claimed.
  bool is_left() const { return inside_in(word_.load(std::memory_order_seq_cst)) == 0; }
  void wait_until_left() const {
    for (;;) {
      const uint32_t departures = departures_.load(std::memory_order_seq_cst);
      if (is_left()) return;
      departures_.wait(departures);
    }
  }

  // For a forked child, which has none of the helpers. True if one of them was working.
  bool forget_helpers() {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    const bool lost = inside_in(word) > 0;
    word_.store(lost ? 0 : word & kChunksMask, std::memory_order_relaxed);
    return lost;
  }
  void clear() { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kChunk = 1, kOpening = uint64_t{1} << 32, kInside = uint64_t{1} << 48;
  static constexpr uint64_t kChunksMask = kOpening - 1;

  static int64_t unbegun_in(uint64_t word) { return static_cast<int64_t>(word & kChunksMask); }
  static uint64_t openings_in(uint64_t word) { return (word & (kInside - 1)) / kOpening; }
  static uint64_t inside_in(uint64_t word) { return word / kInside; }
  static bool is_joinable(uint64_t word) { return unbegun_in(word) > 0 && openings_in(word) > 0; }

  std::atomic<uint64_t> word_ = 0;
  std::atomic<Job*> job_ = nullptr;
  std::atomic<uint32_t> departures_ = 0;  // changes whenever the last helper inside leaves
};

}  // namespace plait
