// The table of loops: every kernel, and every kernel of f32 again for each narrow float.
#include "plait/cpu/inside/elementwise/cpu_loops.h"

#include <map>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/ops/inside/primitive_keys.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cpu {
namespace {

class Loops {
 public:
  Loops() {
    const auto levels = static_cast<size_t>(best_cpu_level());
    for (size_t level = 0; level < levels; ++level) add_level(level);
    with_primitive_keys(loops_, &Loop::op, "the elementwise loops of the CPU");
    if (loops_.size() > kMostLoops) {
      throw CompileError("there are {} elementwise loops, more than {}", loops_.size(), kMostLoops);
    }
  }

  const Loop& at(size_t number) const { return loops_[number]; }
  std::optional<size_t> find(std::string_view op, DType dtype) const {
    const auto place = numbers_.find({op, dtype});
    if (place == numbers_.end()) return std::nullopt;
    return place->second;
  }

 private:
  void add_level(size_t level) {
    Kernels kernels;
    kArithmeticKernels[level](kernels);
    kFunctionKernels[level](kernels);
    add_scalar_kernels(kernels);
    add_complex_kernels(kernels);
    NarrowFloats narrow_floats;
    kNarrowFloats[level](narrow_floats);
    for (const Kernel& kernel : kernels) {
      Loop& loop = loop_of(kernel, kernel.dtype, kernel.result);
      loop.run[level] = kernel.run;
    }
    for (const Kernel& kernel : kernels) {
      if (kernel.dtype != DType::f32) continue;
      for (const NarrowFloat& narrow : narrow_floats) add_narrow(kernel, narrow, level);
    }
  }

  void add_narrow(const Kernel& kernel, const NarrowFloat& narrow, size_t level) {
    const auto own = find(kernel.op, narrow.dtype);
    if (own && !loops_[*own].widens) return;  // has its own kernel
    const bool narrows = kernel.result == DType::f32;
    Loop& loop = loop_of(kernel, narrow.dtype, narrows ? narrow.dtype : kernel.result);
    loop.widens = true;
    loop.narrows = narrows;
    loop.run[level] = kernel.run;
    loop.widen[level] = narrow.widen;
    loop.narrow[level] = narrow.narrow;
  }

  // Returns the existing loop, or adds one.
  Loop& loop_of(const Kernel& kernel, DType dtype, DType result) {
    const auto [place, is_new] = numbers_.try_emplace({kernel.op, dtype}, loops_.size());
    if (!is_new) return loops_[place->second];
    Loop loop{.op = kernel.op,
              .dtype = dtype,
              .result = result,
              .arity = kernel.arity,
              .out_size = size_of(result)};
    loop.in_sizes.fill(size_of(dtype));
    if (kernel.op == select_primitive().name) loop.in_sizes[0] = size_of(DType::boolean);
    return loops_.emplace_back(loop);
  }

  std::vector<Loop> loops_;
  std::map<std::pair<std::string_view, DType>, size_t> numbers_;
};

const Loops& loops() {
  static Immortal<Loops> table;
  return *table;
}

}  // namespace

std::optional<size_t> find_loop(std::string_view op, DType dtype) {
  return loops().find(op, dtype);
}
const Loop& loop_at(size_t number) { return loops().at(number); }

}  // namespace plait::cpu
