// Wakes the threads of a process that wait for what other processes write to shared memory.
//
//   writer:  counter.store(n); bell.ring();
//   reader:  const Doorbell::Sleeper sleeper(bell);
//            if (counter.load() < n) sleeper.sleep(time);      // then looks again
//
// Counters are stored and loaded in sequential consistency: so either the reader sees the counter,
// or the writer sees the reader.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include <sys/types.h>

#include "plait/comm/inside/local/shared_memory.h"

namespace plait::dist {

class Doorbell {
 public:
  // In shared memory.
  struct Words {
    std::atomic<uint32_t> sleepers{0};
    std::atomic<uint32_t> rings{0};
  };

  // That of this process, which is made when it is first asked for.
  static std::shared_ptr<const Doorbell> own();
  // That of another process, which DoorbellPlace says.
  static std::shared_ptr<const Doorbell> of(pid_t process, int descriptor);

  explicit Doorbell(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}

  int descriptor() const { return memory_->descriptor(); }
  // A load where no thread sleeps.
  void ring() const {
    if (words().sleepers.load() != 0) wake();
  }

  class Sleeper {
   public:
    explicit Sleeper(const Doorbell& bell) : words_(bell.words()) {
      words_.sleepers.fetch_add(1);
      seen_ = words_.rings.load();
    }
    ~Sleeper() { words_.sleepers.fetch_sub(1); }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    // Returns when the bell has rung since the sleeper was made, or after the time, or early.
    void sleep(std::chrono::microseconds most) const;

   private:
    Words& words_;
    uint32_t seen_;
  };

 private:
  Words& words() const { return *reinterpret_cast<Words*>(memory_->data()); }
  void wake() const;

  std::shared_ptr<SharedMemory> memory_;
};

}  // namespace plait::dist
