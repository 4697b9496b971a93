#include "plait/tensor/tracing/derivation.h"

#include <algorithm>

namespace plait {
namespace {

std::atomic<uint64_t> newest_step{0}, newest_sketch{0};

// Steps without owners, which an outer call of this thread frees one by one.
struct Unowned {
  bool is_being_freed = false;
  std::vector<Step*> steps;
};
thread_local Unowned unowned;

void free_with_all_below(Step* step) {
  unowned.steps.push_back(step);
  if (unowned.is_being_freed) return;
  unowned.is_being_freed = true;
  while (!unowned.steps.empty()) {
    Step* const next = unowned.steps.back();
    unowned.steps.pop_back();
    delete next;
  }
  unowned.is_being_freed = false;
}

}  // namespace

StepPtr::StepPtr(const StepPtr& other) : step_(other.step_) {
  if (step_) step_->owners.fetch_add(1, std::memory_order_relaxed);
}

StepPtr::~StepPtr() {
  if (step_ && release_owner(step_->owners)) free_with_all_below(step_);
}

uint64_t Step::newest_number() { return newest_step.load(); }

StepPtr new_step() {
  auto step = std::make_unique<Step>();
  step->number = ++newest_step;
  if (const Sketch* sketch = Sketch::current()) step->sketch = sketch->number();
  return StepPtr(step.release());
}

Sketch::Sketch(Keeps keeps)
    : keeps_(std::move(keeps)),
      outer_(ambient.sketch),
      number_(++newest_sketch),
      newest_level_(std::max(Level::ground()->number(), Level::newest())),
      resumes_(LevelResume::depth()) {
  ambient.sketch = this;
}

void Sketch::end() {
  if (!has_ended_) ambient.sketch = outer_;
  has_ended_ = true;
}

Tensor below(const Tensor& tensor, uint64_t level) {
  if (!tensor || !tensor.derivation()) return tensor;
  const Derivation& all = *tensor.derivation();
  Derivation kept;
  if (all.origin) {
    kept.origin = {{}, all.origin.result, all.origin.levels.below(level)};
    if (!kept.origin.levels.empty()) kept.origin.step = all.origin.step;
  }
  std::ranges::copy_if(all.tangents, std::back_inserter(kept.tangents),
                       [&](const auto& each) { return each->level->number() < level; });
  if (kept.empty()) return underived(tensor);
  return tensor.with_derivation(std::make_shared<const Derivation>(std::move(kept)));
}

Tensor underived(const Tensor& tensor) {
  return tensor && tensor.derivation() ? tensor.with_derivation(nullptr) : tensor;
}

bool is_followed(const Tensor& tensor) {
  if (!tensor.derivation()) return false;
  const Derivation& derivation = *tensor.derivation();
  return (derivation.origin && !derivation.origin.levels.still_open().empty()) ||
         std::ranges::any_of(derivation.tangents,
                             [](const auto& each) { return each->level->is_open(); });
}

bool is_followed(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) { return is_followed(tensor); });
}

}  // namespace plait
