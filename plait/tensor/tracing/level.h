// Derivatives that are being taken. Each opens a level; levels nest, and one opened later is
// further in. What is computed with tensors of a level is followed for it until the level closes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace plait {

class Level;
using LevelPtr = std::shared_ptr<const Level>;

class Level {
 public:
  static LevelPtr open();
  // Of tensors that asked for gradients with no other level about (transform/derivatives/tape.h);
  // always open.
  static const LevelPtr& ground();
  explicit Level(uint64_t number) : number_(number) {}

  uint64_t number() const { return number_; }
  // On this thread, which may have paused it.
  bool is_open() const;
  // Derivatives may still go through what is computed now: it is open, or paused only while a trace
  // records a function, which is followed as a whole where it is used.
  bool may_ask() const;
  bool is_resumed() const;  // by a LevelResume of this thread
  // For good: what is still of the level counts as constant from here on.
  void close() const;
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  void at_close(std::function<void()> work) const;  // from the thread that opened it
  static uint64_t newest();                         // the number of the level that was opened last

 private:
  const uint64_t number_;
  mutable std::atomic<bool> closed_{false};
  mutable std::vector<std::function<void()>> at_close_;
};

class LevelSet;

// Which levels a thread does not follow although they are open, or follows although they are not.
struct PausedLevels {
  uint64_t up_to = 0;  // all until here
  std::vector<uint64_t> single = {};
  std::vector<uint64_t> resumed = {};
};

// While one is there, its thread follows nothing for the levels that were opened before, or for
// some of them.
class LevelPause {
 public:
  LevelPause();
  explicit LevelPause(const Level& level);
  explicit LevelPause(const LevelSet& levels);
  ~LevelPause();
  LevelPause(const LevelPause&) = delete;
  LevelPause& operator=(const LevelPause&) = delete;

  // While one is there, its thread follows what it followed before the pause.
  class Break {
   public:
    explicit Break(LevelPause& pause);
    ~Break();
    Break(const Break&) = delete;
    Break& operator=(const Break&) = delete;

   private:
    LevelPause& pause_;
  };

 private:
  PausedLevels earlier_;
};

// A pause that users ask for: functions that are recorded keep it (Trace::value_of).
class NoGrad {
 public:
  NoGrad() { ++depth_; }
  ~NoGrad() { --depth_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

  static int depth() { return depth_; }  // how many there are on this thread

 private:
  static inline constinit thread_local int depth_ = 0;
  LevelPause pause_;
};

// While one is there, its thread follows the level, which may be paused or closed.
class LevelResume {
 public:
  explicit LevelResume(const Level& level);
  ~LevelResume();
  LevelResume(const LevelResume&) = delete;
  LevelResume& operator=(const LevelResume&) = delete;

  static int depth() { return depth_; }  // how many there are on this thread

 private:
  static inline constinit thread_local int depth_ = 0;
  PausedLevels earlier_;
};

// Some levels, in the order of their numbers. Cheap to copy; mostly one, or the same as another
// set.
class LevelSet {
 public:
  LevelSet() = default;
  explicit LevelSet(LevelPtr level);

  bool empty() const { return levels_ == nullptr; }
  bool contains(const Level& level) const;
  uint64_t least() const { return levels_->front()->number(); }
  uint64_t greatest() const { return levels_->back()->number(); }
  // Whether another one of them may still ask.
  bool has_unclosed_besides(const Level& level) const;
  LevelSet with(const LevelSet& others) const;
  LevelSet without(const LevelSet& others) const;
  template <class Visit>
  void for_each(Visit visit) const {
    if (levels_) std::for_each(levels_->begin(), levels_->end(), visit);
  }
  bool are_open() const;  // all of them
  bool any_is_resumed() const;
  LevelSet still_open() const;
  LevelSet that_may_ask() const;
  LevelSet below(uint64_t number) const;

 private:
  using Levels = std::vector<LevelPtr>;
  explicit LevelSet(Levels levels);
  template <class Keep>
  LevelSet filtered(Keep keep) const;

  std::shared_ptr<const Levels> levels_;  // null for none
};

}  // namespace plait
