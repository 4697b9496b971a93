// Mixed precision: products in a narrow dtype, sums and exponentials in a wide one.
//
//   auto fast = autocast(loss_of);                        // bf16 where it is safe
//   auto [loss, gradients] = value_and_grad(fast)(model, batch);
//   ir::Program narrow = autocast(program, {.dtype = DType::f16});
#pragma once

#include <set>
#include <string>
#include <utility>

#include "plait/core/transformed.h"
#include "plait/core/trees/tree.h"
#include "plait/ir/program.h"
#include "plait/tensor/autocast_policy.h"

namespace plait {

struct AutocastOptions {
  DType dtype = DType::bf16;  // or f16; stored arrays keep their dtype
  // Names of the primitives whose f32 operands are rounded to `dtype`, and of those whose narrow
  // operands are widened to f32. All other primitives run in the dtype of their operands, in f32
  // where narrow and f32 operands are mixed. By default those that say so where they are declared
  // (ir::Numerics::precision).
  std::set<std::string> narrow = default_narrow();
  std::set<std::string> wide = default_wide();

  static std::set<std::string> default_narrow();
  static std::set<std::string> default_wide();
};

// Applies autocast on this thread while the object exists. Explicit casts by the user are kept.
class Autocast : public AutocastScope {
 public:
  explicit Autocast(AutocastOptions options = {});

 private:
  static std::vector<Tensor> cast(const AutocastScope& scope, const ir::Primitive& primitive,
                                  std::span<const Tensor> operands);
  AutocastOptions options_;
};

template <class F>
auto autocast(F f, AutocastOptions options = {}) {
  return transformed(std::move(f),
                     [options = std::move(options)](const F& function, const auto&... arguments) {
                       const Autocast scope(options);
                       return function(arguments...);
                     });
}
ir::Program autocast(const ir::Program& program, const AutocastOptions& options = {});

// Loss scaling: without it, small gradients underflow in f16.
//
//   auto loss = scale.scaled(loss_of(model, batch));
//   if (auto gradients = scale.unscaled(scaled_gradients)) model = step(model, *gradients);
class LossScale {
 public:
  explicit LossScale(double scale = 65536, int64_t growth_interval = 2000)
      : scale_(scale), growth_interval_(growth_interval) {}

  double scale() const { return scale_; }
  Tensor scaled(const Tensor& loss) const;
  // Returns the gradients, or nothing if one is not finite: then the scale is halved, and the
  // caller should skip the step. After `growth_interval` good steps the scale is doubled.
  template <class Tree>
  std::optional<Tree> unscaled(Tree gradients) {
    if (!note(tensors_of(gradients))) return std::nullopt;
    return map_leaves(std::move(gradients),
                      [divisor = divisor_](const Tensor& leaf) { return unscaled(leaf, divisor); });
  }

 private:
  bool note(const std::vector<Tensor>& gradients);
  static Tensor unscaled(const Tensor& gradient, double divisor);

  double scale_, divisor_ = 1;
  int64_t growth_interval_, good_steps_ = 0;
};

}  // namespace plait
