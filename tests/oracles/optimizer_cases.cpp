#include "tests/oracles/optimizer_cases.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "plait/io/npz.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/adam.h"
#include "plait/optim/optimizers/adam_variants.h"
#include "plait/optim/optimizers/adaptive_optimizers.h"
#include "plait/optim/optimizers/lbfgs_optimizer.h"
#include "plait/optim/schedules/lr_scheduler.h"
#include "plait/optim/sgd.h"
#include "plait/optim/transformations/clipping.h"
#include "plait/optim/transformations/conditions.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/galore.h"
#include "plait/optim/transformations/linesearch.h"
#include "plait/optim/transformations/matrices.h"
#include "plait/optim/transformations/parameter_free.h"
#include "plait/optim/transformations/wrappers.h"
#include "plait/transform/jit.h"

#include "tests/oracles/layer_cases.h"

namespace plait {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace): most names below are its

constexpr int64_t kSteps = 200;
// ---- The bowl

class Bowl {
 public:
  explicit Bowl(const std::map<std::string, Array>& arrays) {
    for (const auto& [name, array] : arrays) {
      const size_t dot = name.find('.');
      parts_[name.substr(0, dot)][name.substr(dot + 1)] = Tensor(array);
    }
  }
  Tensors start(bool with_complex) const {
    Tensors made = parts_.at("start");
    if (!with_complex) made.erase("complex");
    return made;
  }
  Tensors gradient(const Tensors& at, int64_t step) const {
    Tensors made;
    for (const auto& [name, value] : at) {
      made[name] = get("curvature", name) * (value - get("target", name)) +
                   0.1 * value * value * value + get("noise", name)[step];
    }
    return made;
  }
  // Without the noise; of real parameters.
  Tensor loss(const Tensors& at) const {
    Tensor total = zeros({}, kF64);
    for (const auto& [name, value] : at) {
      total = total + sum(get("curvature", name) * square(value - get("target", name)) / 2. +
                          0.025 * square(square(value)));
    }
    return total;
  }

 private:
  const Tensor& get(const std::string& part, const std::string& name) const {
    return parts_.at(part).at(name);
  }
  std::map<std::string, Tensors> parts_;
};

// ---- Optimizers with PyTorch's formulas

using OptimizerCases = std::map<std::string, OptimizerSettings>;

OptimizerCases descent_cases() {
  return {
      {"sgd", settings_of(SGDOptions{.lr = 0.01})},
      {"sgd_momentum", settings_of(SGDOptions{.lr = 0.01, .momentum = 0.9})},
      {"sgd_dampening", settings_of(SGDOptions{.lr = 0.01, .momentum = 0.9, .dampening = 0.5})},
      {"sgd_decay", settings_of(SGDOptions{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1})},
      {"sgd_nesterov",
       settings_of(SGDOptions{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true})},
      {"sgd_maximize", settings_of(SGDOptions{.lr = 1e-3, .weight_decay = 0.9, .maximize = true})},
      {"sgd_groups",
       settings_of(SGDOptions{
           .lr = 0.01,
           .groups = {{{"v*r", "number"}, {{"momentum", 0.9}, {"weight_decay", 0.1}}}}})},
      {"asgd", settings_of(ASGDOptions{})},
      {"asgd_averaged", settings_of(ASGDOptions{.lr = 0.02, .lambd = 0.1, .t0 = 100})},
      {"asgd_decay", settings_of(ASGDOptions{.weight_decay = 0.1, .maximize = true})},
      {"rprop", settings_of(RpropOptions{})},
      {"rprop_etas",
       settings_of(RpropOptions{.lr = 2e-4, .etas = {0.4, 1.1}, .step_sizes = {2e-6, 10.}})},
      {"rprop_maximize", settings_of(RpropOptions{.maximize = true})},
  };
}

OptimizerCases adam_cases() {
  return {
      {"adam", settings_of(AdamOptions{})},
      {"adam_betas", settings_of(AdamOptions{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.9})},
      {"adam_decay", settings_of(AdamOptions{.weight_decay = 0.1})},
      {"adam_amsgrad", settings_of(AdamOptions{.lr = 0.01, .weight_decay = 0.1, .amsgrad = true})},
      {"adam_maximize", settings_of(AdamOptions{.weight_decay = 0.1, .maximize = true})},
      {"adam_decoupled",
       settings_of(AdamOptions{.lr = 0.01, .weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"adam_groups", settings_of(AdamOptions{
                          .groups = {{{"v*r", "number"}, {{"lr", 0.01}}, {{"amsgrad", true}}}}})},
      {"adamw", settings_of(AdamWOptions{})},
      {"adamw_amsgrad",
       settings_of(AdamWOptions{.lr = 0.01, .weight_decay = 0.9, .amsgrad = true})},
      {"adamax", settings_of(AdamaxOptions{})},
      {"adamax_decay",
       settings_of(AdamaxOptions{.lr = 0.01, .weight_decay = 0.1, .maximize = true})},
      {"nadam", settings_of(NAdamOptions{})},
      {"nadam_decay",
       settings_of(NAdamOptions{.lr = 1e-3, .weight_decay = 0.1, .momentum_decay = 6e-3})},
      {"nadam_decoupled",
       settings_of(NAdamOptions{.weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"radam", settings_of(RAdamOptions{})},
      {"radam_betas", settings_of(RAdamOptions{.lr = 0.01, .beta1 = 0.5, .beta2 = 0.9})},
      {"radam_decoupled",
       settings_of(RAdamOptions{.lr = 2e-3, .weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"sparse_adam", settings_of(SparseAdamOptions{.lr = 0.01})},
  };
}

OptimizerCases adaptive_cases() {
  return {
      {"adagrad", settings_of(AdagradOptions{})},
      {"adagrad_decay",
       settings_of(AdagradOptions{
           .lr = 0.1, .lr_decay = 0.5, .weight_decay = 0.1, .initial_accumulator_value = 0.1})},
      {"adagrad_maximize", settings_of(AdagradOptions{.maximize = true})},
      {"adadelta", settings_of(AdadeltaOptions{})},
      {"adadelta_decay",
       settings_of(AdadeltaOptions{.rho = 0.95, .weight_decay = 0.9, .maximize = true})},
      {"rmsprop", settings_of(RMSpropOptions{})},
      {"rmsprop_centered",
       settings_of(RMSpropOptions{.lr = 1e-3, .weight_decay = 0.1, .centered = true})},
      {"rmsprop_momentum",
       settings_of(RMSpropOptions{
           .lr = 1e-3, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.1, .centered = true})},
      {"rmsprop_maximize", settings_of(RMSpropOptions{.momentum = 0.5, .maximize = true})},
      {"adafactor", settings_of(AdafactorOptions{})},
      {"adafactor_decay",
       settings_of(AdafactorOptions{
           .beta2_decay = -0.6, .eps1 = 1e-10, .eps2 = 1e-2, .d = 1.5, .weight_decay = 0.1})},
      {"muon", settings_of(MuonOptions{.ns_dtype = kF64})},
      {"muon_rates", settings_of(MuonOptions{.lr = 0.01,
                                             .weight_decay = 0,
                                             .nesterov = false,
                                             .adjust_lr_fn = MuonRate::match_rms_adamw,
                                             .ns_dtype = kF64})},
      // Compared with optax.
      {"lion_class", settings_of(LionOptions{.lr = 0.01, .weight_decay = 0.1})},
      {"lamb_class", settings_of(LAMBOptions{.lr = 0.01, .weight_decay = 0.1})},
      {"lars_class",
       settings_of(LARSOptions{.lr = 2, .trust_coefficient = 0.01, .eps = 0.1, .nesterov = true})},
  };
}

// ---- Transformations

using TransformationCases = std::map<std::string, Transformation>;

const Schedule kSchedule = [](const Tensor& step) { return 0.1 / (1. + 0.1 * step); };
const Mask kMask =
    std::map<std::string, bool>{{"matrix", true}, {"vector", false}, {"number", true}};
const Labels kLabels{{"vector", "b"}, {"*", "a"}};

// In place of the diagonal of a Hessian.
std::optional<GaLoreDimensionNumbers> rows_last(const std::string&, const Tensor& parameter) {
  if (parameter.rank() < 2) return std::nullopt;
  return GaLoreDimensionNumbers{{-1}, {0}};
}

const Transformation kSquares = stateless_with_tree_map(
    [](const Tensor& update, const Tensor&) { return update * update + 0.1; });

TransformationCases aliases() {
  return {
      {"adam", adam(0.05, {.b1 = 0.8, .b2 = 0.95, .eps = 1e-6, .eps_root = 1e-9})},
      {"adam_nesterov", adam(0.05, {.nesterov = true})},
      {"adamw", adamw(0.05, {.weight_decay = 0.01})},
      {"adamw_masked", adamw(0.05, {.weight_decay = 0.3, .mask = kMask})},
      {"adamw_schedule", adamw(kSchedule, {.weight_decay = 0.01})},
      {"sgd", sgd(0.05)},
      {"sgd_momentum", sgd(0.02, {.momentum = 0.9})},
      {"sgd_nesterov", sgd(0.02, {.momentum = 0.9, .nesterov = true})},
      {"sign_sgd", sign_sgd(0.01)},
      {"signum", signum(0.01)},
      {"nadam", nadam(0.05)},
      {"nadamw", nadamw(0.05)},
      {"adabelief", adabelief(0.05)},
      {"adabelief_nesterov", adabelief(0.05, {.nesterov = true})},
      {"adadelta", adadelta(0.5, 0.9, 1e-6, {.weight_decay = 0.01})},
      {"adafactor", adafactor(kSchedule, {.min_dim_size_to_factor = 2,
                                          .momentum = 0.8,
                                          .dtype_momentum = kF64,
                                          .weight_decay_rate = 1e-3})},
      {"adafactor_not_factored", adafactor(0.05)},
      {"adagrad", adagrad(0.1)},
      {"adamax", adamax(0.05)},
      {"adamaxw", adamaxw(0.05, {}, {.weight_decay = 0.01})},
      {"adan", adan(0.02, {.eps_root = 1e-8}, {.weight_decay = 0.01})},
      {"amsgrad", amsgrad(0.05)},
      {"amsgrad_biased", amsgrad(0.05, {.bias_correction_mu = false, .bias_correction_nu = false})},
      {"fromage", fromage(0.02)},
      {"fromage_schedule", fromage(kSchedule)},
      {"lamb", lamb(0.02, {.eps = 1e-6}, {.weight_decay = 0.01})},
      {"lars", lars(0.5, {.weight_decay = 0.01})},
      {"lars_masked",
       lars(0.5, {.weight_decay = 0.01, .weight_decay_mask = "matrix", .nesterov = true})},
      {"lion", lion(0.01)},
      {"novograd", novograd(0.02, {.eps = 1e-6, .weight_decay = 0.01})},
      {"optimistic_gradient_descent", optimistic_gradient_descent(0.02, 0.9, 0.7)},
      {"optimistic_adam", optimistic_adam(0.02, 0.03)},
      {"optimistic_adam_v2", optimistic_adam_v2(0.02, 0.8)},
      {"radam", radam(0.05)},
      {"radam_nesterov", radam(0.05, {.b2 = 0.9, .nesterov = true})},
      {"rmsprop", rmsprop(0.02)},
      {"rmsprop_centred",
       rmsprop(0.02, {.eps = 1e-3, .initial_scale = 2, .centered = true, .momentum = 0.7})},
      {"rmsprop_outside",
       rmsprop(0.02,
               {.eps_in_sqrt = false, .momentum = 0.7, .nesterov = true, .bias_correction = true})},
      {"rprop", rprop(0.02)},
      {"adopt", adopt(0.05)},
      {"yogi", yogi(0.05)},
      {"ademamix", ademamix(0.02, {.alpha = 5}, {.weight_decay = 0.01})},
      {"ademamix_schedules", ademamix(0.02, {.b3 = kSchedule, .alpha = kSchedule})},
      {"simplified_ademamix", simplified_ademamix(0.002, {.alpha = 0.5})},
      {"acprop", acprop(0.02, {.eps = 1e-8})},
      {"madgrad", madgrad(0.02)},
      {"cocob", cocob(1, 100, 1e-8, {.weight_decay = 0.01})},
  };
}

TransformationCases wrapped() {
  const Transformation inner = adam(0.05);
  const MultiStepsOptions in_f64{.accumulator_dtype = kF64};
  MultiStepsOptions sums = in_f64, finite = in_f64, small = in_f64;
  sums.use_grad_mean = false;
  finite.should_skip_update_fn = skip_not_finite;
  small.should_skip_update_fn = skip_large_updates(221);
  return {
      {"multi_steps", multi_steps(inner, 3, in_f64)},
      {"multi_steps_sums",
       multi_steps(
           inner, [](const Tensor& step) { return 1. + remainder(step, 2.); }, sums)},
      {"multi_steps_finite", multi_steps(inner, 3, finite)},
      {"multi_steps_small", multi_steps(inner, 3, small)},
      {"apply_if_finite", apply_if_finite(inner, 3)},
      {"lookahead", lookahead(inner, 4, 0.6)},
      {"lookahead_reset", lookahead(inner, 4, 0.6, true)},
      {"schedule_free", schedule_free(adam(0.05, {.b1 = 0}), 0.05)},
      {"schedule_free_sgd", schedule_free_sgd(0.05, {.warmup_steps = 10, .weight_decay = 0.01})},
      {"schedule_free_adamw", schedule_free_adamw(0.05, {.weight_decay = 0.01})},
      {"sam", sam(inner, chain(normalize(), sgd(0.1)), {.sync_period = 3})},
      {"sam_kept_state", sam(sgd(0.05), adam(0.1), {.reset_state = false})},
      {"mechanize", mechanize(inner, {.s_init = 1e-2})},
      {"prodigy", prodigy(kSchedule, {.estim_lr0 = 1e-3, .weight_decay = 0.01})},
      {"prodigy_safeguarded",
       prodigy(0.1, {.beta3 = 0.9, .estim_lr0 = 1e-3, .safeguard_warmup = true})},
      {"dadapt_adamw", dadapt_adamw(0.1, {.estim_lr0 = 1e-3, .weight_decay = 0.01})},
      {"dog", dog(0.1, {.weight_decay = 0.01})},
      {"dog_distance", dog(0.1, {.init_step = DogStep::distance, .init_value = 0.1})},
      {"dog_rate", dog(0.1, {.init_step = DogStep::learning_rate, .init_value = 0.1})},
      {"dowg", dowg(0.1, {.weight_decay = 0.01})},
      {"dowg_distance", dowg(0.1, {.init_estim_sq_dist = 0.1})},
      {"muon", muon(0.05, {.weight_decay = 0.01})},
      {"muon_dion", muon(0.05, {.ns_coeffs = dion_coefficients(),
                                .nesterov = false,
                                .adaptive = true,
                                .consistent_rms = 0.2})},
      {"muon_schatten", muon(0.05, {.preconditioning = Preconditioning::schatten})},
      {"galore", galore(0.05, {.rank = 2, .update_proj_gap = 5}, 0.01)},
      {"galore_of_lion",
       galore(0.01,
              {.rank = 1, .update_proj_gap = 7, .scale = 0.5, .base_optimizer = scale_by_lion()})},
      {"galore_turned",
       galore(0.05, {.rank = 2, .update_proj_gap = 5, .weight_dimension_numbers = rows_last})},
      {"sophia", sophia(0.05, kSquares, {.gamma = 0.5, .update_interval = 3})},
      {"sophia_not_clipped",
       sophia(0.02, kSquares, {.eps = 0.5, .gamma = 1, .clip_threshold = std::nullopt})},
      {"sm3", sm3(0.05)},
      {"muon_aol",
       muon(0.05, {.preconditioning = Preconditioning::aol, .adam_learning_rate = 0.02})},
  };
}

TransformationCases parts() {
  return {
      {"scale_by_amsgrad", scale_by_amsgrad()},
      {"scale_by_adamax", scale_by_adamax()},
      {"scale_by_adan", scale_by_adan()},
      {"scale_by_belief", scale_by_belief()},
      {"scale_by_yogi", scale_by_yogi({.eps_root = 1e-8, .initial_accumulator_value = 1e-3})},
      {"scale_by_radam", scale_by_radam({.threshold = 8})},
      {"scale_by_lion", scale_by_lion()},
      {"scale_by_lion_smooth", scale_by_lion({.mode = LionMode::smooth, .smooth_beta = 2})},
      {"scale_by_lion_refined", scale_by_lion({.mode = LionMode::refined})},
      {"scale_by_acprop", scale_by_acprop(0.9, 0.999, 1e-8)},
      {"scale_by_ademamix", scale_by_ademamix()},
      {"scale_by_simplified_ademamix", scale_by_simplified_ademamix({.b1 = 0.9})},
      {"scale_by_adopt", scale_by_adopt()},
      {"scale_by_adopt_nesterov", scale_by_adopt({.nesterov = true, .use_clipping = false})},
      {"scale_by_rss", scale_by_rss()},
      {"scale_by_rms", scale_by_rms({.bias_correction = true})},
      {"scale_by_stddev",
       scale_by_stddev({.eps = 1e-3, .initial_scale = 3, .bias_correction = true})},
      {"scale_by_adadelta", scale_by_adadelta(0.9, 1e-3)},
      {"scale_by_novograd", scale_by_novograd()},
      {"scale_by_optimistic_gradient", scale_by_optimistic_gradient()},
      {"scale_by_rprop", scale_by_rprop(0.5)},
      {"apply_every", apply_every(3)},
      {"scale_by_cocob", scale_by_cocob()},
      {"scale_by_madgrad", scale_by_madgrad(-0.1)},
      {"scale_by_distance_over_gradients",
       scale_by_distance_over_gradients({.reps_rel = 0.1, .param_dtype = kF64})},
      {"scale_by_factored_rms", scale_by_factored_rms({.min_dim_size_to_factor = 3})},
      {"scale_by_learning_rate", scale_by_learning_rate(0.3, false)},
      {"scale", scale(0.3)},
      {"scale_by_sign", scale_by_sign()},
      {"scale_by_param_block_norm", scale_by_param_block_norm(0.3)},
      {"scale_by_param_block_rms", scale_by_param_block_rms()},
      {"scale_by_trust_ratio", scale_by_trust_ratio(0.1, 0.5, 0.01)},
      {"normalize_by_update_norm", normalize_by_update_norm(0.7)},
      {"normalize", normalize()},
      {"centralize", centralize()},
      {"add_decayed_weights", add_decayed_weights(0.3)},
      {"add_decayed_weights_schedule", add_decayed_weights(kSchedule)},
      {"keep_params_nonnegative", keep_params_nonnegative()},
      {"freeze", freeze(kMask)},
      {"selective_transform", selective_transform(scale_by_adam(), kMask)},
      {"masked", masked(scale_by_adam(), kMask)},
      {"partition", partition({{"a", scale_by_adam()}, {"b", optim::trace(0.9)}}, kLabels)},
      {"named_chain", named_chain({{"a", clip(0.5)}, {"b", scale_by_adam()}})},
      {"flatten", optim::flatten(scale_by_trust_ratio())},
      {"stateless_with_tree_map",
       stateless_with_tree_map(
           [](const Tensor& update, const Tensor& parameter) { return update + 0.1 * parameter; })},
      {"identity", identity()},
      {"clip", clip(0.5)},
      {"clip_by_global_norm", clip_by_global_norm(1.5)},
      {"clip_by_norm", clip_by_norm(0.5)},
      {"clip_by_block_rms", clip_by_block_rms(0.5)},
      {"adaptive_grad_clip", adaptive_grad_clip(0.3)},
      {"zero_nans", zero_nans()},
      {"scale_by_adam", scale_by_adam()},
      {"scale_by_schedule", scale_by_schedule(kSchedule)},
      {"trace", optim::trace(0.9, true)},
      {"ema", ema(0.8)},
      {"ema_biased", ema(0.8, false)},
      {"conditionally_transform",
       conditionally_transform(scale_by_adam(),
                               [](const Tensor& step) { return remainder(step, 3) > 0; })},
      {"conditionally_mask",
       conditionally_mask(scale_by_adam(),
                          [](const Tensor& step) { return remainder(step, 3) > 0; })},
      {"split_real_and_imaginary", split_real_and_imaginary(scale_by_adam())},
      {"monitor", monitor({{"norm", global_norm}})},
  };
}

TransformationCases with_value() {
  return {
      {"polyak_sgd", polyak_sgd(0.1)},
      {"polyak_sgd_plus", polyak_sgd(0.1, 1, 2, 0.1, PolyakVariant::sps_plus)},
      {"momo", momo(0.1, {.weight_decay = 0.01})},
      {"momo_adapted", momo(0.1, {.lower_bound = 3, .adapt_lower_bound = true})},
      {"momo_adam", momo_adam(0.05, {.weight_decay = 0.01})},
      {"momo_adam_adapted", momo_adam(0.05, {.lower_bound = 3, .adapt_lower_bound = true})},
      {"reduce_on_plateau",
       chain(sgd(0.05), reduce_on_plateau({.factor = 0.5, .patience = 3, .cooldown = 2}))},
      {"reduce_on_plateau_means",
       chain(sgd(0.05),
             reduce_on_plateau(
                 {.factor = 0.5, .patience = 2, .accumulation_size = 3, .min_scale = 0.1}))},
  };
}

// With searches, for a few steps on the bowl without noise.
TransformationCases with_search() {
  return {
      {"lbfgs", lbfgs()},
      {"lbfgs_rate",
       lbfgs(0.1, {.memory_size = 3, .scale_init_precond = false, .linesearch = identity()})},
      {"scale_by_lbfgs", chain(scale_by_lbfgs(4), scale(-0.3))},
      {"zoom", chain(sgd(1), scale_by_zoom_linesearch(15))},
      {"zoom_bounded",
       chain(adam(0.1), scale_by_zoom_linesearch(15, {.max_learning_rate = 3, .curv_rtol = 0.1}))},
      {"zoom_flat", chain(sgd(1), scale_by_zoom_linesearch(15, {.increase_factor = 8,
                                                                .curv_rtol = 1e-4,
                                                                .approx_dec_rtol = std::nullopt}))},
      {"backtracking", chain(sgd(1), scale_by_backtracking_linesearch(15))},
      {"backtracking_longer",
       chain(adam(0.3), scale_by_backtracking_linesearch(
                            15, {.increase_factor = 2, .max_learning_rate = 4, .rtol = 1e-3}))},
  };
}

std::map<std::string, LBFGSOptions> lbfgs_cases() {
  constexpr auto kWolfe = LineSearch::strong_wolfe;
  return {
      {"lbfgs", {.lr = 0.3, .max_iter = 2, .history_size = 3}},
      {"lbfgs_wolfe", {.max_iter = 2, .history_size = 3, .line_search_fn = kWolfe}},
      {"lbfgs_few", {.max_iter = 3, .max_eval = 3, .line_search_fn = kWolfe}},
      {"valley", {.max_iter = 2, .max_eval = 10, .line_search_fn = kWolfe}},
      {"valley_long", {.lr = 30, .max_iter = 2, .line_search_fn = kWolfe}},
      {"lbfgs_long", {.lr = 30, .max_iter = 2, .line_search_fn = kWolfe}},
  };
}

// ---- Schedules

std::map<std::string, Schedule> schedules() {
  namespace lrs = lr_scheduler;
  return {
      {"StepLR", lrs::StepLR{0.1, 7, 0.9}},
      {"MultiStepLR", lrs::MultiStepLR{0.1, {3, 50, 51, 400}, 0.3}},
      {"ConstantLR", lrs::ConstantLR{0.1, 0.25, 40}},
      {"LinearLR", lrs::LinearLR{0.1, 0.1, 0.7, 333}},
      {"ExponentialLR", lrs::ExponentialLR{0.1, 0.995}},
      {"PolynomialLR", lrs::PolynomialLR{0.1, 700, 1.5}},
      {"CosineAnnealingLR", lrs::CosineAnnealingLR{0.1, 1001, 1e-3}},
      {"CosineAnnealingWarmRestarts", lrs::CosineAnnealingWarmRestarts{0.1, 10, 2, 0.01}},
      {"CosineAnnealingWarmRestarts_same", lrs::CosineAnnealingWarmRestarts{0.1, 13}},
      {"OneCycleLR", lrs::OneCycleLR{.max_lr = 0.3, .total_steps = 1001}},
      {"OneCycleLR_three", lrs::OneCycleLR{.max_lr = 0.3,
                                           .total_steps = 1001,
                                           .anneal_strategy = Shape1d::linear,
                                           .div_factor = 10,
                                           .three_phase = true}},
      {"CyclicLR", lrs::CyclicLR{.base_lr = 0.01, .max_lr = 0.1, .step_size_up = 30}},
      {"CyclicLR_2", lrs::CyclicLR{.base_lr = 0.01,
                                   .max_lr = 0.1,
                                   .step_size_up = 30,
                                   .step_size_down = 50,
                                   .mode = lrs::CyclicMode::triangular2}},
      {"CyclicLR_range", lrs::CyclicLR{.base_lr = 0.01,
                                       .max_lr = 0.1,
                                       .step_size_up = 30,
                                       .mode = lrs::CyclicMode::exp_range,
                                       .gamma = 0.999}},
      {"CyclicLR_function",
       lrs::CyclicLR{.base_lr = 0.01,
                     .max_lr = 0.1,
                     .step_size_up = 30,
                     .scale_fn = Schedule([](const Tensor& cycle) { return 1. / cycle; })}},
      {"CyclicLR_momentum",
       lrs::CyclicLR{.base_lr = 0.01, .max_lr = 0.1, .step_size_up = 30}.momentum()},
      {"CyclicLR_2_momentum", lrs::CyclicLR{.base_lr = 0.01,
                                            .max_lr = 0.1,
                                            .step_size_up = 30,
                                            .step_size_down = 50,
                                            .mode = lrs::CyclicMode::triangular2,
                                            .base_momentum = 0.6,
                                            .max_momentum = 0.8}
                                  .momentum()},
      {"OneCycleLR_momentum", lrs::OneCycleLR{.max_lr = 0.3, .total_steps = 1001}.momentum()},
      {"OneCycleLR_three_momentum", lrs::OneCycleLR{.max_lr = 0.3,
                                                    .total_steps = 1001,
                                                    .anneal_strategy = Shape1d::linear,
                                                    .three_phase = true,
                                                    .base_momentum = 0.5,
                                                    .max_momentum = 0.9}
                                        .momentum()},
      {"LambdaLR",
       lrs::LambdaLR{0.1, Schedule([](const Tensor& step) { return 1. / (1. + 0.1 * step); })}},
      {"SWALR", lrs::SWALR{0.1, 0.02, 30}},
      {"SequentialLR", lrs::SequentialLR{{lrs::ConstantLR{0.1, 0.1, 20},
                                          lrs::ExponentialLR{0.1, 0.99}, lrs::StepLR{0.1, 100}},
                                         {20, 500}}},
      {"ChainedScheduler",
       lrs::ChainedScheduler{{lrs::ConstantLR{0.1, 0.1, 20}, lrs::ExponentialLR{1, 0.99}}}},
      {"constant_schedule", constant_schedule(0.3)},
      {"linear_schedule", linear_schedule(0.3, 0.01, 400, 50)},
      {"polynomial_schedule", polynomial_schedule(0.3, 0.01, 2.5, 400, 10)},
      {"exponential_decay",
       exponential_decay(0.3, 100, 0.5, {.transition_begin = 30, .staircase = true})},
      {"exponential_decay_down", exponential_decay(0.3, 100, 0.5, {.end_value = 0.1})},
      {"exponential_decay_up", exponential_decay(0.3, 100, 1.5, {.end_value = 2})},
      {"cosine_decay_schedule", cosine_decay_schedule(0.3, 700, 0.1, 2)},
      {"piecewise_constant_schedule",
       piecewise_constant_schedule(0.3, {{10, 0.5}, {700, 3}, {50, 0.1}})},
      {"piecewise_interpolate_schedule",
       piecewise_interpolate_schedule(Shape1d::linear, 0.3, {{10, 0.5}, {700, 3}})},
      {"piecewise_interpolate_schedule_cosine",
       piecewise_interpolate_schedule(Shape1d::cosine, 0.3, {{10, 0.5}, {700, 3}, {50, 0.1}})},
      {"linear_onecycle_schedule", linear_onecycle_schedule(900, 0.3)},
      {"cosine_onecycle_schedule",
       cosine_onecycle_schedule(900, 0.3, {.pct_start = 0.2, .div_factor = 10})},
      {"warmup_constant_schedule", warmup_constant_schedule(0.01, 0.3, 100)},
      {"warmup_cosine_decay_schedule",
       warmup_cosine_decay_schedule(0.01, 0.3, 100, 800, 0.001, 1.5)},
      {"warmup_exponential_decay_schedule",
       warmup_exponential_decay_schedule(0.01, 0.3, 100, 50, 0.9, {.end_value = 0.1})},
      {"sgdr_schedule",
       sgdr_schedule({{.peak_value = 0.3, .warmup_steps = 20, .decay_steps = 250},
                      {.peak_value = 0.2, .warmup_steps = 20, .decay_steps = 250},
                      {.peak_value = 0.1, .warmup_steps = 20, .decay_steps = 250}})},
      {"natural_exp_decay", natural_exp_decay(0.1, 2, 300)},
      {"natural_exp_decay_stairs", natural_exp_decay(0.1, 2, 300, true)},
      {"inverse_sqrt_schedule", inverse_sqrt_schedule(0.1, 100)},
      {"warmup_linear_decay_schedule", warmup_linear_decay_schedule(0, 0.1, 100, 600, 0.01)},
      {"warmup_stable_decay_schedule", warmup_stable_decay_schedule(0.1, 100, 500, 200)},
      {"warmup_stable_decay_schedule_cosine",
       warmup_stable_decay_schedule(0.1, 100, 500, 200, {.shape = Shape1d::cosine})},
  };
}

Tensor plateau_rates(const Tensor& losses, const lr_scheduler::PlateauOptions& options) {
  auto plateau = lr_scheduler::ReduceLROnPlateau::init(0.1, options);
  const auto step = [](const lr_scheduler::ReduceLROnPlateau& at, const Tensor& loss) {
    return at.step(loss);
  };
  const auto jitted = jit(step);
  std::vector<Tensor> rates;
  for (int64_t i = 0; i < losses.shape(0).number(); ++i) {
    plateau = i % 2 == 0 ? step(plateau, losses[i]) : jitted(plateau, losses[i]);
    rates.push_back(plateau.lr);
  }
  return stack(rates);
}

// ---- Runs

using Ways = std::map<std::string, std::vector<Tensor>>;  // values of each parameter

void note(const Tensors& parameters, Ways& ways) {
  for (const auto& [name, value] : parameters) ways[name].push_back(value);
}
void put(const std::string& name, const Ways& ways, std::map<std::string, Array>& results) {
  for (const auto& [parameter, way] : ways) {
    results.insert_or_assign(name + "/" + parameter, stack(way).array());
  }
}

std::pair<Tensors, OptimizerState> optimizer_step(Tensors parameters, OptimizerState state,
                                                  const Tensors& gradients) {
  state.follow(parameters, gradients);
  return {std::move(parameters), std::move(state)};
}

Ways way_of(const OptimizerSettings& settings, const Bowl& bowl, bool is_real) {
  Tensors parameters = bowl.start(!is_real);
  if (settings.rule.text() == "optim::Muon") parameters = {{"matrix", parameters.at("matrix")}};
  auto state = OptimizerState::init(settings, parameters);
  const auto jitted = jit(optimizer_step);
  Ways ways;
  for (int64_t i = 0; i < kSteps; ++i) {
    const Tensors gradients = bowl.gradient(parameters, i);
    std::tie(parameters, state) = i % 2 == 0 ? optimizer_step(parameters, state, gradients)
                                             : jitted(parameters, state, gradients);
    note(parameters, ways);
  }
  if (stats(jitted).traces != 1) throw ValueError("it is recorded {} times", stats(jitted).traces);
  for (const auto& [name, kept] : state.state) {
    for (const auto& [path, value] : kept) ways[name + "." + path] = {value};  // the last one
  }
  return ways;
}

std::pair<Tensors, TransformedState> transformed_step(Tensors parameters, TransformedState state,
                                                      const Tensors& gradients,
                                                      const Tensor& value) {
  state.follow(parameters, gradients, {.value = value});
  return {std::move(parameters), std::move(state)};
}

Ways way_of(const Transformation& transformation, const Bowl& bowl, bool has_number) {
  Tensors parameters = bowl.start(false);
  if (!has_number) parameters.erase("number");
  auto state = TransformedState::init(transformation, parameters);
  const auto jitted = jit(transformed_step);
  Ways ways;
  for (int64_t i = 0; i < kSteps; ++i) {
    const Tensors gradients = bowl.gradient(parameters, i);
    const Tensor value = bowl.loss(parameters);
    std::tie(parameters, state) = i % 2 == 0 ? transformed_step(parameters, state, gradients, value)
                                             : jitted(parameters, state, gradients, value);
    note(parameters, ways);
  }
  if (stats(jitted).traces != 1) throw ValueError("it is recorded {} times", stats(jitted).traces);
  return ways;
}

constexpr int64_t kSearches = 12;

Ways searched_way(const Transformation& transformation, const Bowl& bowl) {
  Tensors parameters = bowl.start(false);
  auto state = TransformedState::init(transformation, parameters);
  const auto step = [&](Tensors at, TransformedState before) {
    const auto loss = [&](const Tensors& point) { return bowl.loss(point); };
    const auto [value, gradient] = value_and_grad(loss)(at);
    before.follow(at, gradient, {.value = value, .grad = gradient, .value_fn = loss});
    return std::pair(std::move(at), std::move(before));
  };
  const auto jitted = jit(frozen(step));
  Ways ways;
  for (int64_t i = 0; i < kSearches; ++i) {
    std::tie(parameters, state) = i % 2 == 0 ? step(parameters, state) : jitted(parameters, state);
    note(parameters, ways);
  }
  return ways;
}

// Rosenbrock's function, where searches take longer.
Tensor valley(const Tensors& at) {
  const Tensor& x = at.at("vector");
  const Tensor after = x[Slice{1, {}}], before = x[Slice{0, -1}];
  return sum(100. * square(after - square(before)) + square(1. - before));
}

Ways way_of(const LBFGSOptions& options, const Bowl& bowl, bool is_valley) {
  Tensors parameters = bowl.start(false);
  if (is_valley) parameters = {{"vector", 5. * parameters.at("vector")}};
  optim::LBFGS optimizer(parameters, options);
  const auto loss = [&](const Tensors& at) { return is_valley ? valley(at) : bowl.loss(at); };
  const auto step = [&](const Tensors& at, const optim::LBFGS<Tensors>& before) {
    return before.update(at, loss);
  };
  const auto jitted = jit(frozen(step));
  Ways ways;
  for (int64_t i = 0; i < kSearches; ++i) {
    std::tie(parameters, optimizer) =
        i % 2 == 0 ? step(parameters, optimizer) : jitted(parameters, optimizer);
    note(parameters, ways);
  }
  return ways;
}

// Parts that do not descend by themselves.
TransformationCases scaled(const TransformationCases& cases) {
  TransformationCases made;
  for (const auto& [name, each] : cases) made.emplace(name, chain(each, scale(-0.05)));
  return made;
}

template <class Cases, class Run>
void run_all(const std::string& prefix, const Cases& cases, std::map<std::string, Array>& results,
             const Run& run) {
  for (const auto& [name, each] : cases) {
    try {
      put(prefix + name, run(name, each), results);
    } catch (const Error& error) {
      throw ValueError("{}{}: {}", prefix, name, error.what());
    }
  }
}

}  // namespace

void run_optimizer_cases(const std::string& folder) {
  const auto arrays = load_npz(folder + "/problem.npz");
  const Bowl bowl(arrays);
  std::map<std::string, Array> results;
  const std::vector<std::string> kReal{"adafactor", "lion", "lamb", "lars", "muon", "sparse"};
  const auto of_class = [&](const std::string& name, const OptimizerSettings& settings) {
    bool is_real = false;
    for (const std::string& each : kReal) is_real = is_real || name.starts_with(each);
    return way_of(settings, bowl, is_real);
  };
  const auto of_transformation = [&](const std::string& name, const Transformation& each) {
    return way_of(each, bowl, name != "sm3");  // optax's sm3 does not take numbers
  };
  run_all("torch/", descent_cases(), results, of_class);
  run_all("torch/", adam_cases(), results, of_class);
  run_all("torch/", adaptive_cases(), results, of_class);
  run_all("optax/", aliases(), results, of_transformation);
  run_all("optax/", wrapped(), results, of_transformation);
  run_all("optax/", scaled(parts()), results, of_transformation);
  run_all("optax/", with_value(), results, of_transformation);
  run_all("search/", with_search(), results,
          [&](const std::string&, const Transformation& each) { return searched_way(each, bowl); });
  run_all("lbfgs/", lbfgs_cases(), results, [&](const std::string& name, const LBFGSOptions& each) {
    return way_of(each, bowl, name.starts_with("valley"));
  });
  const Tensor steps = arange(1000);
  for (const auto& [name, schedule] : schedules()) {
    results.insert_or_assign("schedule/" + name, schedule(steps).array());
    const Tensor jitted = jit(frozen([&](const Tensor& at) { return schedule(at); }))(steps);
    results.insert_or_assign("schedule/" + name + "/jitted", jitted.array());
  }
  const Tensor losses(arrays.at("losses"));
  results.insert_or_assign("plateau/0", plateau_rates(losses, {.patience = 3}).array());
  results.insert_or_assign("plateau/1",
                           plateau_rates(losses, {.mode = lr_scheduler::PlateauMode::max,
                                                  .factor = 0.5,
                                                  .patience = 5,
                                                  .cooldown = 4,
                                                  .min_lr = 1e-3})
                               .array());
  results.insert_or_assign(
      "plateau/2", plateau_rates(losses, {.factor = 0.9,
                                          .patience = 0,
                                          .threshold = 0.01,
                                          .threshold_mode = lr_scheduler::ThresholdMode::abs,
                                          .cooldown = 1})
                       .array());
  save_npz(folder + "/out.npz", results);
}

}  // namespace plait
