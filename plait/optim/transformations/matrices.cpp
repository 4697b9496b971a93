#include "plait/optim/transformations/matrices.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/optim/inside/matrix_view.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/scaling.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/vmap.h"

namespace plait::optim {
namespace {

// The coefficients of each step.
Coefficients rows_of(const Coefficients& given, int64_t steps) {
  if (steps < 1 || steps > 99) {
    throw ValueError("optim::scale_by_muon: ns_steps is {}, expected 1 to 99", steps)
        .at(Location::of_caller());
  }
  if (given.empty() || (given.size() > 1 && static_cast<int64_t>(given.size()) > steps)) {
    throw ValueError(
        "optim::scale_by_muon: ns_coeffs has {} rows, expected one, or one for each of "
        "{} steps",
        given.size(), steps)
        .at(Location::of_caller());
  }
  return given.size() == 1 ? Coefficients(static_cast<size_t>(steps), given[0]) : given;
}

// The matrix and its products with itself, scaled so that the iterations converge.
void precondition(Preconditioning kind, Tensor& x, Tensor& gram) {
  const bool is_aol = kind == Preconditioning::aol;
  const Tensor size = is_aol ? sum(absolute(gram), 1, true) : sqrt(sum_of_squares(gram));
  const Tensor factor = rsqrt(maximum(size, 1e-8));
  x = x * factor;
  gram = gram * factor * (is_aol ? matrix_transpose(factor) : factor);
}

// Newton-Schulz iterations towards the nearest orthogonal matrix.
Tensor orthogonal(const Tensor& matrix, const Coefficients& rows, Preconditioning kind,
                  const Tensor& eps) {
  const bool is_tall = matrix.shape(0).number() > matrix.shape(1).number();
  Tensor x = is_tall ? matrix_transpose(matrix) : matrix;
  if (kind == Preconditioning::frobenius) x = x / (sqrt(sum_of_squares(x)) + eps);
  bool is_first = true;
  for (const auto& [a, b, c] : rows) {
    Tensor gram = matmul(x, matrix_transpose(x));
    if (is_first && kind != Preconditioning::frobenius) precondition(kind, x, gram);
    is_first = false;
    x = a * x + matmul(b * gram + c * matmul(gram, gram), x);
  }
  return is_tall ? matrix_transpose(x) : x;
}

Transformation scale_by_shape(std::optional<Number> consistent_rms) {
  std::vector<NamedNumber> numbers;
  if (consistent_rms) numbers.push_back(any_number("consistent_rms", *consistent_rms));
  return per_parameter(
      {.name = "optim::muon",
       .numbers = std::move(numbers),
       .one = [](const StepNumbers& n, const Tensor& update, const Tensor&, std::span<Tensor>) {
         const auto rows = static_cast<double>(update.shape(-2).number());
         const auto columns = static_cast<double>(update.shape(-1).number());
         if (n.has("consistent_rms")) {
           return std::sqrt(std::max(rows, columns)) * n["consistent_rms"] * update;
         }
         return std::sqrt(std::max(1., columns / std::max(rows, 1.))) * update;
       }});
}

// Applies a transformation to parameters as matrices, where the others stay as they are.
struct InMatricesRule final : TransformationRule {
  InMatricesRule(std::string owner, Transformation given, MuonDimensions numbers_of)
      : TransformationRule(std::move(owner)),
        inner(std::move(given)),
        dimensions(std::move(numbers_of)) {}

  template <class Move>
  Tensors moved(const Tensors& like, const Tensors& tensors, const Move& move) const {
    Tensors made;
    for (const auto& [path, value] : tensors) {
      const Tensor& parameter = at_path(name, "the tree", like, path);
      const auto axes = dimensions(path, parameter);
      made.emplace(
          path,
          axes ? move(MatrixView(name, parameter, axes->reduction_axis, axes->output_axis), value)
               : value);
    }
    return made;
  }
  Tensors as_matrices(const Tensors& tensors) const {
    return moved(tensors, tensors,
                 [](const MatrixView& view, const Tensor& x) { return view.of(x); });
  }

  State init(const Tensors& parameters) const override {
    return inner.init(as_matrices(parameters));
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    const Tensors made =
        update_of(inner, as_matrices(updates), state, as_matrices(parameters), options);
    return moved(updates, made,
                 [](const MatrixView& view, const Tensor& x) { return view.back(x); });
  }

  Transformation inner;
  MuonDimensions dimensions;
};

struct HutchinsonRule final : TransformationRule {
  explicit HutchinsonRule(Tensor random_key)
      : TransformationRule("optim::hutchinson_estimator_diag_hessian"),
        key(std::move(random_key)) {}
  State init(const Tensors&) const override {
    State made;
    made.values["key"] = key;
    return made;
  }
  Tensors update(const Tensors&, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    if (!options.value_fn) {
      throw TypeError("{}: value_fn is missing", name)
          .at(Location::of_caller())
          .hint("update(…, {.value_fn = …}), the loss as a function of the parameters");
    }
    const auto count = static_cast<int64_t>(parameters.size());
    const std::vector<Tensor> keys = unstack(random::split_key(state.values.at("key"), count + 1));
    state.values["key"] = keys[0];
    Tensors signs;
    for (const auto& [path, value] : parameters) {
      const Tensor half = random::uniform(keys[signs.size() + 1], value.shape()) < 0.5;
      signs.emplace(path, where(half, -ones_like(value), ones_like(value)));
    }
    const auto loss = [&](const Tensors& at) -> Tensor { return options.value_fn(at); };
    const auto gradient = [&](const Tensors& at) { return grad(loss)(at); };
    const Tensors product = jvp(gradient, std::tuple(parameters), std::tuple(signs)).second;
    return map_tensors(name, product, signs,
                       [](const Tensor& a, const Tensor& b) { return a * b; });
  }
  Tensor key;
};

struct SophiaRule final : TransformationRule {
  SophiaRule(Transformation diagonal, const ScaleBySophiaOptions& options)
      : TransformationRule("optim::scale_by_sophia",
                           {decay_number("b1", options.b1), decay_number("b2", options.b2),
                            positive("eps", options.eps), positive("gamma", options.gamma)}),
        inner(std::move(diagonal)),
        update_interval(whole(name + ": update_interval", options.update_interval)),
        mu_dtype(options.mu_dtype) {
    if (options.clip_threshold)
      numbers.push_back(any_number("clip_threshold", *options.clip_threshold));
  }
  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    made.kept["nu"] = zeros_of(parameters);
    for (const auto& [path, value] : parameters) {
      made.kept["mu"][path] = zeros_like(astype(value, mu_dtype.value_or(value.dtype())));
    }
    made.parts.emplace("inner", inner.init(parameters));
    return made;
  }
  Tensors mixed(const Tensors& exact, const char* decay, const Tensors& old,
                const Tensors& now) const {
    return cast_like(map_tensors(name, old, now,
                                 [&](const Tensor& a, const Tensor& b) {
                                   const StepNumbers n(exact, plait::real_dtype(b.dtype()));
                                   return n.mix(decay, a, b);
                                 }),
                     old);
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    expect_parameters(parameters);
    Tensors exact = numbers_at(state);
    const Tensor count = state.values.at("count");
    exact["bias"] = 1. - power(exact["b1"], as_f64(count + 1));
    const Tensors mu = mixed(exact, "b1", state.kept.at("mu"), updates);
    const Tensors nu = state.kept.at("nu");
    const Tensors made = map_tensors(name, mu, nu, [&](const Tensor& mean, const Tensor& diagonal) {
      const StepNumbers n(exact, plait::real_dtype(mean.dtype()));
      const Tensor step = mean / n["bias"] / maximum(n["gamma"] * diagonal, n["eps"]);
      return n.has("clip_threshold") ? clip(step, -n["clip_threshold"], n["clip_threshold"]) : step;
    });
    State& own = state.parts.at("inner");
    using Result = std::pair<Tensors, State>;
    const auto renewed = [&]() -> Result {
      State next = own;
      const Tensors diagonal = update_of(inner, updates, next, parameters, options);
      return {mixed(exact, "b2", nu, diagonal), next};
    };
    auto [next, next_own] = cond(remainder(count, update_interval) == 0, renewed,
                                 [&]() -> Result { return {nu, own}; });
    state.kept["mu"] = mu;
    state.kept["nu"] = next;
    own = next_own;
    state.values["count"] = count + 1;
    return made;
  }
  Transformation inner;
  int64_t update_interval;
  std::optional<DType> mu_dtype;
};

}  // namespace

Coefficients standard_coefficients() { return {{3.4445, -4.775, 2.0315}}; }
Coefficients dion_coefficients() {
  return {{4.0848, -6.8946, 2.927},
          {3.9505, -6.3029, 2.6377},
          {3.7418, -5.5913, 2.3037},
          {2.8769, -3.1427, 1.2046},
          {2.8366, -3.0525, 1.2012}};
}

Transformation scale_by_muon(const ScaleByMuonOptions& options) {
  const Coefficients rows = rows_of(options.ns_coeffs, options.ns_steps);
  const auto one = [rows, options](const StepNumbers& n, const Tensor& update, const Tensor&,
                                   std::span<Tensor> kept) {
    const bool is_batch = options.weight_dimension_numbers && update.rank() == 3;
    if (update.rank() != 2 && !is_batch) {
      throw ShapeError("optim::scale_by_muon: a parameter is {}, expected a matrix",
                       update.type().text())
          .at(Location::of_caller())
          .hint("optim::muon treats matrices with Muon, and all else with Adam");
    }
    kept[0] = n.mix("beta", kept[0], update);
    const Tensor mean = options.nesterov
                            ? n.mix("beta", kept[0] / n["next bias"], update / n["bias"])
                            : kept[0] / n["bias"];
    const auto of_matrix = [&](const Tensor& matrix) -> Tensor {
      return orthogonal(matrix, rows, options.preconditioning, n["eps"]);
    };
    const Tensor made = is_batch ? vmap(of_matrix)(mean) : of_matrix(mean);
    return options.adaptive ? sum(mean * made) * made : made;
  };
  const Transformation made =
      per_parameter({.name = "optim::scale_by_muon",
                     .numbers = {decay_number("beta", options.beta), positive("eps", options.eps)},
                     .kept = {"mu"},
                     .begin =
                         [dtype = options.mu_dtype](const Tensor& parameter, const StepNumbers&) {
                           const DType own = dtype.value_or(parameter.dtype());
                           return std::vector{zeros_like(astype(parameter, own))};
                         },
                     .at =
                         [](Tensors& n, const Tensor& t, const Tensors&) {
                           n["bias"] = 1. - power(n["beta"], t);
                           n["next bias"] = 1. - power(n["beta"], t + 1.);
                         },
                     .one = one});
  if (!options.weight_dimension_numbers) return made;
  return transformation_of<InMatricesRule>("optim::scale_by_muon", made,
                                           options.weight_dimension_numbers);
}

Transformation muon(Number learning_rate, const MuonAliasOptions& options) {
  const MuonDimensions& dimensions = options.muon_weight_dimension_numbers;
  const auto in_matrices = [&](const Transformation& inner) {
    if (!dimensions) return inner;
    return transformation_of<InMatricesRule>("optim::muon", inner, dimensions);
  };
  const Transformation of_matrices =
      chain(scale_by_muon({.ns_coeffs = options.ns_coeffs,
                           .ns_steps = options.ns_steps,
                           .beta = options.beta,
                           .eps = options.eps,
                           .mu_dtype = options.mu_dtype,
                           .nesterov = options.nesterov,
                           .adaptive = options.adaptive,
                           .preconditioning = options.preconditioning,
                           .weight_dimension_numbers = dimensions}),
            in_matrices(scale_by_shape(options.consistent_rms)),
            add_decayed_weights(options.weight_decay, options.weight_decay_mask),
            scale_by_learning_rate(learning_rate));
  const Transformation of_others = adamw(options.adam_learning_rate.value_or(learning_rate),
                                         {.b1 = options.adam_b1,
                                          .b2 = options.adam_b2,
                                          .eps = options.eps,
                                          .eps_root = options.adam_eps_root,
                                          .mu_dtype = options.mu_dtype,
                                          .weight_decay = options.adam_weight_decay,
                                          .nesterov = options.nesterov});
  const auto labels = [dimensions](const Tensors& parameters) {
    std::map<std::string, std::string> found;
    for (const auto& [path, value] : parameters) {
      const bool is_matrix = dimensions ? dimensions(path, value).has_value() : value.rank() == 2;
      found[path] = is_matrix ? "muon" : "adam";
    }
    return found;
  };
  return partition({{"muon", of_matrices}, {"adam", of_others}}, Labels::Function(labels));
}

Transformation hutchinson_estimator_diag_hessian(const Tensor& key) {
  return transformation_of<HutchinsonRule>(key);
}

Transformation scale_by_sophia(Transformation hessian_diagonal_fn,
                               const ScaleBySophiaOptions& options) {
  return transformation_of<SophiaRule>(std::move(hessian_diagonal_fn), options);
}

Transformation sophia(Number learning_rate, Transformation hessian_diagonal_fn,
                      const ScaleBySophiaOptions& options, Number weight_decay,
                      std::optional<Mask> weight_decay_mask) {
  return chain(scale_by_sophia(std::move(hessian_diagonal_fn), options),
               add_decayed_weights(std::move(weight_decay), std::move(weight_decay_mask)),
               scale_by_learning_rate(std::move(learning_rate)));
}

}  // namespace plait::optim
