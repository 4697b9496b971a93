#include "plait/optim/transformations/descents.h"

#include "plait/ops/elementwise/elementwise.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/optim/transformations/clipping.h"

namespace plait::optim {
namespace {

Transformation decayed_by(const DecayOptions& decay) {
  return add_decayed_weights(decay.weight_decay, decay.mask);
}

// A transformation, weight decay, and minus the rate.
Transformation descent(const Transformation& first, const DecayOptions& decay,
                       Number learning_rate) {
  return chain(first, decayed_by(decay), scale_by_learning_rate(std::move(learning_rate)));
}
Transformation descent(const Transformation& first, Number learning_rate) {
  return chain(first, scale_by_learning_rate(std::move(learning_rate)));
}

}  // namespace

Transformation sgd(Number learning_rate, const SgdAliasOptions& options) {
  return descent(options.momentum
                     ? trace(*options.momentum, options.nesterov, options.accumulator_dtype)
                     : identity(),
                 std::move(learning_rate));
}

Transformation adam(Number learning_rate, const ScaleByAdamOptions& options) {
  return descent(scale_by_adam(options), std::move(learning_rate));
}

Transformation adamw(Number learning_rate, const AdamwAliasOptions& options) {
  return descent(scale_by_adam({.b1 = options.b1,
                                .b2 = options.b2,
                                .eps = options.eps,
                                .eps_root = options.eps_root,
                                .mu_dtype = options.mu_dtype,
                                .nesterov = options.nesterov}),
                 {.weight_decay = options.weight_decay, .mask = options.mask},
                 std::move(learning_rate));
}

Transformation nadam(Number learning_rate, ScaleByAdamOptions options) {
  options.nesterov = true;
  return adam(std::move(learning_rate), options);
}
Transformation nadamw(Number learning_rate, AdamwAliasOptions options) {
  options.nesterov = true;
  return adamw(std::move(learning_rate), options);
}

Transformation adabelief(Number learning_rate, const ScaleByBeliefOptions& options) {
  return descent(scale_by_belief(options), std::move(learning_rate));
}
Transformation adamax(Number learning_rate, const AdamaxAliasOptions& options) {
  return descent(scale_by_adamax(options.b1, options.b2, options.eps), std::move(learning_rate));
}
Transformation adamaxw(Number learning_rate, const AdamaxAliasOptions& options,
                       const DecayOptions& decay) {
  return descent(scale_by_adamax(options.b1, options.b2, options.eps), decay,
                 std::move(learning_rate));
}
Transformation adan(Number learning_rate, const ScaleByAdanOptions& options,
                    const DecayOptions& decay) {
  return descent(scale_by_adan(options), decay, std::move(learning_rate));
}
Transformation lion(Number learning_rate, const ScaleByLionOptions& options,
                    const DecayOptions& decay) {
  return descent(scale_by_lion(options), decay, std::move(learning_rate));
}
Transformation amsgrad(Number learning_rate, const ScaleByAmsgradOptions& options) {
  return descent(scale_by_amsgrad(options), std::move(learning_rate));
}
Transformation lamb(Number learning_rate, const ScaleByAdamOptions& options,
                    const DecayOptions& decay) {
  return chain(scale_by_adam(options), decayed_by(decay), scale_by_trust_ratio(),
               scale_by_learning_rate(std::move(learning_rate)));
}

Transformation lars(Number learning_rate, const LarsOptions& options) {
  const Transformation ratio = scale_by_trust_ratio(0, options.trust_coefficient, options.eps);
  return chain(add_decayed_weights(options.weight_decay, options.weight_decay_mask),
               options.trust_ratio_mask ? masked(ratio, *options.trust_ratio_mask) : ratio,
               scale_by_learning_rate(std::move(learning_rate)),
               trace(options.momentum, options.nesterov));
}

Transformation noisy_sgd(Number learning_rate, const Tensor& key, Number eta, Number gamma) {
  return descent(add_noise(std::move(eta), std::move(gamma), key), std::move(learning_rate));
}
Transformation sign_sgd(Number learning_rate) {
  return descent(scale_by_sign(), std::move(learning_rate));
}
Transformation signum(Number learning_rate, Number beta, std::optional<DType> accumulator_dtype) {
  return chain(ema(std::move(beta), false, accumulator_dtype), scale_by_sign(),
               scale_by_learning_rate(std::move(learning_rate)));
}
Transformation optimistic_gradient_descent(Number learning_rate, Number alpha, Number beta) {
  return descent(scale_by_optimistic_gradient(std::move(alpha), std::move(beta)),
                 std::move(learning_rate));
}
Transformation optimistic_adam(Number learning_rate, const std::optional<Number>& optimism,
                               const ScaleByAdamOptions& options) {
  const Number beta = optimism.value_or(learning_rate);
  return chain(scale_by_adam(options), scale_by_optimistic_gradient(std::move(learning_rate), beta),
               scale_by_learning_rate(1));
}
Transformation optimistic_adam_v2(Number learning_rate, Number alpha, Number beta,
                                  const ScaleByAdamOptions& options) {
  return chain(scale_by_adam(options),
               scale_by_optimistic_gradient(std::move(alpha), std::move(beta)),
               scale_by_learning_rate(std::move(learning_rate)));
}
Transformation radam(Number learning_rate, const ScaleByRadamOptions& options) {
  return descent(scale_by_radam(options), std::move(learning_rate));
}
Transformation yogi(Number learning_rate, const ScaleByYogiOptions& options) {
  return descent(scale_by_yogi(options), std::move(learning_rate));
}
Transformation polyak_sgd(Number max_learning_rate, Number scaling, Number f_min, Number eps,
                          PolyakVariant variant) {
  return chain(
      sgd(std::move(scaling)),
      scale_by_polyak(std::move(f_min), std::move(max_learning_rate), std::move(eps), variant));
}
Transformation ademamix(Number learning_rate, const ScaleByAdemamixOptions& options,
                        const DecayOptions& decay) {
  return descent(scale_by_ademamix(options), decay, std::move(learning_rate));
}
Transformation simplified_ademamix(Number learning_rate,
                                   const ScaleBySimplifiedAdemamixOptions& options,
                                   const DecayOptions& decay) {
  return descent(scale_by_simplified_ademamix(options), decay, std::move(learning_rate));
}
Transformation acprop(Number learning_rate, const AcpropOptions& options,
                      const DecayOptions& decay) {
  return descent(scale_by_acprop(options.b1, options.b2, options.eps, options.eps_root), decay,
                 std::move(learning_rate));
}

Transformation fromage(Number learning_rate, Number min_norm) {
  const Transformation step = per_parameter(
      {.name = "optim::fromage",
       .numbers = {positive("learning_rate", std::move(learning_rate))},
       .reads_parameters = true,
       .at = [](Tensors& n, const Tensor&,
                const Tensors&) { n["factor"] = 1. / sqrt(1. + square(n["learning_rate"])); },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor& parameter,
              std::span<Tensor>) {
             return (n["factor"] - 1.) * parameter - n["learning_rate"] * n["factor"] * update;
           }});
  return chain(scale_by_trust_ratio(std::move(min_norm)), step);
}

Transformation adopt(Number learning_rate, const ScaleByAdoptOptions& options) {
  return descent(scale_by_adopt(options), std::move(learning_rate));
}
Transformation dpsgd(Number learning_rate, Number l2_norm_clip, Number noise_multiplier,
                     const Tensor& key, const SgdAliasOptions& options) {
  return chain(
      differentially_private_aggregate(std::move(l2_norm_clip), std::move(noise_multiplier), key),
      sgd(std::move(learning_rate), options));
}

Transformation adadelta(std::optional<Number> learning_rate, Number rho, Number eps,
                        const DecayOptions& decay) {
  return chain(decayed_by(decay), scale_by_adadelta(std::move(rho), std::move(eps)),
               scale_by_learning_rate(std::move(learning_rate)));
}
Transformation adagrad(Number learning_rate, Number initial_accumulator_value, Number eps) {
  return descent(scale_by_rss(std::move(initial_accumulator_value), std::move(eps)),
                 std::move(learning_rate));
}
Transformation novograd(Number learning_rate, const ScaleByNovogradOptions& options) {
  return descent(scale_by_novograd(options), std::move(learning_rate));
}
Transformation sm3(Number learning_rate, Number momentum) {
  return descent(scale_by_sm3(std::move(momentum)), std::move(learning_rate));
}
Transformation rprop(Number learning_rate, const ScaleByRpropOptions& options) {
  return chain(scale_by_rprop(std::move(learning_rate), options), scale(-1));
}
Transformation madgrad(Number learning_rate, Number momentum, Number weight_decay, Number eps) {
  return chain(add_decayed_weights(std::move(weight_decay)),
               scale_by_madgrad(std::move(learning_rate), std::move(momentum), std::move(eps)));
}
Transformation cocob(Number learning_rate, Number alpha, Number eps, const DecayOptions& decay) {
  return chain(decayed_by(decay), scale_by_learning_rate(std::move(learning_rate), false),
               scale_by_cocob(std::move(alpha), std::move(eps)));
}

Transformation rmsprop(Number learning_rate, const RmspropOptions& options) {
  const ScaleByRmsOptions squares{.decay = options.decay,
                                  .eps = options.eps,
                                  .initial_scale = options.initial_scale,
                                  .eps_in_sqrt = options.eps_in_sqrt,
                                  .bias_correction = options.bias_correction};
  return chain(options.centered ? scale_by_stddev(squares) : scale_by_rms(squares),
               scale_by_learning_rate(std::move(learning_rate)),
               options.momentum ? trace(*options.momentum, options.nesterov) : identity());
}

Transformation adafactor(std::optional<Number> learning_rate,
                         const AdafactorAliasOptions& options) {
  std::vector<Transformation> parts{
      scale_by_factored_rms({.factored = options.factored,
                             .decay_rate = options.decay_rate,
                             .step_offset = options.decay_offset,
                             .min_dim_size_to_factor = options.min_dim_size_to_factor,
                             .epsilon = options.eps})};
  if (options.clipping_threshold) parts.push_back(clip_by_block_rms(*options.clipping_threshold));
  if (learning_rate) parts.push_back(scale_by_learning_rate(std::move(learning_rate), false));
  if (options.multiply_by_parameter_scale) parts.push_back(scale_by_param_block_rms());
  if (options.momentum) parts.push_back(ema(*options.momentum, false, options.dtype_momentum));
  if (options.weight_decay_rate) {
    parts.push_back(add_decayed_weights(*options.weight_decay_rate, options.weight_decay_mask));
  }
  parts.push_back(scale(-1));
  return chain(std::move(parts));
}

}  // namespace plait::optim
