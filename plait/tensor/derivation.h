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

#include "plait/tensor/level.h"
#include "plait/tensor/rules.h"

namespace plait {

struct Step;

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

// What a tensor wants to know of its cotangent (transform/tape.h).
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
  using Backward = std::function<std::vector<Tensor>(std::span<const Tensor> cotangents)>;

  std::atomic<uint32_t> owners{1};
  uint64_t number = 0;                       // later ones are greater
  const ir::Primitive* primitive = nullptr;  // null: one of `backward`, or a beginning
  ir::Attributes attributes = {};
  LevelSet levels = {};
  std::vector<Origin> inputs = {};    // one an operand; empty where nothing is followed
  std::vector<Tensor> operands = {};  // those that rules read
  std::vector<Tensor> results = {};   // those that rules read, without this step as origin
  std::vector<OperandType> operand_types = {};
  std::vector<OperandType> result_types = {};
  Backward backward = {};  // of the cotangents of the inputs, in place of the primitive's rules
  std::shared_ptr<Listeners> listeners = {};  // null until there is one
  bool is_spent = false;                      // what it kept is gone
};

// A step with the next number.
StepPtr new_step();

// The tensor without what it is to this level and those further in.
Tensor below(const Tensor& tensor, uint64_t level);
// Without all of it.
Tensor underived(const Tensor& tensor);
// Whether an open level follows one of them.
bool is_followed(std::span<const Tensor> tensors);

// What `apply_all` does for tensors of which some have a derivation. Declared here, defined in
// `transform`.
std::vector<Tensor> apply_following(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes);

// `refined` is the same value as `tensor`, under sizes that were found to be its own.
Tensor follow_refined(const Tensor& tensor, const Tensor& refined);

}  // namespace plait
