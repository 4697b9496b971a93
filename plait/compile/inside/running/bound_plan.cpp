#include "plait/compile/inside/running/bound_plan.h"

#include <algorithm>
#include <set>

#include "plait/compile/inside/plans/free_ranges.h"
#include "plait/core/error.h"
#include "plait/core/inside/sizes/whole_numbers.h"

namespace plait::compile {
namespace {

int64_t number(Dim dim, const SymbolMap<int64_t>& sizes) {
  return dim.is_number() ? dim.number() : dim.evaluate(sizes);
}

bool is_known(Dim dim, const SymbolMap<int64_t>& sizes) {
  bool known = true;
  if (!dim.is_number()) {
    dim.for_each_symbol([&](Dim symbol) { known = known && sizes.find(symbol) != nullptr; });
  }
  return known;
}

bool is_known(const Step& step, const SymbolMap<int64_t>& sizes) {
  bool known = true;
  const auto visit = [&](Dim dim) { known = known && is_known(dim, sizes); };
  for (const ir::Type& type : step.types) type.for_each_dim(visit);
  step.attributes.for_each_dim(visit);
  for (const Dim dim : step.dims) visit(dim);
  if (step.kind == Step::Kind::kernel) std::ranges::for_each(step.symbols, visit);
  return known;
}

// Goes through the steps in order, and assigns each register an offset in the frame.
class FramePlacer {
 public:
  FramePlacer(const PlannedFunction& function, std::span<const PlannedKernel> kernels,
              BoundFunction& bound)
      : function_(function), kernels_(kernels), bound_(bound) {}

  void run() {
    bound_.offsets.assign(function_.registers.size(), -1);
    for (uint32_t i = 0; i < function_.steps.size(); ++i) {
      while (!busy_.empty() && busy_.begin()->first < i) release();
      const Step& step = function_.steps[i];
      for (size_t k = 0; k < step.results.size(); ++k) {
        const Register r = step.results[k];
        if (function_.registers[r].storage != Storage::frame || bound_.offsets[r] >= 0) continue;
        if (!overwrites(i, k)) place(r);
      }
    }
    bound_.frame_bytes = free_.end();
  }

 private:
  int64_t bytes_of(Register r) const {
    const ir::Type& type = function_.registers[r].type;
    int64_t bytes = size_of(type.dtype());
    for (const Dim dim : type.shape()) bytes *= number(dim, bound_.named);
    return quotient_up(bytes, kFrameAlign) * kFrameAlign;
  }

  void place(Register r) {
    bound_.offsets[r] = free_.take(bytes_of(r));
    busy_.emplace(function_.spans[r].last, r);
  }

  void release() {
    const Register r = busy_.begin()->second;
    free_.give_back(bound_.offsets[r], bytes_of(r));
    busy_.erase(busy_.begin());
  }

  // The result may overwrite an operand that is read last here, unless another operand is a view of
  // the same memory.
  bool overwrites(uint32_t at, size_t result) {
    const Step& step = function_.steps[at];
    if (step.kind != Step::Kind::kernel || has_other_views(step)) return false;
    for (const auto& overwrite : kernels_[step.kernel].overwrites) {
      if (overwrite.result != result) continue;
      const Register from = step.operands[overwrite.operand], to = step.results[result];
      if (function_.registers[from].storage != Storage::frame) return false;
      if (function_.spans[from].last != at || bytes_of(from) != bytes_of(to)) return false;
      const auto place = busy_.find({at, from});
      if (place == busy_.end()) return false;
      busy_.erase(place);
      bound_.offsets[to] = bound_.offsets[from];
      busy_.emplace(function_.spans[to].last, to);
      return true;
    }
    return false;
  }

  bool has_other_views(const Step& step) const {
    return std::ranges::any_of(step.operands, [&](Register r) {
      return function_.registers[r].storage == Storage::through_view;
    });
  }

  const PlannedFunction& function_;
  std::span<const PlannedKernel> kernels_;
  BoundFunction& bound_;
  FreeRanges free_;
  std::set<std::pair<uint32_t, Register>> busy_;  // until which step
};

}  // namespace

BoundStep bound_step(const Step& step, const SymbolMap<int64_t>& sizes) {
  BoundStep bound;
  for (const ir::Type& type : step.types) {
    ArrayType& array = bound.types.emplace_back();
    if (!type.is_array()) continue;
    array.dtype = type.dtype();
    for (const Dim dim : type.shape()) {
      const bool is_born =
          step.kind != Step::Kind::kernel &&
          std::ranges::find_if(step.symbols, is_same_as(dim)) != step.symbols.end();
      array.sizes.push_back(is_born ? -1 : number(dim, sizes));
    }
  }
  bound.attributes = step.attributes.map_sizes([&](Dim dim) { return Dim(number(dim, sizes)); });
  if (step.kind != Step::Kind::kernel) return bound;
  for (const Dim dim : step.dims) bound.kernel.values.push_back(number(dim, sizes));
  bound.kernel.columns = number(step.symbols[0], sizes);
  for (size_t i = 1; i < step.symbols.size(); ++i) {
    bound.kernel.outer.push_back(number(step.symbols[i], sizes));
  }
  return bound;
}

BoundFunction bound_function(const PlannedFunction& function,
                             std::span<const PlannedKernel> kernels,
                             std::span<const int64_t> sizes) {
  BoundFunction bound{.function = &function, .sizes = {sizes.begin(), sizes.end()}};
  for (size_t i = 0; i < sizes.size(); ++i) bound.named.set(function.size_parameters[i], sizes[i]);
  bound.steps.resize(function.steps.size());
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = function.steps[i];
    if (is_known(step, bound.named)) bound.steps[i] = bound_step(step, bound.named);
  }
  FramePlacer(function, kernels, bound).run();
  return bound;
}

}  // namespace plait::compile
