#include "plait/compile/inside/running/bound_plan.h"

#include <algorithm>
#include <set>

#include "plait/compile/inside/plans/free_ranges.h"
#include "plait/core/error.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait::compile {
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

ArrayType bound_type(const ir::Type& array, const SymbolMap<int64_t>& sizes) {
  ArrayType bound{.dtype = array.dtype()};
  for (const Dim dim : array.shape()) bound.sizes.push_back(number(dim, sizes));
  return bound;
}

namespace {

bool are_known(std::span<const ir::Type> types, const SymbolMap<int64_t>& sizes) {
  bool known = true;
  for (const ir::Type& type : types) {
    type.for_each_dim([&](Dim dim) { known = known && is_known(dim, sizes); });
  }
  return known;
}
bool are_known(std::span<const Dim> dims, const SymbolMap<int64_t>& sizes) {
  return std::ranges::all_of(dims, [&](Dim dim) { return is_known(dim, sizes); });
}

// ---- True if all sizes of the step are known.

bool has_known_sizes(const KernelStep& step, const SymbolMap<int64_t>& sizes) {
  return are_known(step.results, sizes) && are_known(step.sizes, sizes) &&
         are_known(step.outer, sizes) && is_known(step.columns, sizes);
}
bool has_known_sizes(const Operation& operation, const SymbolMap<int64_t>& sizes) {
  bool known = are_known(operation.results, sizes);
  operation.attributes.for_each_dim([&](Dim dim) { known = known && is_known(dim, sizes); });
  return known;
}
bool has_known_sizes(const BeginScanStep& step, const SymbolMap<int64_t>& sizes) {
  return are_known(step.results, sizes);
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
    const auto* kernel = step.as<KernelStep>();
    if (kernel == nullptr || has_other_views(step)) return false;
    for (const auto& overwrite : kernels_[kernel->kernel].overwrites) {
      if (overwrite.result != result) continue;
      const Register from = step.operands[overwrite.operand], to = step.results[result];
      if (function_.registers[from].storage != Storage::frame) continue;
      if (function_.spans[from].last != at || bytes_of(from) != bytes_of(to)) continue;
      const auto place = busy_.find({at, from});
      if (place == busy_.end()) continue;
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

// The types with numbers for their sizes; -1 for a size that is new_sizes here. Those of values
// that are not arrays are empty.
std::vector<ArrayType> numbers_of(std::span<const ir::Type> types, std::span<const Dim> new_sizes,
                                  const SymbolMap<int64_t>& sizes) {
  std::vector<ArrayType> bound;
  for (const ir::Type& type : types) {
    ArrayType& array = bound.emplace_back();
    if (!type.is_array()) continue;
    array.dtype = type.dtype();
    for (const Dim dim : type.shape()) {
      const bool is_data_dependent =
          std::ranges::find_if(new_sizes, is_same_as(dim)) != new_sizes.end();
      array.sizes.push_back(is_data_dependent ? -1 : number(dim, sizes));
    }
  }
  return bound;
}

// The sizes of the step if all are known.
std::optional<BoundStep> bound_if_known(const Step& step, const SymbolMap<int64_t>& sizes) {
  const auto bound = [&](const auto& kind) -> std::optional<BoundStep> {
    return has_known_sizes(kind, sizes) ? std::optional(bound_step(kind, sizes)) : std::nullopt;
  };
  if (const auto* kernel = step.as<KernelStep>()) return bound(*kernel);
  if (const auto* begin = step.as<BeginScanStep>()) return bound(*begin);
  const Operation* const operation = step.operation();
  return operation != nullptr ? bound(*operation) : std::nullopt;
}

}  // namespace

BoundStep bound_step(const KernelStep& step, const SymbolMap<int64_t>& sizes) {
  BoundStep bound{.types = numbers_of(step.results, {}, sizes)};
  for (const Dim dim : step.sizes) bound.kernel.values.push_back(number(dim, sizes));
  for (const Dim dim : step.outer) bound.kernel.outer.push_back(number(dim, sizes));
  bound.kernel.columns = number(step.columns, sizes);
  return bound;
}

BoundStep bound_step(const Operation& operation, const SymbolMap<int64_t>& sizes) {
  return {.types = numbers_of(operation.results, operation.new_sizes, sizes),
          .attributes =
              operation.attributes.map_sizes([&](Dim dim) { return Dim(number(dim, sizes)); })};
}

BoundStep bound_step(const BeginScanStep& step, const SymbolMap<int64_t>& sizes) {
  return {.types = numbers_of(step.results, {}, sizes)};
}

BoundFunction bound_function(const PlannedFunction& function,
                             std::span<const PlannedKernel> kernels,
                             std::span<const int64_t> sizes) {
  BoundFunction bound{.function = &function, .sizes = {sizes.begin(), sizes.end()}};
  for (size_t i = 0; i < sizes.size(); ++i) bound.named.set(function.size_parameters[i], sizes[i]);
  bound.steps.resize(function.steps.size());
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    bound.steps[i] = bound_if_known(function.steps[i], bound.named);
  }
  FramePlacer(function, kernels, bound).run();
  return bound;
}

}  // namespace plait::compile
