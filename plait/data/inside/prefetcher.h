// Work that is done ahead of a consumer: pieces number 0, 1, 2, …, which workers take in this order
// and deliver in any. It has no threads of its own, so those of C++ and of Python both serve.
//
//   worker:    while (const auto number = prefetcher.take()) prefetcher.deliver(…);
//   consumer:  while (prefetcher.wait(time) == Prefetcher::State::ready) use(prefetcher.pop());
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <sys/types.h>

namespace plait::data {

class Prefetcher {
 public:
  static constexpr int64_t kUnknownCount = std::numeric_limits<int64_t>::max();

  struct Options {
    int64_t count = kUnknownCount;  // count of pieces
    int64_t ahead = 1;              // pieces that are taken or ready, but not consumed
    bool in_order = true;           // else the consumer gets whatever is ready
  };
  struct Outcome {
    int64_t number = 0;
    std::shared_ptr<void> value = nullptr;
    std::exception_ptr failure = nullptr;
  };
  enum class State : uint8_t { ready, late, finished };

  static std::shared_ptr<Prefetcher> make(const Options& options);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // For workers. Waits for the next piece that may be worked at; empty if there is none left.
  std::optional<int64_t> take();
  void deliver(Outcome outcome);
  // There are only `count` pieces: a worker has found the end of a source. Further ones that were
  // taken already are ignored when they are delivered.
  void shorten(int64_t count);

  // For the consumer. Waits until a piece is ready, all are consumed, or the time is over.
  State wait(std::chrono::nanoseconds most);
  Outcome pop();  // only when one is ready

  // Ends the work: take() returns nothing from now on, and what is delivered is dropped.
  void cancel();
  bool is_cancelled() const;

 private:
  explicit Prefetcher(const Options& options);
  ~Prefetcher() = default;

  // A fork of the process does not have its threads. What they hold or wait for there is never
  // released: it may be neither locked nor destroyed.
  bool is_forked() const;
  bool may_take() const { return next_ < count_ && next_ - consumed_ < ahead_; }
  bool is_ready() const;

  const int64_t ahead_;
  const bool in_order_;
  const pid_t process_;
  mutable std::mutex mutex_;
  std::condition_variable workers_, consumer_;
  int64_t count_;
  int64_t next_ = 0;      // the piece that is taken next
  int64_t consumed_ = 0;  // the number of pieces that were consumed
  bool is_cancelled_ = false;
  std::map<int64_t, Outcome> ready_;
};

}  // namespace plait::data
