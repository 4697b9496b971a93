#include "tests/oracles/function_cases.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/npz.h"
#include "plait/nn/losses/optax_losses.h"
#include "plait/nn/models/fusion.h"
#include "plait/nn/models/orthogonal.h"
#include "plait/nn/models/pruning.h"
#include "plait/nn/models/vectors.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"
#include "plait/optim/functions/assignment.h"
#include "plait/optim/functions/linear_algebra.h"
#include "plait/optim/functions/perturbations.h"
#include "plait/optim/functions/projections.h"
#include "plait/optim/functions/second_order.h"
#include "plait/optim/transformations/clipping.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

namespace plait {
namespace {

using In = std::map<std::string, Tensor>;
using Function = std::function<Tensor(const In&)>;
struct FunctionCase {
  Function function;
  bool has_gradient = true;
};
using FunctionCases = std::map<std::string, FunctionCase>;

// ---- Projections, of a matrix x and a vector v

struct Pair {
  Tensor matrix, vector;
};
Pair pair_of(const In& in) { return {in.at("x"), in.at("v")}; }
Pair way_of(const In& in) { return {in.at("a"), in.at("b")}; }

template <class F>
FunctionCase projected(F f) {
  return {[f](const In& in) {
    const Pair made = f(pair_of(in), in);
    return nn::parameters_to_vector(made);
  }};
}

FunctionCases projection_cases() {
  using namespace optim;
  return {
      {"projection_non_negative",
       projected([](const Pair& x, const In&) { return projection_non_negative(x); })},
      {"projection_box",
       projected([](const Pair& x, const In&) { return projection_box(x, -0.3, 0.4); })},
      {"projection_box_trees", projected([](const Pair& x, const In& in) {
         const Pair lower = way_of(in);
         return projection_box(x, lower, Pair{lower.matrix + 0.4, lower.vector + 0.4});
       })},
      {"projection_hypercube",
       projected([](const Pair& x, const In&) { return projection_hypercube(x, 0.5); })},
      {"projection_linf_ball",
       projected([](const Pair& x, const In&) { return projection_linf_ball(x, 0.5); })},
      {"projection_simplex",
       projected([](const Pair& x, const In&) { return projection_simplex(x, 3.); })},
      {"projection_l1_sphere",
       projected([](const Pair& x, const In&) { return projection_l1_sphere(x, 30.); })},
      {"projection_l1_ball",
       projected([](const Pair& x, const In&) { return projection_l1_ball(x, 2.); })},
      {"projection_l1_ball_inside",
       projected([](const Pair& x, const In&) { return projection_l1_ball(x, 1000.); })},
      {"projection_l2_sphere",
       projected([](const Pair& x, const In&) { return projection_l2_sphere(x, 2.); })},
      {"projection_l2_ball",
       projected([](const Pair& x, const In&) { return projection_l2_ball(x); })},
      {"projection_l2_ball_inside",
       projected([](const Pair& x, const In&) { return projection_l2_ball(x, 1000.); })},
      {"projection_vector",
       projected([](const Pair& x, const In& in) { return projection_vector(x, way_of(in)); })},
      {"projection_hyperplane", projected([](const Pair& x, const In& in) {
         return projection_hyperplane(x, way_of(in), 0.4);
       })},
      {"projection_halfspace", projected([](const Pair& x, const In& in) {
         return projection_halfspace(x, way_of(in), -5.);
       })},
      {"projection_halfspace_inside", projected([](const Pair& x, const In& in) {
         return projection_halfspace(x, way_of(in), 1e3);
       })},
  };
}

// ---- Losses of scores x and labels

using Loss = std::function<Tensor(const Tensor& x, const Tensor& labels, const In&)>;
FunctionCase loss(Loss f) {
  return {[f = std::move(f)](const In& in) { return f(in.at("x"), in.at("labels"), in); }};
}

FunctionCases loss_cases() {
  using namespace nn;
  const auto where = [](const In& in) { return in.at("where"); };
  return {
      {"sparsemax_loss", loss([](auto& x, auto& y, auto&) { return sparsemax_loss(x, y); })},
      {"multiclass_sparsemax_loss",
       loss([](auto& x, auto& y, auto&) { return multiclass_sparsemax_loss(x, y); })},
      {"perceptron_loss", loss([](auto& x, auto& y, auto&) { return perceptron_loss(x, y); })},
      {"multiclass_perceptron_loss",
       loss([](auto& x, auto& y, auto&) { return multiclass_perceptron_loss(x, y); })},
      {"make_fenchel_young_loss", loss([](auto& x, auto& y, auto&) {
         const auto f = [](const Tensor& row) { return logsumexp(row, -1); };
         return make_fenchel_young_loss(f)(x, y);
       })},
      {"poly_loss_cross_entropy",
       loss([](auto& x, auto& y, auto&) { return poly_loss_cross_entropy(x, y); })},
      {"poly_loss_cross_entropy_axis", loss([](auto& x, auto& y, auto&) {
         return poly_loss_cross_entropy(x, y, {.epsilon = -0.5, .axis = 0});
       })},
      {"poly_loss_cross_entropy_where", loss([where](auto& x, auto& y, auto& in) {
         return poly_loss_cross_entropy(x, y, {.where = where(in)});
       })},
      {"ranking_softmax_loss",
       loss([](auto& x, auto& y, auto&) { return ranking_softmax_loss(x, y); })},
      {"ranking_softmax_loss_where", loss([where](auto& x, auto& y, auto& in) {
         return ranking_softmax_loss(x, y, {.where = where(in)});
       })},
      {"ranking_softmax_loss_weights", loss([where](auto& x, auto& y, auto& in) {
         return ranking_softmax_loss(x, y, {.where = where(in), .weights = in.at("weights")});
       })},
      {"ranking_softmax_loss_sum", loss([where](auto& x, auto& y, auto& in) {
         return ranking_softmax_loss(x, y, {.where = where(in), .reduction = Reduction::sum});
       })},
      {"ranking_softmax_loss_none", loss([](auto& x, auto& y, auto&) {
         return ranking_softmax_loss(x, y, {.reduction = Reduction::none});
       })},
      {"generalized_kl_divergence",
       loss([](auto& x, auto& y, auto&) { return generalized_kl_divergence(x, y); })},
      {"generalized_kl_divergence_all", loss([where](auto& x, auto& y, auto& in) {
         return generalized_kl_divergence(x, y, {.axis = Axes(), .where = where(in)});
       })},
      {"convex_kl_divergence",
       loss([](auto& x, auto& y, auto&) { return convex_kl_divergence(x, y, {.axis = 0}); })},
      {"multiclass_generalized_dice_loss",
       loss([](auto& x, auto& y, auto&) { return multiclass_generalized_dice_loss(x, y); })},
      {"multiclass_generalized_dice_loss_background", loss([](auto& x, auto& y, auto&) {
         return multiclass_generalized_dice_loss(x, y, {.smooth = 0.1, .ignore_background = true});
       })},
      {"multiclass_generalized_dice_loss_shares", loss([](auto& x, auto& y, auto&) {
         return multiclass_generalized_dice_loss(x, y, {.apply_softmax = false});
       })},
  };
}

// ---- Functions of optax

struct Layer {
  Tensor bias, weight;
};
Tensor squares_of(const Layer& layer, const Tensor& x, const Tensor& y) {
  return sum(square(tanh(matmul(x, matrix_transpose(layer.weight)) + layer.bias) - y));
}
Layer layer_of(const In& in) { return {in.at("bias"), in.at("x")}; }

FunctionCase perturbed(bool use_baseline, bool is_normal) {
  return {[=](const In& in) {
    auto noise = is_normal ? optim::normal_noise() : optim::gumbel_noise();
    noise.sample = [z = in.at("z")](const Tensor&, const Shape&, DType) { return z; };
    const auto f = [&](const Tensor& x) -> Tensor { return sum(round(3. * x) * in.at("c")); };
    const auto smooth = optim::make_perturbed_fun(
        f, {.num_samples = 2, .sigma = 0.3, .noise = noise, .use_baseline = use_baseline});
    return smooth(random::key(1), in.at("x"));
  }};
}

FunctionCase assignment() {
  return {[](const In& in) {
            const auto [i, j] = optim::hungarian_algorithm(in.at("x"));
            return stack(std::vector<Tensor>{i, j});
          },
          false};
}

FunctionCases optax_cases() {
  return {
      {"hessian_diag", {[](const In& in) {
         return optim::hessian_diag(squares_of, layer_of(in), in.at("inputs"), in.at("targets"));
       }}},
      {"fisher_diag", {[](const In& in) {
         return optim::fisher_diag(squares_of, layer_of(in), in.at("inputs"), in.at("targets"));
       }}},
      {"make_perturbed_fun_gumbel", perturbed(true, false)},
      {"make_perturbed_fun_normal", perturbed(false, true)},
      {"hungarian_square", assignment()},
      {"hungarian_wide", assignment()},
      {"hungarian_tall", assignment()},
      {"nnls", {[](const In& in) { return optim::nnls(in.at("x"), in.at("y"), 50); }}},
      {"nnls_columns", {[](const In& in) {
         return optim::nnls(in.at("x"), in.at("y"), 50, {.unroll = 5, .L = 40.});
       }}},
      {"power_iteration",
       {[](const In& in) {
          const auto [value, vector] =
              optim::power_iteration(in.at("x"), {.v0 = in.at("v0"), .num_iters = 30});
          return concat(std::vector<Tensor>{expand_dims(value, 0), vector});
        },
        false}},
      {"unitwise_clip", {[](const In& in) {
         const Tensor& x = in.at("x");
         return optim::unitwise_clip(optim::unitwise_norm(x), in.at("most"), x);
       }}},
  };
}

// ---- Models, as in torch.nn.utils

nn::Linear linear_of(const In& in) { return {in.at("x"), in.at("bias")}; }

template <class Prune>
FunctionCase pruned(Prune prune) {
  return {[prune](const In& in) {
    const auto model = prune(linear_of(in), in);
    const nn::Linear whole = model.whole();
    return concat(std::vector<Tensor>{flatten(whole.weight), *whole.bias,
                                      flatten(model.masks.at("weight_mask"))});
  }};
}

FunctionCases prune_cases() {
  namespace prune = nn::prune;
  return {
      {"l1_unstructured", pruned([](const nn::Linear& layer, const In&) {
         return prune::l1_unstructured(layer, {"weight"}, 0.3);
       })},
      {"l1_unstructured_scores", pruned([](const nn::Linear& layer, const In& in) {
         return prune::l1_unstructured(layer, {"weight"}, 5, {{"weight", in.at("scores")}});
       })},
      {"l1_unstructured_twice", pruned([](const nn::Linear& layer, const In&) {
         return prune::l1_unstructured(prune::l1_unstructured(layer, {"weight"}, 4), {"weight"},
                                       0.5);
       })},
      {"ln_structured", pruned([](const nn::Linear& layer, const In&) {
         return prune::ln_structured(layer, {"weight"}, 2, 1, 0);
       })},
      {"ln_structured_twice", pruned([](const nn::Linear& layer, const In&) {
         return prune::ln_structured(prune::l1_unstructured(layer, {"weight"}, 7), {"weight"}, 0.5,
                                     2, -1);
       })},
      {"global_unstructured", pruned([](const nn::Linear& layer, const In&) {
         return prune::global_unstructured(layer, {"weight", "bias"}, 9);
       })},
      {"custom_from_mask", pruned([](const nn::Linear& layer, const In& in) {
         return prune::custom_from_mask(layer, {"weight"}, in.at("mask"));
       })},
      {"prune_identity", pruned([](const nn::Linear& layer, const In&) {
         return prune::identity(layer, {"weight"});
       })},
  };
}

// The first value, and that where the originals have moved by x, from PyTorch's base: columns
// beside those of the weight may be any.
FunctionCase orthogonal(const nn::OrthogonalOptions& options) {
  return {[options](const In& in) {
    auto layer = nn::orthogonal(nn::Linear{in.at("weight"), {}}, options);
    const Tensor first = nn::remove_parametrizations(layer).weight;
    nn::OrthogonalWeight& computed = layer.parametrizations.weight;
    computed.original = computed.original + in.at("x");
    if (computed.trivialized) computed.trivialized->base = nn::Buffer(in.at("base"));
    return stack(std::vector<Tensor>{first, nn::remove_parametrizations(layer).weight});
  }};
}

FunctionCases orthogonal_cases() {
  using enum nn::OrthogonalMap;
  FunctionCases made;
  for (const auto& [name, map] : std::map<std::string, nn::OrthogonalMap>{
           {"matrix_exp", matrix_exp}, {"cayley", cayley}, {"householder", householder}}) {
    for (const std::string shape : {"tall", "wide", "square"}) {
      made["orthogonal_" + name + "_" + shape] = orthogonal({.orthogonal_map = map});
      made["orthogonal_" + name + "_" + shape + "_plain"] =
          orthogonal({.orthogonal_map = map, .use_trivialization = false});
    }
  }
  made["orthogonal_default_tall"] = orthogonal({});
  made["orthogonal_default_square"] = orthogonal({});
  return made;
}

nn::BatchNorm norm_of(const In& in) {
  nn::BatchNorm made;
  made.weight = in.at("gamma");
  made.bias = in.at("beta");
  made.running_mean = nn::Buffer(in.at("mean"));
  made.running_var = nn::Buffer(in.at("var"));
  made.training = false;
  return made;
}
template <class Made>
Tensor both_of(const Made& layer) {
  return concat(std::vector<Tensor>{flatten(layer.weight), *layer.bias});
}

FunctionCases fusion_cases() {
  using namespace nn;
  return {
      {"fuse_conv_bn_eval", {[](const In& in) {
         const Conv2d conv{.weight = in.at("x"), .bias = in.at("bias")};
         return both_of(fuse_conv_bn_eval(conv, norm_of(in)));
       }}},
      {"fuse_conv_bn_eval_groups", {[](const In& in) {
         const Conv1d conv{.weight = in.at("x"), .bias = {}, .groups = 2};
         return both_of(fuse_conv_bn_eval(conv, norm_of(in)));
       }}},
      {"fuse_conv_bn_eval_transposed", {[](const In& in) {
         const ConvTranspose2d conv{.weight = in.at("x"), .bias = in.at("bias"), .groups = 2};
         return both_of(fuse_conv_bn_eval(conv, norm_of(in)));
       }}},
      {"fuse_linear_bn_eval",
       {[](const In& in) { return both_of(fuse_linear_bn_eval(linear_of(in), norm_of(in))); }}},
      {"parameters_to_vector", {[](const In& in) { return parameters_to_vector(linear_of(in)); }}},
      {"vector_to_parameters", {[](const In& in) {
         const nn::Linear made =
             vector_to_parameters(in.at("x"), nn::Linear{in.at("w"), in.at("bias")});
         return 2. * made.weight + *made.bias;
       }}},
  };
}

// ---- All of them

Tensor weighted_sum(const Tensor& x) {
  return sum(cos(astype(iota(x.shape().element_count()), DType::f64)) * flatten(x));
}

void run_case(const std::string& name, const FunctionCase& each, const In& in,
              std::map<std::string, Array>& results) {
  const auto put = [&](const std::string& what, const Tensor& value) {
    results.insert_or_assign(name + what, value.array());
  };
  const auto jitted = [](const auto& f, const In& given) { return jit(frozen(f))(given); };
  put("", each.function(in));
  put("/jitted", jitted(each.function, in));
  if (!each.has_gradient) return;
  const auto slope = [&](const In& given) -> Tensor {
    const auto of_x = [&](const Tensor& x) {
      In at = given;
      at["x"] = x;
      return weighted_sum(each.function(at));
    };
    return grad(of_x)(given.at("x"));
  };
  put("/gradient", slope(in));
  put("/gradient_jitted", jitted(slope, in));
}

}  // namespace

void run_function_cases(const std::string& folder) {
  std::map<std::string, In> inputs;
  for (const auto& [name, array] : load_npz(folder + "/inputs.npz")) {
    const size_t slash = name.find('/');
    inputs[name.substr(0, slash)][name.substr(slash + 1)] = Tensor(array);
  }
  std::map<std::string, Array> results;
  for (const auto& cases : {projection_cases(), loss_cases(), optax_cases(), prune_cases(),
                            orthogonal_cases(), fusion_cases()}) {
    for (const auto& [name, each] : cases) {
      try {
        run_case(name, each, inputs.at(name), results);
      } catch (const std::exception& error) {
        throw ValueError("{}: {}", name, error.what());
      }
    }
  }
  save_npz(folder + "/out.npz", results);
}

}  // namespace plait
