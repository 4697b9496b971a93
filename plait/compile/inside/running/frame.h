// The frame of a call: the values of its registers, its sizes and loop counters, and the step that
// runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plait/compile/inside/running/bound_plan.h"
#include "plait/compile/inside/running/frame_memory.h"
#include "plait/compile/inside/running/work_memory.h"
#include "plait/ir/value.h"

namespace plait::compile {

class Frame {
 public:
  Frame(std::shared_ptr<const BoundFunction> bound, const ArenaOptions& arena);

  const PlannedFunction& function() const { return *bound_->function; }
  const std::shared_ptr<const BoundFunction>& bound() const { return bound_; }
  // The step that runs; null if all have run.
  const Step* step() const {
    const std::vector<Step>& steps = function().steps;
    return next < steps.size() ? &steps[next] : nullptr;
  }

  // ---- Values.

  ir::Value& value(Register r) { return cells_[function().registers[r].cell]; }
  const ir::Value& value(Register r) const { return cells_[function().registers[r].cell]; }
  // Moved out if nothing reads it later.
  ir::Value operand(const Step& step, size_t i) {
    ir::Value& operand = value(step.operands[i]);
    return step.is_last[i] ? std::move(operand) : operand;
  }
  std::vector<ir::Value> operands(const Step& step);

  // ---- Sizes.

  const SymbolMap<int64_t>& sizes() const { return sizes_; }
  int64_t number(Dim dim) const { return dim.is_number() ? dim.number() : dim.evaluate(sizes_); }
  std::vector<int64_t> numbers(std::span<const Dim> dims) const;
  void set_size(Dim symbol, int64_t value) { sizes_.set(symbol, value); }
  void set_sizes(std::span<const Dim> symbols, std::span<const int64_t> values);  // not negative
  // The sizes of the step that runs. Those that are not known on entry are computed into `late`.
  template <class Kind>
  const BoundStep& bound_sizes(const Kind& kind, BoundStep& late) const {
    if (const auto& known = bound_->steps[next]) return *known;
    late = bound_step(kind, sizes_);
    return late;
  }

  // ---- For later calls with the same sizes.

  void begin() { sizes_ = bound_->named; }
  void clear();  // releases the values

  uint32_t next = 0;  // the number of the step that runs
  std::vector<int64_t> counters;
  std::vector<uint32_t> rounds;  // by loop: those that ran step by step
  FrameMemory memory;
  std::shared_ptr<WorkMemory> work = {};  // memory of the entry

 private:
  std::shared_ptr<const BoundFunction> bound_;
  std::vector<ir::Value> cells_;
  SymbolMap<int64_t> sizes_;
};

}  // namespace plait::compile
