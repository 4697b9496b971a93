#include "plait/transform/autocast.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/register_all.h"
#include "plait/transform/inside/derivatives/retrace.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

namespace {

// The names of the primitives whose declarations say so. They are collected again when there are
// more primitives.
std::set<std::string> named(ir::Precision precision) {
  register_all();
  std::set<std::string> names;
  for (const ir::Primitive* primitive : ir::primitives()) {
    if (primitive->numerics.precision == precision) names.insert(primitive->name);
  }
  return names;
}

const std::set<std::string>& known(ir::Precision precision) {
  struct Names {
    size_t count = 0;
    std::set<std::string> narrow, wide;
  };
  static thread_local Names names;
  if (const size_t count = ir::primitive_count(); names.count != count || count == 0) {
    names.narrow = named(ir::Precision::narrow);
    names.wide = named(ir::Precision::wide);
    names.count = ir::primitive_count();
  }
  return precision == ir::Precision::narrow ? names.narrow : names.wide;
}

}  // namespace

std::set<std::string> AutocastOptions::default_narrow() { return known(ir::Precision::narrow); }
std::set<std::string> AutocastOptions::default_wide() { return known(ir::Precision::wide); }

Autocast::Autocast(AutocastOptions options)
    : AutocastScope(&Autocast::cast), options_(std::move(options)) {
  if (options_.dtype != DType::bf16 && options_.dtype != DType::f16) {
    throw TypeError("autocast: the dtype is {}, expected bf16 or f16", name_of(options_.dtype))
        .at(Location::of_caller());
  }
}

std::vector<Tensor> Autocast::cast(const AutocastScope& scope, const ir::Primitive& primitive,
                                   std::span<const Tensor> operands) {
  const AutocastOptions& options = static_cast<const Autocast&>(scope).options_;
  const bool narrows = options.narrow.contains(primitive.name);
  const bool widens = !narrows && options.wide.contains(primitive.name);
  std::vector<Tensor> cast(operands.begin(), operands.end());
  bool is_mixed = false;
  for (const Tensor& operand : cast) is_mixed = is_mixed || operand.dtype() == DType::f32;
  for (Tensor& operand : cast) {
    const DType dtype = operand.dtype();
    if (narrows && dtype == DType::f32) operand = astype(operand, options.dtype);
    // A narrow value is combined with a wide one.
    const bool is_narrow = dtype == DType::bf16 || dtype == DType::f16;
    if (is_narrow && (widens || (is_mixed && !narrows))) operand = astype(operand, DType::f32);
  }
  return cast;
}

ir::Program autocast(const ir::Program& program, const AutocastOptions& options) {
  const ir::Function& function = program.entry();
  Retrace retrace(function, function.name());
  const Autocast scope(options);
  std::vector<Tensor> results = run_function(program, function, retrace.parameters);
  // The results keep their declared dtypes.
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = astype(results[i], function.signature().results[i].dtype());
  }
  return retrace.finish(results);
}

Tensor LossScale::scaled(const Tensor& loss) const { return loss * scale_; }

bool LossScale::note(const std::vector<Tensor>& gradients) {
  divisor_ = scale_;
  for (const Tensor& gradient : gradients) {
    if (!gradient || all(isfinite(gradient)).item<bool>()) continue;
    scale_ /= 2;
    good_steps_ = 0;
    return false;
  }
  if (++good_steps_ == growth_interval_) {
    scale_ *= 2;
    good_steps_ = 0;
  }
  return true;
}

Tensor LossScale::unscaled(const Tensor& gradient, double divisor) {
  return gradient ? gradient / divisor : gradient;
}

}  // namespace plait
