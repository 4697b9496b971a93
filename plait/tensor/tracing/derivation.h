// How a tensor came to be, for the levels that want derivatives: a place in the graph of what was
// computed (reverse mode), and tangents (forward mode). Filled in by `transform`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "plait/core/location.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

struct Step;
class Recording;  // transform/inside/derivatives/recording.h

// Counts its owners. The last one lets go of a whole chain without deep recursion.
class StepPtr {
 public:
  StepPtr() = default;
  explicit StepPtr(Step* step) : step_(step) {}
  StepPtr(const StepPtr& other);
  StepPtr(StepPtr&& other) noexcept : step_(std::exchange(other.step_, nullptr)) {}
  StepPtr& operator=(StepPtr other) noexcept {
    std::swap(step_, other.step_);
    return *this;
  }
  ~StepPtr();

  Step* operator->() const { return step_; }
  Step& operator*() const { return *step_; }
  Step* get() const { return step_; }
  explicit operator bool() const { return step_ != nullptr; }

 private:
  Step* step_ = nullptr;
};

// Which result of which step a tensor is, and for which levels that matters.
struct Origin {
  StepPtr step;
  uint32_t result = 0;
  LevelSet levels;

  explicit operator bool() const { return static_cast<bool>(step); }
};

// The tangent that a tensor has at a level of forward mode.
struct TangentOf {
  LevelPtr level;
  Tensor tangent;
};

struct Derivation {
  Origin origin;
  std::vector<std::shared_ptr<TangentOf>> tangents;  // by level, the outer ones first

  bool empty() const { return !origin && tangents.empty(); }
};

// What a tensor wants to know of its cotangent (transform/derivatives/tape.h).
struct Listeners {
  using Hook = std::function<Tensor(const Tensor& cotangent)>;

  std::mutex mutex;
  Tensor gradient;  // of a beginning: all that arrived there
  struct Entry {
    uint64_t number;
    uint32_t result;
    Hook hook;
  };
  std::vector<Entry> hooks;
};

// One thing that was computed, and what its derivative needs.
struct Step {
  // What a rule of a step's own may look at.
  struct Kept {
    std::span<const Tensor> residuals;
    std::span<const Tensor> results;  // those that the step keeps; empty ones for the others
  };
  // The inputs' cotangents from those of the results.
  using Backward =
      std::function<std::vector<Tensor>(std::span<const Tensor> cotangents, const Kept& kept)>;
  // The results' tangents from the inputs', as seen by a level of this number.
  using Forward = std::function<std::vector<Tensor>(std::span<const Tensor> tangents,
                                                    const Kept& kept, uint64_t level)>;

  std::atomic<uint32_t> owners{1};
  uint64_t number = 0;                       // later ones are greater
  const ir::Primitive* primitive = nullptr;  // null: one of `backward`, or a beginning
  ir::Attributes attributes = {};
  Location location = {};  // where it was recorded in a trace
  LevelSet levels = {};
  std::vector<Origin> inputs = {};    // one an operand; empty where nothing is followed
  std::vector<Tensor> operands = {};  // those that rules read
  std::vector<Tensor> results = {};   // those that rules read, without this step as origin
  std::vector<OperandType> operand_types = {};
  std::vector<OperandType> result_types = {};
  Backward backward = {};  // of the cotangents of the inputs, in place of the primitive's rules
  Forward forward = {};    // beside it
  size_t residuals = 0;    // how many of the last operands are such
  // Of many steps, which this one stands for: its operands are the inputs of the recording.
  std::shared_ptr<const Recording> recording = {};
  std::shared_ptr<Listeners> listeners = {};  // null until there is one
  bool is_spent = false;                      // what it kept is gone, or was never there
  uint64_t sketch = 0;                        // in which it was made; 0 in none

  static uint64_t newest_number();
};

// A step with the next number.
StepPtr new_step();

// While one is there, its thread notes what is computed from what, but keeps nothing of it: the
// same will be computed again (transform/inside/derivatives/recording.h). Levels that are opened
// meanwhile are followed as ever besides.
class Sketch {
 public:
  // Whether the results of an operation are kept nevertheless.
  using Keeps =
      std::function<bool(const ir::Primitive& primitive, const ir::Attributes& attributes)>;

  explicit Sketch(Keeps keeps);
  ~Sketch() { end(); }
  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  static const Sketch* current() { return current_; }
  void end();

  uint64_t number() const { return number_; }
  bool keeps(const ir::Primitive& primitive, const ir::Attributes& attributes) const {
    return keeps_(primitive, attributes);
  }
  // Whether all of the levels are older, so that nothing but the sketch needs a step for them: but
  // for what is run again within it for a sweep, which needs it now.
  bool covers(const LevelSet& levels) const {
    const bool is_run_again = LevelResume::depth() > resumes_ && levels.any_is_resumed();
    return levels.greatest() <= newest_level_ && !is_run_again;
  }
  // Whether one of the older levels follows what comes from there.
  bool concerns(const Origin& origin) const {
    return origin && origin.levels.least() <= newest_level_;
  }
  // Whether that was computed within it.
  bool includes(const Origin& origin) const {
    return concerns(origin) && origin.step->sketch == number_;
  }

 private:
  static inline constinit thread_local const Sketch* current_ = nullptr;

  const Keeps keeps_;
  const Sketch* const outer_;
  bool has_ended_ = false;
  const uint64_t number_, newest_level_;
  const int resumes_;  // around it
};

// The tensor without what it is to this level and those further in.
Tensor below(const Tensor& tensor, uint64_t level);
// Without all of it.
Tensor underived(const Tensor& tensor);
// Whether an open level follows one of them.
bool is_followed(const Tensor& tensor);
bool is_followed(std::span<const Tensor> tensors);

// What `apply_all` does for tensors of which some have a derivation. Declared here, defined in
// `transform`.
std::vector<Tensor> apply_following(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes);

// `refined` is the same value as `tensor`, under sizes that were found to be its own.
Tensor follow_refined(const Tensor& tensor, const Tensor& refined);

}  // namespace plait
