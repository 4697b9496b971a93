// Levels: one for each derivative that is being taken. Levels nest; one opened later is inside the
// earlier ones. A level follows what is computed with its tensors until it closes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "plait/core/ambient.h"

namespace plait {

class Level;
using LevelPtr = std::shared_ptr<const Level>;

class Level {
 public:
  static LevelPtr open();
  // Opens the level of the transposition of a linear map: custom functions of the map are
  // transposed themselves, without their rules, which may call them again.
  static LevelPtr open_transposing();
  // The level of a tape, which follows tensors also where no derivative is wanted.
  static LevelPtr open_of_tape();
  // The level of the default tape (transform/derivatives/tape.h); always open.
  static const LevelPtr& ground();
  explicit Level(uint64_t number, bool transposes = false, bool is_of_tape = false);

  uint64_t number() const { return number_; }
  bool transposes() const { return transposes_; }
  bool is_of_tape() const { return is_of_tape_; }
  // The number of the newest node when it was opened.
  uint64_t opened_after() const { return opened_after_; }
  // False if closed, or paused on this thread.
  bool is_open() const;
  // True if a derivative may still be taken of what is computed now: the level is open, or paused
  // only while a trace records a function, which is differentiated as a whole where it is called.
  bool may_be_differentiated() const;
  bool is_resumed() const;  // by a LevelResume of this thread
  // Permanent: tensors of a closed level are constants.
  void close() const;
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  void at_close(std::function<void()> work) const;  // called by the thread that opened it
  static uint64_t newest();                         // number of the level that was opened last

 private:
  const uint64_t number_;
  const bool transposes_, is_of_tape_;
  mutable std::atomic<bool> closed_{false};
  mutable std::vector<std::function<void()>> at_close_;
  const uint64_t opened_after_;
};

class LevelSet;

// Levels that a thread does not follow although they are open, or follows although they are closed
// or paused. The thread uses the newest one that exists, which begins as a copy of an earlier one.
struct PausedLevels {
  explicit PausedLevels(const PausedLevels* like = ambient.paused_levels);
  ~PausedLevels();
  PausedLevels(const PausedLevels&) = delete;
  PausedLevels& operator=(const PausedLevels&) = delete;

  void pause(const Level& level);

  uint64_t up_to = 0;  // all up to this number
  std::vector<uint64_t> single, resumed;
  mutable const PausedLevels* outer;  // null if it is the oldest one
};

// While one exists, its thread does not follow the levels (all, or some) that were opened before.
class LevelPause {
 public:
  LevelPause();
  explicit LevelPause(const Level& level);
  explicit LevelPause(const LevelSet& levels);

  // While one exists, neither the pause nor what was paused or resumed after it has an effect on
  // its thread.
  class Break {
   public:
    explicit Break(const LevelPause& pause) : outside_(pause.paused_.outer) {}

   private:
    PausedLevels outside_;
  };

 private:
  PausedLevels paused_;
};

// Implements no_grad. A function that is recorded keeps its effect (Trace::value_of).
class NoGrad {
 public:
  NoGrad() { ++ambient.no_grads; }
  ~NoGrad() { --ambient.no_grads; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

  static int depth() { return ambient.no_grads; }  // number of them on this thread

 private:
  LevelPause pause_;
};

// While one exists, its thread follows the level even if it is paused or closed.
class LevelResume {
 public:
  explicit LevelResume(const Level& level);
  ~LevelResume();
  LevelResume(const LevelResume&) = delete;
  LevelResume& operator=(const LevelResume&) = delete;

  static int depth() { return ambient.level_resumes; }  // number of them on this thread

 private:
  PausedLevels paused_;
};

// A set of levels, sorted by number. Cheap to copy: sets share their storage, and most have one
// level.
class LevelSet {
 public:
  LevelSet() = default;
  explicit LevelSet(LevelPtr level);

  bool empty() const { return levels_ == nullptr; }
  bool contains(const Level& level) const;
  uint64_t least() const { return levels_->front()->number(); }
  uint64_t greatest() const { return levels_->back()->number(); }
  // True if the set has another level that is not closed.
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
  LevelSet differentiable_levels() const;
  LevelSet below(uint64_t number) const;

 private:
  using Levels = std::vector<LevelPtr>;
  explicit LevelSet(Levels levels);
  template <class Keep>
  LevelSet filtered(Keep keep) const;

  std::shared_ptr<const Levels> levels_;  // null if empty
};

}  // namespace plait
