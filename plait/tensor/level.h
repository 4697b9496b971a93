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
  // Of tensors that asked for gradients with no other level about (transform/tape.h); always open.
  static const LevelPtr& ground();
  explicit Level(uint64_t number) : number_(number) {}

  uint64_t number() const { return number_; }
  // On this thread, which may have paused it.
  bool is_open() const;
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

// While one is there, its thread follows nothing for the levels that were opened before, or for one
// of them.
class LevelPause {
 public:
  LevelPause();
  explicit LevelPause(const Level& level);
  ~LevelPause();
  LevelPause(const LevelPause&) = delete;
  LevelPause& operator=(const LevelPause&) = delete;

 private:
  uint64_t earlier_up_to_;
  bool is_of_one_;
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
  // Whether another one of them may still ask.
  bool has_unclosed_besides(const Level& level) const;
  LevelSet with(const LevelSet& others) const;
  template <class Visit>
  void for_each(Visit visit) const {
    if (levels_) std::for_each(levels_->begin(), levels_->end(), visit);
  }
  LevelSet still_open() const;
  LevelSet below(uint64_t number) const;

 private:
  using Levels = std::vector<LevelPtr>;
  explicit LevelSet(Levels levels);
  template <class Keep>
  LevelSet filtered(Keep keep) const;

  std::shared_ptr<const Levels> levels_;  // null for none
};

}  // namespace plait
