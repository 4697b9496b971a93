// Activations, norms, convolutions, pooling, resampling and attention.
#include "plait/ops/indexing/embedding.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/loss.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/resampling.h"
#include "plait/ops/neural/softmax.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<Gelu> = {std::string_view("none"), std::string_view("tanh"),
                                              std::string_view("fast")};
template <>
inline constexpr std::array kChoices<BagMode> = {std::string_view("sum"), std::string_view("mean"),
                                                 std::string_view("max")};
template <>
inline constexpr std::array kChoices<Interpolation> = {
    std::string_view("nearest"), std::string_view("nearest_exact"), std::string_view("linear"),
    std::string_view("cubic"), std::string_view("area")};
template <>
inline constexpr std::array kChoices<Reduction> = {
    std::string_view("none"), std::string_view("mean"), std::string_view("sum"),
    std::string_view("batchmean")};
template <>
inline constexpr std::array kChoices<GridPadding> = {
    std::string_view("zeros"), std::string_view("border"), std::string_view("reflection")};

namespace {

using nb::arg;
using T = const Tensor&;

void bind_activations(nb::module_& m) {
  add_functions<Tensor(T)>(m,
                           {{"relu", relu, "max(x, 0); the derivative at 0 is 0."},
                            {"relu6", relu6, "min(max(x, 0), 6)."},
                            {"selu", selu, "elu, scaled to preserve mean and variance."},
                            {"silu", silu, "x * sigmoid(x)."},
                            {"mish", mish, "x * tanh(softplus(x))."},
                            {"softsign", softsign, "x / (1 + |x|)."},
                            {"logsigmoid", logsigmoid, "log(sigmoid(x))."},
                            {"hardsigmoid", hardsigmoid, "x / 6 + 1 / 2, limited to [0, 1]."},
                            {"hardswish", hardswish, "x * hardsigmoid(x)."},
                            {"tanhshrink", tanhshrink, "x - tanh(x)."}},
                           arg("x"));
  add_functions<Tensor(T, double)>(
      m, {{"leaky_relu", leaky_relu, "x, or negative_slope * x below 0."}}, arg("x"),
      arg("negative_slope") = 0.01);
  add_functions<Tensor(T, double)>(m,
                                   {{"elu", elu, "x, or alpha * (exp(x) - 1) below 0."},
                                    {"celu", celu, "x, or alpha * (exp(x / alpha) - 1) below 0."}},
                                   arg("x"), arg("alpha") = 1.0);
  add_functions<Tensor(T, double)>(
      m,
      {{"hardshrink", hardshrink, "x, or 0 between -lambda and lambda."},
       {"softshrink", softshrink, "x moved towards 0 by lambda, or 0."}},
      arg("x"), arg("lambd") = 0.5);
  add_functions<Tensor(T, double)>(m, {{"softplus", softplus, "log(1 + exp(beta * x)) / beta."}},
                                   arg("x"), arg("beta") = 1.0);
  add_functions<Tensor(T, T)>(
      m,
      {{"prelu", prelu,
        "x, or weight * x below 0; weight is one number, or one per channel (dimension 1)."}},
      arg("x"), arg("weight"));
  add_functions<Tensor(T, double, double, bool, T)>(
      m,
      {{"rrelu", rrelu,
        "x, or a slope of x below 0: the middle of the range, or in training a random one for each "
        "element, by a key."}},
      arg("x"), arg("lower") = 1. / 8, arg("upper") = 1. / 3, arg("training") = false,
      arg("key") = nb::none());
  add_functions<Tensor(T, double, bool, int64_t, T)>(
      m,
      {{"gumbel_softmax", gumbel_softmax,
        "softmax((logits + noise) / tau) with Gumbel noise by a key; if hard, one-hot with the "
        "derivative of the soft one."}},
      arg("logits"), arg("tau") = 1.0, arg("hard") = false, arg("axis") = -1,
      arg("key") = nb::none());
  add_functions<Tensor(T, double, double)>(
      m, {{"hardtanh", hardtanh, "x limited to the range from `min_val` to `max_val`."}}, arg("x"),
      arg("min_val") = -1.0, arg("max_val") = 1.0);
  add_functions<Tensor(T, double, double)>(
      m, {{"threshold", threshold, "x above the threshold, else the value."}}, arg("x"),
      arg("threshold"), arg("value"));
  add_functions<Tensor(T, Gelu)>(
      m,
      {{"gelu", gelu,
        "x times the normal distribution function of x; approximate: none, tanh, fast."}},
      arg("x"), arg("approximate") = "none");
  add_functions<Tensor(T, int64_t)>(
      m,
      {{"softmax", softmax, "exp(x) divided by its sum along the axis."},
       {"softmin", softmin, "softmax(-x)."},
       {"log_softmax", log_softmax, "log(softmax(x)), finite also where softmax underflows to 0."},
       {"masked_softmax", masked_softmax,
        "softmax, with 0 instead of NaN where all elements are -inf."},
       {"glu", glu, "The first half along the axis, times sigmoid of the second half."}},
      arg("x"), arg("axis") = -1);
}

Tensor dropout_of(T x, double probability, T key, T keep, bool training) {
  if (key && keep) {
    throw ValueError("dropout: the key and `keep` both determine which elements are kept")
        .hint("pass only one");
  }
  if (!training) return x;
  if (keep) return dropout(x, keep, probability);
  return key ? dropout(x, probability, key) : dropout(x, probability);
}

using Dropped = Tensor(T, double);
template <Tensor (*keyed)(T, double, T), Dropped* keyless>
Tensor drop(T x, double probability, T key, bool training) {
  if (!training) return x;
  return key ? keyed(x, probability, key) : keyless(x, probability);
}

void bind_dropouts(nb::module_& m) {
  add_functions<Tensor(T, double, T, T, bool)>(
      m,
      {{"dropout", dropout_of,
        "x / (1 - p), or 0 with probability p, by a key; or 0 where the boolean mask `keep` is "
        "False; x itself if not training."}},
      arg("x"), arg("p") = 0.5, arg("key") = nb::none(), arg("keep") = nb::none(),
      arg("training") = true);
  add_functions<Tensor(T, double, T, bool)>(
      m,
      {{"dropout1d", drop<dropout1d, dropout1d>,
        "dropout of whole channels of [batch, channels, length] or [channels, length]."},
       {"dropout2d", drop<dropout2d, dropout2d>,
        "dropout of whole channels of [batch, channels, h, w] or [batch, channels, length]."},
       {"dropout3d", drop<dropout3d, dropout3d>,
        "dropout of whole channels of [batch, channels, d, h, w] or [channels, d, h, w]."},
       {"alpha_dropout", drop<alpha_dropout, alpha_dropout>,
        "Dropout for selu: elements become its least value, then mean 0 and variance 1 are "
        "restored."},
       {"feature_alpha_dropout", drop<feature_alpha_dropout, feature_alpha_dropout>,
        "alpha_dropout of whole channels of [batch, channels, ...]."}},
      arg("x"), arg("p") = 0.5, arg("key") = nb::none(), arg("training") = true);
  add_functions<Tensor(T, double, T, bool)>(
      m,
      {{"drop_path", drop<drop_path, drop_path>,
        "Stochastic depth: dropout of whole samples of [batch, ...]."}},
      arg("x"), arg("p"), arg("key") = nb::none(), arg("training") = true);
}

void bind_normalizations(nb::module_& m) {
  const nb::arg_v weight = arg("weight") = nb::none(), bias = arg("bias") = nb::none();
  add_functions<Tensor(T, T, T)>(m, {{"linear", linear, "x @ weight.T + bias."}}, arg("x"),
                                 arg("weight"), bias);
  add_functions<Tensor(T, T, T, T)>(
      m,
      {{"bilinear", bilinear,
        "The sums of a[i] * weight[o, i, j] * b[j], + bias, of the last dimensions of a and b."}},
      arg("a"), arg("b"), arg("weight"), bias);
  add_functions<Tensor(T, int64_t, double, double, double)>(
      m,
      {{"local_response_norm", local_response_norm,
        "x / (k + alpha * mean of x**2 over `size` neighbouring channels)**beta."}},
      arg("x"), arg("size"), arg("alpha") = 1e-4, arg("beta") = 0.75, arg("k") = 1.0);
  add_functions<Tensor(T, double, const Axes&, double)>(
      m,
      {{"normalize", normalize,
        "x divided by its p-norm along the axes; the norm is at least eps."}},
      arg("x"), arg("p") = 2.0, arg("axis") = 1, arg("eps") = 1e-12);
  add_functions<Standardized(T, double, bool)>(
      m, {{"standardize", standardize, "(x - mean) * scale along the last dimension, and scale."}},
      arg("x"), arg("eps"), arg("is_centred") = true);
  add_functions<Tensor(T, const Shape&, T, T, double)>(
      m,
      {{"layer_norm", layer_norm,
        "Layer normalisation over the last dimensions, whose sizes are `normalized_shape`."}},
      arg("x"), arg("normalized_shape"), weight, bias, arg("eps") = 1e-5);
  add_functions<Tensor(T, const Shape&, T, std::optional<double>)>(
      m,
      {{"rms_norm", rms_norm,
        "Root mean square normalisation: layer_norm without the mean; eps is by default that of "
        "the dtype."}},
      arg("x"), arg("normalized_shape"), weight, arg("eps") = nb::none());
  add_functions<Tensor(T, int64_t, T, T, double)>(
      m,
      {{"group_norm", group_norm,
        "Group normalisation, over space and each group of neighbouring channels."}},
      arg("x"), arg("num_groups"), weight, bias, arg("eps") = 1e-5);
  add_functions<Tensor(T, T, T, double)>(
      m, {{"instance_norm", instance_norm, "Instance normalisation, over space."}}, arg("x"),
      weight, bias, arg("eps") = 1e-5);
  add_functions<BatchNormed(T, const BatchNormOptions&)>(
      m,
      {{"batch_norm", batch_norm,
        "Batch normalisation, by the statistics of this batch in training, else by the running "
        "ones."}},
      arg("x"));
}

void bind_convolutions(nb::module_& m) {
  add_functions<Tensor(T, T, T, const ConvolutionOptions&)>(
      m,
      {{"conv1d", conv1d,
        "1D convolution of x [batch, channels, length] by weight [outputs, channels / groups, "
        "length]."},
       {"conv2d", conv2d,
        "2D convolution of x [batch, channels, h, w] by weight [outputs, channels / groups, h, "
        "w]."},
       {"conv3d", conv3d,
        "3D convolution of x [batch, channels, d, h, w] by weight [outputs, channels / groups, d, "
        "h, w]."}},
      arg("x"), arg("weight"), arg("bias") = nb::none());
  add_functions<Tensor(T, T, const GeneralConvolutionOptions&)>(
      m,
      {{"conv_general", conv_general,
        "Convolution of any layout: N batch, C channels, O outputs, I inputs per group, other "
        "letters are spatial dimensions."}},
      arg("x"), arg("weight"));
  add_functions<Tensor(T, T, T, const TransposedConvolutionOptions&)>(
      m,
      {{"conv_transpose1d", conv_transpose1d,
        "The transpose of conv1d (its derivative with respect to the input)."},
       {"conv_transpose2d", conv_transpose2d,
        "The transpose of conv2d (its derivative with respect to the input)."},
       {"conv_transpose3d", conv_transpose3d,
        "The transpose of conv3d (its derivative with respect to the input)."}},
      arg("x"), arg("weight"), arg("bias") = nb::none());
}

void bind_pooling(nb::module_& m) {
  using Window = const PerDimension&;
  add_functions<Tensor(T, Window, const MaxPoolOptions&)>(
      m,
      {{"max_pool1d", max_pool1d, "The maximum of each window of one dimension."},
       {"max_pool2d", max_pool2d, "The maximum of each window of two dimensions."},
       {"max_pool3d", max_pool3d, "The maximum of each window of three dimensions."}},
      arg("x"), arg("kernel_size"));
  add_functions<MaxPooled(T, Window, const MaxPoolOptions&)>(
      m,
      {{"max_pool1d_with_indices", max_pool1d_with_indices,
        "max_pool1d, and the index of each maximum."},
       {"max_pool2d_with_indices", max_pool2d_with_indices,
        "max_pool2d, and the flat index of each maximum in its plane."},
       {"max_pool3d_with_indices", max_pool3d_with_indices,
        "max_pool3d, and the flat index of each maximum in its volume."}},
      arg("x"), arg("kernel_size"));
  add_functions<Tensor(T, Window, const AveragePoolOptions&)>(
      m,
      {{"avg_pool1d", avg_pool1d, "The mean of each window of one dimension."},
       {"avg_pool2d", avg_pool2d, "The mean of each window of two dimensions."},
       {"avg_pool3d", avg_pool3d, "The mean of each window of three dimensions."}},
      arg("x"), arg("kernel_size"));
  add_functions<Tensor(T, double, Window, const LpPoolOptions&)>(
      m,
      {{"lp_pool1d", lp_pool1d, "The p-norm of each window of one dimension, for p = norm_type."},
       {"lp_pool2d", lp_pool2d, "The p-norm of each window of two dimensions, for p = norm_type."},
       {"lp_pool3d", lp_pool3d,
        "The p-norm of each window of three dimensions, for p = norm_type."}},
      arg("x"), arg("norm_type"), arg("kernel_size"));
  add_functions<Tensor(T, T, Window, const MaxUnpoolOptions&)>(
      m,
      {{"max_unpool1d", max_unpool1d,
        "Zeros, and each value at its index: a partial inverse of max_pool1d_with_indices."},
       {"max_unpool2d", max_unpool2d,
        "Zeros, and each value at its index: a partial inverse of max_pool2d_with_indices."},
       {"max_unpool3d", max_unpool3d,
        "Zeros, and each value at its index: a partial inverse of max_pool3d_with_indices."}},
      arg("x"), arg("indices"), arg("kernel_size"));
  add_functions<Tensor(T, Window, const FractionalMaxPoolOptions&)>(
      m,
      {{"fractional_max_pool2d", fractional_max_pool2d,
        "The maxima of windows at pseudorandom places in a plane, by samples or a key."},
       {"fractional_max_pool3d", fractional_max_pool3d,
        "The maxima of windows at pseudorandom places in a volume, by samples or a key."}},
      arg("x"), arg("kernel_size"));
  add_functions<MaxPooled(T, Window, const FractionalMaxPoolOptions&)>(
      m,
      {{"fractional_max_pool2d_with_indices", fractional_max_pool2d_with_indices,
        "fractional_max_pool2d, and the flat index of each maximum in its plane."},
       {"fractional_max_pool3d_with_indices", fractional_max_pool3d_with_indices,
        "fractional_max_pool3d, and the flat index of each maximum in its volume."}},
      arg("x"), arg("kernel_size"));
  add_functions<Tensor(T, Window)>(m,
                                   {{"adaptive_avg_pool1d", adaptive_avg_pool1d,
                                     "The means of windows, for a given output size."},
                                    {"adaptive_avg_pool2d", adaptive_avg_pool2d,
                                     "The means of windows, for a given output size."},
                                    {"adaptive_avg_pool3d", adaptive_avg_pool3d,
                                     "The means of windows, for a given output size."},
                                    {"adaptive_max_pool1d", adaptive_max_pool1d,
                                     "The maxima of windows, for a given output size."},
                                    {"adaptive_max_pool2d", adaptive_max_pool2d,
                                     "The maxima of windows, for a given output size."},
                                    {"adaptive_max_pool3d", adaptive_max_pool3d,
                                     "The maxima of windows, for a given output size."}},
                                   arg("x"), arg("output_size"));
  add_functions<MaxPooled(T, Window)>(
      m,
      {{"adaptive_max_pool1d_with_indices", adaptive_max_pool1d_with_indices,
        "The maxima of windows, for a given output size, and their indices."},
       {"adaptive_max_pool2d_with_indices", adaptive_max_pool2d_with_indices,
        "The maxima of windows, for a given output size, and their flat indices in the plane."},
       {"adaptive_max_pool3d_with_indices", adaptive_max_pool3d_with_indices,
        "The maxima of windows, for a given output size, and their flat indices in the volume."}},
      arg("x"), arg("output_size"));
}

void bind_resampling(nb::module_& m) {
  add_functions<Tensor(T, const InterpolateOptions&)>(
      m,
      {{"interpolate", interpolate,
        "Resamples the spatial dimensions of x to other sizes, or by a scale. Modes: nearest, "
        "nearest_exact, linear, cubic, area."}},
      arg("x"));
  add_functions<Tensor(T, T, const GridSampleOptions&)>(
      m,
      {{"grid_sample", grid_sample,
        "Samples x at the positions of the grid, with coordinates from -1 to 1. Padding: zeros, "
        "border, reflection."}},
      arg("x"), arg("grid"));
  add_functions<Tensor(T, const std::vector<Dim>&, bool)>(
      m,
      {{"affine_grid", affine_grid,
        "The grid of grid_sample for affine maps theta of an image of size [batch, channels, "
        "...]."}},
      arg("theta"), arg("size"), arg("align_corners") = false);
}

void bind_attention(nb::module_& m) {
  add_functions<Tensor(T, T, T, const AttentionOptions&)>(
      m,
      {{"scaled_dot_product_attention", scaled_dot_product_attention,
        "softmax(scale * query @ key.mT + attn_mask) @ value; several query heads may share a head "
        "of key and value."}},
      arg("query"), arg("key"), arg("value"));
  add_functions<Tensor(T, const RopeOptions&)>(
      m,
      {{"rope", rope,
        "Rotary position embedding: rotates pairs of x [..., length, width] by position * "
        "base**(-2 * i / width)."}},
      arg("x"));
}

void bind_embeddings(nb::module_& m) {
  add_functions<Tensor(T, T, const EmbeddingBagOptions&)>(
      m,
      {{"embedding_bag", embedding_bag,
        "The sum, mean or max of the rows of a table that the ids of each bag name."}},
      arg("ids"), arg("weight"));
}

void bind_losses_of_classes(nb::module_& m) {
  add_functions<Tensor(T, T, const CrossEntropyOptions&)>(
      m,
      {{"cross_entropy", cross_entropy,
        "Cross-entropy of logits, and classes or probabilities; reduction: none, mean, sum, "
        "batchmean."}},
      arg("logits"), arg("target"));
  add_functions<Tensor(T, T, const NllOptions&)>(
      m, {{"nll_loss", nll_loss, "The negative log-likelihood of log-probabilities, and classes."}},
      arg("log_probabilities"), arg("target"));
  add_functions<Tensor(T, T, const BinaryCrossEntropyOptions&)>(
      m,
      {{"binary_cross_entropy", binary_cross_entropy,
        "-(t * log(p) + (1 - t) * log(1 - p)); logarithms are limited to -100 from below."}},
      arg("probabilities"), arg("target"));
  add_functions<Tensor(T, T, const BinaryLogitsOptions&)>(
      m,
      {{"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits,
        "binary_cross_entropy of sigmoid(logits), accurate also where sigmoid saturates."}},
      arg("logits"), arg("target"));
  add_functions<Tensor(T, T, const FocalOptions&)>(
      m,
      {{"focal_loss", focal_loss,
        "binary_cross_entropy_with_logits times (1 - probability of the target)**gamma."}},
      arg("logits"), arg("target"));
  add_functions<Tensor(T, T, const MultiMarginOptions&)>(
      m,
      {{"multi_margin_loss", multi_margin_loss,
        "The mean of max(0, margin - x[target] + x[i])**p over the other classes i."}},
      arg("x"), arg("target"));
  add_functions<Tensor(T, T, Reduction)>(m,
                                         {{"multilabel_margin_loss", multilabel_margin_loss,
                                           "The sum of max(0, 1 - (x[target] - x[other])) over all "
                                           "pairs, divided by the number of classes."}},
                                         arg("x"), arg("target"), arg("reduction") = "mean");
  add_functions<Tensor(T, T, const BinaryCrossEntropyOptions&)>(
      m,
      {{"multilabel_soft_margin_loss", multilabel_soft_margin_loss,
        "The mean over the last dimension of binary cross-entropies of logits."}},
      arg("x"), arg("target"));
  add_functions<Tensor(T, T, T, T, const CtcOptions&)>(
      m,
      {{"ctc_loss", ctc_loss,
        "The negative log-likelihood of all alignments of the targets; log_probabilities: [steps, "
        "batch, classes]."}},
      arg("log_probabilities"), arg("targets"), arg("input_lengths"), arg("target_lengths"));
}

void bind_losses_of_numbers(nb::module_& m) {
  const nb::arg_v reduction = arg("reduction") = "mean";
  add_functions<Tensor(T, T, Reduction)>(
      m,
      {{"mse_loss", mse_loss, "(x - target)**2"},
       {"l1_loss", l1_loss, "|x - target|"},
       {"soft_margin_loss", soft_margin_loss, "log(1 + exp(-x * target)), for targets 1 and -1."}},
      arg("x"), arg("target"), reduction);
  add_functions<Tensor(T, T, double, Reduction)>(
      m, {{"smooth_l1_loss", smooth_l1_loss, "d**2 / (2 * beta) below beta, then d - beta / 2."}},
      arg("x"), arg("target"), arg("beta") = 1.0, reduction);
  add_functions<Tensor(T, T, double, Reduction)>(
      m, {{"huber_loss", huber_loss, "d**2 / 2 up to delta, then delta * (d - delta / 2)."}},
      arg("x"), arg("target"), arg("delta") = 1.0, reduction);
  add_functions<Tensor(T, T, const KlDivOptions&)>(
      m, {{"kl_div_loss", kl_div_loss, "target * (log(target) - x), where x is a logarithm."}},
      arg("x"), arg("target"));
  add_functions<Tensor(T, T, T, const GaussianNllOptions&)>(
      m,
      {{"gaussian_nll_loss", gaussian_nll_loss,
        "(log(variance) + (x - target)**2 / variance) / 2"}},
      arg("x"), arg("target"), arg("variance"));
  add_functions<Tensor(T, T, const PoissonNllOptions&)>(
      m,
      {{"poisson_nll_loss", poisson_nll_loss,
        "exp(x) - target * x, or x - target * log(x) if x is not a logarithm."}},
      arg("x"), arg("target"));
  add_functions<Tensor(T, T, double, Reduction)>(
      m,
      {{"hinge_embedding_loss", hinge_embedding_loss,
        "x for targets 1, max(0, margin - x) for targets -1."}},
      arg("x"), arg("target"), arg("margin") = 1.0, reduction);
  add_functions<Tensor(T, T, T, double, Reduction)>(
      m,
      {{"margin_ranking_loss", margin_ranking_loss, "max(0, margin - target * (a - b))"},
       {"cosine_embedding_loss", cosine_embedding_loss,
        "1 - cosine_similarity for targets 1, max(0, cosine_similarity - margin) for targets -1."}},
      arg("a"), arg("b"), arg("target"), arg("margin") = 0.0, reduction);
  add_functions<Tensor(T, T, int64_t, double)>(
      m, {{"cosine_similarity", cosine_similarity, "a @ b / (|a| * |b|) along an axis."}}, arg("a"),
      arg("b"), arg("axis") = 1, arg("eps") = 1e-8);
  add_functions<Tensor(T, T, double, double, bool)>(
      m,
      {{"pairwise_distance", pairwise_distance,
        "The p-norm of a - b + eps along the last dimension."}},
      arg("a"), arg("b"), arg("p") = 2.0, arg("eps") = 1e-6, arg("keepdims") = false);
  add_functions<Tensor(T, double)>(
      m, {{"pdist", pdist, "The p-norms of the differences of each two rows of x [n, width]."}},
      arg("x"), arg("p") = 2.0);
  add_functions<Tensor(T, T, T, const TripletOptions&)>(
      m,
      {{"triplet_margin_loss", triplet_margin_loss,
        "max(0, margin + distance to the positive - distance to the negative)"}},
      arg("anchor"), arg("positive"), arg("negative"));
}

}  // namespace

void bind_neural_functions(nb::module_& module) {
  bind_activations(module);
  bind_normalizations(module);
  bind_dropouts(module);
  bind_convolutions(module);
  bind_pooling(module);
  bind_resampling(module);
  bind_attention(module);
  bind_embeddings(module);
  bind_losses_of_classes(module);
  bind_losses_of_numbers(module);
}

}  // namespace plait::python
