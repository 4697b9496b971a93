// How a tensor came to be, for the levels that want derivatives: a place in the graph of what was
// computed (reverse mode), and tangents (forward mode). Filled in by `transform`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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
  bool is_spent = false;   // what it kept is gone
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
