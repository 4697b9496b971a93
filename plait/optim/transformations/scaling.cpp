#include "plait/optim/transformations/scaling.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

Tensor least_norm(const Tensor& x, const Tensor& least) {
  return maximum(sqrt(sum_of_squares(x)), least);
}
Tensor least_rms(const Tensor& x, const Tensor& least) {
  return maximum(sqrt(mean(squared(x))), least);
}

// Multiplies each update by a function of its parameter.
Transformation scale_by_parameter(const std::string& name, Number min_scale,
                                  Tensor (*size)(const Tensor&, const Tensor&)) {
  return per_parameter(
      {.name = name,
       .numbers = {positive("min_scale", std::move(min_scale))},
       .reads_parameters = true,
       .one = [=](const StepNumbers& n, const Tensor& update, const Tensor& parameter,
                  std::span<Tensor>) { return update * size(parameter, n["min_scale"]); }});
}

std::function<std::vector<Tensor>(const Tensor&, const StepNumbers&)> zeros_in(
    std::optional<DType> dtype) {
  return [=](const Tensor& parameter, const StepNumbers&) {
    return std::vector{zeros_like(astype(parameter, dtype.value_or(parameter.dtype())))};
  };
}

}  // namespace

Transformation scale(Number step_size) {
  return per_parameter({.name = "optim::scale",
                        .numbers = {any_number("step_size", std::move(step_size))},
                        .one = [](const StepNumbers& n, const Tensor& update, const Tensor&,
                                  std::span<Tensor>) { return n["step_size"] * update; }});
}

Transformation scale_by_schedule(Schedule step_size_fn) {
  return scale(Number(std::move(step_size_fn)));
}

Transformation scale_by_learning_rate(std::optional<Number> learning_rate, bool flip_sign) {
  if (!learning_rate) return identity();
  return per_parameter(
      {.name = "optim::scale_by_learning_rate",
       .numbers = {any_number("learning_rate", std::move(*learning_rate))},
       .one = [=](const StepNumbers& n, const Tensor& update, const Tensor&, std::span<Tensor>) {
         return (flip_sign ? -n["learning_rate"] : n["learning_rate"]) * update;
       }});
}

Transformation add_decayed_weights(Number weight_decay, std::optional<Mask> mask) {
  Transformation made = per_parameter(
      {.name = "optim::add_decayed_weights",
       .numbers = {any_number("weight_decay", std::move(weight_decay))},
       .reads_parameters = true,
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor& parameter,
                 std::span<Tensor>) { return update + n["weight_decay"] * parameter; }});
  return mask ? masked(std::move(made), *mask) : made;
}

Transformation scale_by_sign() {
  return per_parameter({.name = "optim::scale_by_sign",
                        .one = [](const StepNumbers&, const Tensor& update, const Tensor&,
                                  std::span<Tensor>) { return sign(update); }});
}

Transformation centralize() {
  return per_parameter(
      {.name = "optim::centralize",
       .one = [](const StepNumbers&, const Tensor& update, const Tensor&, std::span<Tensor>) {
         std::vector<int64_t> axes;
         for (size_t i = 1; i < update.rank(); ++i) {
           axes.push_back(static_cast<int64_t>(i));
         }
         return axes.empty() ? update : update - mean(update, axes, true);
       }});
}

Transformation scale_by_param_block_norm(Number min_scale) {
  return scale_by_parameter("optim::scale_by_param_block_norm", std::move(min_scale), least_norm);
}
Transformation scale_by_param_block_rms(Number min_scale) {
  return scale_by_parameter("optim::scale_by_param_block_rms", std::move(min_scale), least_rms);
}

Transformation scale_by_trust_ratio(Number min_norm, Number trust_coefficient, Number eps) {
  return per_parameter({.name = "optim::scale_by_trust_ratio",
                        .numbers = {positive("min_norm", std::move(min_norm)),
                                    positive("trust_coefficient", std::move(trust_coefficient)),
                                    positive("eps", std::move(eps))},
                        .reads_parameters = true,
                        .one = [](const StepNumbers& n, const Tensor& update,
                                  const Tensor& parameter, std::span<Tensor>) {
                          const Tensor of_parameter = least_norm(parameter, n["min_norm"]);
                          const Tensor of_update = least_norm(update, n["min_norm"]);
                          const Tensor ratio =
                              n["trust_coefficient"] * of_parameter / (of_update + n["eps"]);
                          const Tensor is_zero = logical_or(of_parameter == 0., of_update == 0.);
                          return update * where(is_zero, ones_like(ratio), ratio);
                        }});
}

Transformation normalize_by_update_norm(Number scale_factor, Number eps) {
  return per_parameter({.name = "optim::normalize_by_update_norm",
                        .numbers = {any_number("scale_factor", std::move(scale_factor)),
                                    positive("eps", std::move(eps))},
                        .at =
                            [](Tensors& n, const Tensor&, const Tensors& updates) {
                              n["norm"] = (sqrt(as_f64(squared_norm(updates))) + n["eps"]) /
                                          n["scale_factor"];
                            },
                        .one = [](const StepNumbers& n, const Tensor& update, const Tensor&,
                                  std::span<Tensor>) { return update / n["norm"]; }});
}

Transformation normalize() {
  return per_parameter(
      {.name = "optim::normalize",
       .at = [](Tensors& n, const Tensor&,
                const Tensors& updates) { n["norm"] = as_f64(sqrt(squared_norm(updates))); },
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&,
                 std::span<Tensor>) { return update / n["norm"]; }});
}

namespace {

struct PolyakRule final : TransformationRule {
  PolyakRule(Number f_min, Number most, Number eps, PolyakVariant kind)
      : TransformationRule(
            "optim::scale_by_polyak",
            {any_number("f_min", std::move(f_min)), positive("max_learning_rate", std::move(most)),
             positive("eps", std::move(eps))}),
        variant(kind) {}
  State init(const Tensors&) const override {
    State made;
    begin(made);
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions& options) const override {
    const Tensors n = numbers_at(state);
    Tensor gap = expect_value(name, options) - n.at("f_min");
    if (variant == PolyakVariant::sps_plus) gap = maximum(gap, 0.);
    const Tensor norm = as_f64(squared_norm(updates)) + n.at("eps");
    const double least = std::numeric_limits<double>::epsilon();
    const Tensor rate =
        where(norm <= least, f64_of(0), minimum(gap / norm, n.at("max_learning_rate")));
    state.values["count"] = state.values["count"] + 1;
    return map_tensors(updates, [&](const Tensor& each) {
      return astype(rate, plait::real_dtype(each.dtype())) * each;
    });
  }
  PolyakVariant variant;
};

}  // namespace

Transformation scale_by_polyak(Number f_min, Number max_learning_rate, Number eps,
                               PolyakVariant variant) {
  return transformation_of<PolyakRule>(std::move(f_min), std::move(max_learning_rate),
                                       std::move(eps), variant);
}

Transformation trace(Number decay, bool nesterov, std::optional<DType> accumulator_dtype) {
  return per_parameter({.name = "optim::trace",
                        .numbers = {any_number("decay", std::move(decay))},
                        .kept = {"trace"},
                        .begin = zeros_in(accumulator_dtype),
                        .one = [=](const StepNumbers& n, const Tensor& update, const Tensor&,
                                   std::span<Tensor> kept) {
                          kept[0] = update + n["decay"] * kept[0];
                          return nesterov ? update + n["decay"] * kept[0] : kept[0];
                        }});
}

Transformation ema(Number decay, bool debias, std::optional<DType> accumulator_dtype) {
  return per_parameter(
      {.name = "optim::ema",
       .numbers = {decay_number("decay", std::move(decay))},
       .kept = {"ema"},
       .begin = zeros_in(accumulator_dtype),
       .at = [](Tensors& n, const Tensor& t,
                const Tensors&) { n["bias"] = 1. - power(n["decay"], t); },
       .one =
           [=](const StepNumbers& n, const Tensor& update, const Tensor&, std::span<Tensor> kept) {
             kept[0] = n.mix("decay", kept[0], update);
             return debias ? kept[0] / n["bias"] : kept[0];
           }});
}

}  // namespace plait::optim
