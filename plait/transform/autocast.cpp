#include "plait/transform/autocast.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/inside/derivatives/retrace.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

std::set<std::string> AutocastOptions::default_narrow() {
  return {"matmul", "convolution", "convolution_input_gradient", "convolution_weight_gradient"};
}

std::set<std::string> AutocastOptions::default_wide() {
  return {"exp",
          "exp2",
          "expm1",
          "log",
          "log2",
          "log10",
          "log1p",
          "power",
          "reciprocal",
          "rsqrt",
          "sinh",
          "cosh",
          "tan",
          "asin",
          "acos",
          "erfinv",
          "lgamma",
          "digamma",
          "polygamma",
          "zeta",
          "erfcx",
          "log_ndtr",
          "ndtri",
          "i0",
          "i1",
          "betaln",
          "gammainc",
          "gammaincc",
          "gammainc_grad_a",
          "random_gamma_grad",
          "gamma_density",
          "betainc",
          "betainc_grad_a",
          "betainc_grad_b",
          "beta_density",
          "softmax",
          "log_softmax",
          "standardize",
          "reduce_sum",
          "reduce_product",
          "reduce_squares",
          "cumulative_sum",
          "cumulative_product",
          "cumulative_logsumexp",
          "linear_recurrence"};
}

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
