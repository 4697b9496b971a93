#include "plait/compile/inside/running/small_loops.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait::compile {
namespace {

// Bytes of the arrays that the steps of a loop define, and of those among them that are copied in
// each round: carries, slices, and results of branches.
constexpr int64_t kMostBytes = 1 << 19, kMostCopied = 1 << 16;
constexpr int64_t kAlign = 64;

// ---- Loops that can run so.

bool is_known_array(const ir::Type& type, const SymbolMap<int64_t>& sizes) {
  return type.is_array() &&
         std::ranges::all_of(type.shape(), [&](Dim dim) { return is_known(dim, sizes); });
}

// Nothing if they are too many, or if a size is negative, as in loops that do not run.
std::optional<int64_t> few_bytes_of(const ArrayType& type) {
  int64_t bytes = size_of(type.dtype);
  for (const int64_t size : type.sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes <= kMostBytes ? std::optional(quotient_up(bytes, kAlign) * kAlign) : std::nullopt;
}

// True if there is an action for the step (below).
class HasAction {
 public:
  HasAction(const BoundFunction& bound, const PlannedFunction::Loop& loop, uint32_t step)
      : bound_(bound), loop_(loop), step_(step) {}

  bool operator()(const KernelStep&) const { return is_bound(); }
  bool operator()(const PrimitiveStep& kind) const {
    return is_bound() && !kind.keeps_operands && kind.operation.new_sizes.empty();
  }
  bool operator()(const ViewStep&) const { return is_bound(); }
  bool operator()(const ConstantStep&) const { return true; }
  bool operator()(const MoveStep&) const { return true; }
  bool operator()(const BeginScanStep& kind) const { return is_bound() && is_counted(kind.loop); }
  bool operator()(const NextSliceStep& kind) const {
    return is_counted(kind.loop) && is_within(kind.target);
  }
  bool operator()(const PutSliceStep& kind) const { return is_counted(kind.loop); }
  bool operator()(const JumpStep& kind) const { return is_within(kind.target); }
  bool operator()(const BranchStep& kind) const { return is_within(kind.target); }
  bool operator()(const ChooseStep& kind) const {
    return std::ranges::all_of(kind.targets, [&](uint32_t target) { return is_within(target); });
  }
  bool operator()(const DropStep&) const { return true; }
  bool operator()(const auto&) const { return false; }

 private:
  bool is_bound() const { return bound_.steps[step_].has_value(); }
  bool is_within(uint32_t target) const { return target >= loop_.begin && target <= loop_.end; }
  // True if the number of its rounds is known.
  bool is_counted(const ScanLoop& loop) const {
    return is_known(loop.length, bound_.named) && number(loop.length, bound_.named) >= 0;
  }

  const BoundFunction& bound_;
  const PlannedFunction::Loop& loop_;
  const uint32_t step_;
};

bool is_small(const BoundFunction& bound, const PlannedFunction::Loop& loop) {
  int64_t bytes = 0, copied = 0;
  for (uint32_t i = loop.begin; i < loop.end; ++i) {
    const Step& step = bound.function->steps[i];
    if (!std::visit(HasAction(bound, loop, i), step.kind)) return false;
    for (const Register r : step.results) {
      const ir::Type& type = bound.function->registers[r].type;
      if (!is_known_array(type, bound.named)) return false;
      const auto more = few_bytes_of(bound_type(type, bound.named));
      if (!more) return false;
      bytes += *more;
      if (step.is<MoveStep>() || step.is<NextSliceStep>()) copied += *more;
      if (bytes > kMostBytes || copied > kMostCopied) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<bool> small_loops_of(const BoundFunction& bound) {
  std::vector<bool> small;
  for (const PlannedFunction::Loop& loop : bound.function->loops) {
    small.push_back(is_small(bound, loop));
  }
  return small;
}

}  // namespace plait::compile
