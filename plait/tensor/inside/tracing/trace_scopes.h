// Scopes that set another trace as the innermost one, or note a part of what is recorded.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

// While one exists, this is its thread's innermost trace; with null, there is none.
class Trace::Instead {
 public:
  explicit Instead(Trace* trace);
  ~Instead();
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  Trace* const inner_;
};

// While one exists, the innermost trace of its thread is the innermost one that does not pause
// these levels, or none. No change if they are paused outside of all traces too.
class Trace::WhereFollowed {
 public:
  explicit WhereFollowed(const LevelSet& levels);
  ~WhereFollowed();
  WhereFollowed(const WhereFollowed&) = delete;
  WhereFollowed& operator=(const WhereFollowed&) = delete;

 private:
  void restore();

  Trace* const inner_;
  std::vector<std::unique_ptr<LevelPause::Break>> breaks_;
};

// Outlines what is recorded while it exists as a function, which is called; not if an exception
// ends it. Values that are used later become results of the function.
class Trace::Part {
 public:
  explicit Part(const std::string& name);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  OpenFunction* const function_;  // null if nothing is outlined
  const int exceptions_;
  ir::Part part_;
};

// Notes the traces that end on its thread between begin() and end().
class EndedTraces {
 public:
  void begin();
  // True if a tensor of one of them, which is invalid now, is still held.
  bool end();
  // True if it is such a tensor.
  bool had(const Tensor& tensor) const;

  void note(std::weak_ptr<const TraceScope> scope) { scopes_.push_back(std::move(scope)); }

 private:
  EndedTraces* outer_ = nullptr;
  std::vector<std::weak_ptr<const TraceScope>> scopes_;
};

}  // namespace plait
