#include "plait/optim/transformations/clipping.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

using Kept = std::span<Tensor>;

std::optional<std::vector<int64_t>> axes_of_unit(const Tensor& x) {
  int long_axes = 0;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!same(x.shape(static_cast<int64_t>(i)), Dim(1))) ++long_axes;
  }
  if (long_axes < 2) return std::nullopt;
  switch (x.rank()) {
    case 2:
    case 3: return std::vector<int64_t>{0};
    case 4: return std::vector<int64_t>{0, 1, 2};
    case 5: return std::vector<int64_t>{0, 1, 2, 3};
    default:
      throw ValueError("optim::unitwise_norm: the parameter is {}, expected up to 5 axes",
                       x.type().text())
          .at(Location::of_caller())
          .hint("pass axis");
  }
}

void expect_batch(std::string_view function, const Tensors& grads) {
  for (const auto& [path, value] : grads) {
    const Tensor& first = grads.begin()->second;
    if (value.rank() > 0 && value.shape(0) == first.shape(0)) continue;
    throw ShapeError(
        "{}: the gradient of {} is {}, expected an axis of examples first, of one size", function,
        path, value.type().text())
        .at(Location::of_caller())
        .hint("vmap(grad(loss)) returns them");
  }
  if (grads.empty()) throw ValueError("{}: there are no gradients", function);
}

// The elements of each example as a row.
Tensor rows_of(const Tensor& x) { return reshape(x, {x.shape(0), -1}); }

// Random rules have a key in the state.
struct NoiseRule : TransformationRule {
  NoiseRule(std::string rule, std::vector<NamedNumber> given, Tensor random_key)
      : TransformationRule(std::move(rule), std::move(given)), key(std::move(random_key)) {}
  State init(const Tensors&) const override {
    State made;
    begin(made);
    made.values["rng_key"] = key;
    return made;
  }
  // A key for each, and the next one in the state.
  static std::vector<Tensor> keys(State& state, size_t count) {
    const auto all =
        unstack(random::split_key(state.values.at("rng_key"), static_cast<int64_t>(count) + 1));
    state.values["rng_key"] = all[0];
    state.values["count"] = state.values["count"] + 1;
    return {all.begin() + 1, all.end()};
  }
  static Tensor noise(const Tensor& key, const Tensor& like, const Tensor& deviation) {
    return astype(deviation, like.dtype()) *
           random::normal(key, like.shape(), 0., 1., like.dtype());
  }
  Tensor key;
};

struct AddNoiseRule final : NoiseRule {
  AddNoiseRule(Number eta, Number gamma, Tensor random_key)
      : NoiseRule("optim::add_noise",
                  {positive("eta", std::move(eta)), any_number("gamma", std::move(gamma))},
                  std::move(random_key)) {}
  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions&) const override {
    const Tensors n = numbers_at(state);
    const Tensor t = as_f64(state.values.at("count") + 1);
    const Tensor deviation = sqrt(n.at("eta") / power(t, n.at("gamma")));
    const std::vector<Tensor> all = keys(state, updates.size());
    size_t next = 0;
    return map_tensors(
        updates, [&](const Tensor& each) { return each + noise(all[next++], each, deviation); });
  }
};

struct PrivateRule final : NoiseRule {
  PrivateRule(Number clip, Number noise_multiplier, Tensor random_key)
      : NoiseRule("optim::differentially_private_aggregate",
                  {positive("l2_norm_clip", std::move(clip)),
                   positive("noise_multiplier", std::move(noise_multiplier))},
                  std::move(random_key)) {}
  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions&) const override {
    const Tensors n = numbers_at(state);
    expect_batch(name, updates);
    const Dim batch = updates.begin()->second.shape(0);
    const Tensors clipped = per_example_global_norm_clip(updates, n.at("l2_norm_clip")).first;
    const Tensor deviation = n.at("l2_norm_clip") * n.at("noise_multiplier");
    const std::vector<Tensor> all = keys(state, clipped.size());
    size_t next = 0;
    return map_tensors(clipped, [&](const Tensor& each) {
      return (each + noise(all[next++], each, deviation)) / batch;
    });
  }
};

}  // namespace

Transformation clip(Number max_delta) {
  return per_parameter({.name = "optim::clip",
                        .numbers = {positive("max_delta", std::move(max_delta))},
                        .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept) {
                          return plait::clip(update, -n["max_delta"], n["max_delta"]);
                        }});
}

Transformation clip_by_block_rms(Number threshold) {
  return per_parameter({.name = "optim::clip_by_block_rms",
                        .numbers = {positive("threshold", std::move(threshold))},
                        .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept) {
                          return update / maximum(sqrt(mean(squared(update))) / n["threshold"], 1.);
                        }});
}

Transformation clip_by_norm(Number max_norm) {
  return per_parameter({.name = "optim::clip_by_norm",
                        .numbers = {positive("max_norm", std::move(max_norm))},
                        .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept) {
                          return update / maximum(sqrt(sum(squared(update))) / n["max_norm"], 1.);
                        }});
}

Transformation clip_by_global_norm(Number max_norm) {
  return per_parameter(
      {.name = "optim::clip_by_global_norm",
       .numbers = {positive("max_norm", std::move(max_norm))},
       .at = [](Tensors& n, const Tensor&,
                const Tensors& updates) { n["norm"] = as_f64(global_norm(updates)); },
       .one =
           [](const StepNumbers& n, const Tensor& update, const Tensor&, Kept) {
             return where(n["norm"] < n["max_norm"], update, update / n["norm"] * n["max_norm"]);
           }});
}

Transformation adaptive_grad_clip(Number clipping, Number eps,
                                  const std::optional<std::vector<int64_t>>& axis) {
  return per_parameter(
      {.name = "optim::adaptive_grad_clip",
       .numbers = {positive("clipping", std::move(clipping)), positive("eps", std::move(eps))},
       .reads_parameters = true,
       .one = [axis](const StepNumbers& n, const Tensor& update, const Tensor& parameter, Kept) {
         const Tensor norm = unitwise_norm(update, axis);
         const Tensor most = n["clipping"] * maximum(unitwise_norm(parameter, axis), n["eps"]);
         return unitwise_clip(norm, most, update);
       }});
}

Tensor unitwise_norm(const Tensor& x, const std::optional<std::vector<int64_t>>& axis) {
  const auto axes = axis ? axis : axes_of_unit(x);
  const Tensor total = sum_of_squares(x, axes ? Axes(*axes) : Axes(), true);
  return broadcast_to(sqrt(total), x.shape());
}

Tensor unitwise_clip(const Tensor& g_norm, const Tensor& max_norm, const Tensor& grad,
                     double div_eps) {
  for (const auto& [name, norm] :
       {std::pair("g_norm", &g_norm), std::pair("max_norm", &max_norm)}) {
    if (norm->shape() == grad.shape()) continue;
    throw ShapeError("optim::unitwise_clip: {} is {}, expected the shape of the gradient, {}", name,
                     norm->type().text(), grad.type().text())
        .at(Location::of_caller());
  }
  return where(g_norm < max_norm, grad, grad * (max_norm / maximum(g_norm, div_eps)));
}

std::pair<Tensors, Tensor> per_example_global_norm_clip(const Tensors& grads,
                                                        const Operand& l2_norm_clip) {
  expect_batch("optim::per_example_global_norm_clip", grads);
  std::vector<Tensor> squares;
  for (const auto& [path, value] : grads) {
    squares.push_back(sum_of_squares(rows_of(as_wide(value)), 1));
  }
  const Tensor ratio = divide(l2_norm_clip, sqrt(sum_of_all(squares)));
  const Tensor factors = where(isnan(ratio), ones_like(ratio), minimum(ratio, 1.));
  const Tensors clipped = map_tensors(grads, [&](const Tensor& each) {
    const Tensor rows =
        rows_of(each) * expand_dims(astype(factors, plait::real_dtype(each.dtype())), 1);
    return sum(reshape(rows, each.shape()), 0);
  });
  return {clipped, sum(as_i64(factors < 1.))};
}

std::pair<Tensors, Tensors> per_example_layer_norm_clip(const Tensors& grads,
                                                        double global_l2_norm_clip, bool uniform) {
  expect_batch("optim::per_example_layer_norm_clip", grads);
  std::map<std::string, double> sizes;
  double total = 0;
  for (const auto& [path, value] : grads) {
    const Dim size = floor_div(value.shape().element_count(), value.shape(0));
    total += sizes[path] = uniform ? 1 : static_cast<double>(size.number());
  }
  Tensors clipped, counts;
  for (const auto& [path, value] : grads) {
    const double bound = global_l2_norm_clip * std::sqrt(sizes[path] / total);
    auto [made, count] = per_example_global_norm_clip({{path, value}}, bound);
    clipped.emplace(path, made.at(path));
    counts.emplace(path, count);
  }
  return {clipped, counts};
}

Transformation differentially_private_aggregate(Number l2_norm_clip, Number noise_multiplier,
                                                const Tensor& key) {
  return transformation_of<PrivateRule>(std::move(l2_norm_clip), std::move(noise_multiplier), key);
}

Transformation add_noise(Number eta, Number gamma, const Tensor& key) {
  return transformation_of<AddNoiseRule>(std::move(eta), std::move(gamma), key);
}

Transformation zero_nans() {
  return per_parameter(
      {.name = "optim::zero_nans",
       .kept = {"found_nan"},
       .begin = [](const Tensor&,
                   const StepNumbers&) { return std::vector{zeros({}, DType::boolean)}; },
       .one =
           [](const StepNumbers&, const Tensor& update, const Tensor&, Kept kept) {
             const Tensor is_nan = isnan(update);
             kept[0] = any(is_nan);
             return where(is_nan, zeros_like(update), update);
           }});
}

Transformation keep_params_nonnegative() {
  return per_parameter(
      {.name = "optim::keep_params_nonnegative",
       .reads_parameters = true,
       .one = [](const StepNumbers&, const Tensor& update, const Tensor& parameter, Kept) {
         return where(parameter + update < 0., -parameter, update);
       }});
}

Transformation expect_finite() {
  return stateless([](const Tensors& updates, const Tensors&) {
    for (const auto& [path, value] : updates) check_finite(value, "the gradient." + path);
    return updates;
  });
}

}  // namespace plait::optim
