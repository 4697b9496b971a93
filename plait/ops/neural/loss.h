// How far predictions are from targets. Narrow floats are computed in f32 and rounded once;
// integers give f32. Sizes of 1 stretch.
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

// What is made of the losses of all samples.
enum class Reduction : uint8_t {
  none,
  mean,
  sum,
  batchmean,  // the sum over the first size
};

// ---- Of classes.

struct CrossEntropyOptions {
  std::optional<int64_t> axis = {};  // of the classes: 1, or 0 of a vector
  Tensor weight = {};                // of the classes; a mean is divided by those of the targets
  // Samples of this class count for nothing. A mean of none is NaN, with derivatives of 0.
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // the share of the target that all classes get alike
  Reduction reduction = Reduction::mean;
};
// The target holds classes, without the axis (IndexError for one that is not there), or their
// probabilities, with it. A class of probability 0 costs nothing, also where its logit is −∞.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

struct NllOptions {
  std::optional<int64_t> axis = {};
  Tensor weight = {};
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
// The same of logarithms of probabilities, and classes.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const NllOptions& options = {});

struct BinaryCrossEntropyOptions {
  Tensor weight = {};  // of what it stretches with
  Reduction reduction = Reduction::mean;
};
// Of probabilities; NaN for what is none. Logarithms count as −100 at least.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target,
                            const BinaryCrossEntropyOptions& options = {});

struct BinaryLogitsOptions {
  Tensor weight = {};
  Tensor pos_weight = {};  // of targets of 1
  Reduction reduction = Reduction::mean;
};
// The probabilities are sigmoid(logits).
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryLogitsOptions& options = {});

struct FocalOptions {
  std::optional<double> alpha = {};  // the weight of targets of 1, as 0.25; that of 0 is the rest
  double gamma = 2;                  // by how much what is known well counts less
  Reduction reduction = Reduction::mean;
};
// binary_cross_entropy_with_logits, each by (1 − probability of the target)^gamma.
Tensor focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options = {});

struct MultiMarginOptions {
  int64_t p = 1;  // 1 or 2
  double margin = 1;
  Tensor weight = {};  // of the classes
  Reduction reduction = Reduction::mean;
};
// The mean over the other classes' max(0, margin − x[target] + x[i])^p: x is [batch, classes] or
// [classes].
Tensor multi_margin_loss(const Tensor& x, const Tensor& target,
                         const MultiMarginOptions& options = {});
// Rows of the target name classes, up to the first that is negative: over all pairs of one that is
// named and one that is not, max(0, 1 − (x[named] − x[other])), by how many classes there are.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              Reduction reduction = Reduction::mean);
// The mean over the classes, along the last dimension, of binary cross-entropies of logits.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                   const BinaryCrossEntropyOptions& options = {});

struct CtcOptions {
  int64_t blank = 0;
  Reduction reduction = Reduction::mean;  // where each is first divided by its length
  bool zero_infinity = false;             // 0 for targets that no path gives, else ∞
};
// −log of the sum over all paths that give the target when repetitions, then blanks are left out:
// log_probabilities is [steps, batch, classes], targets [batch, length] of which each uses its
// target_length, or all of them after each other in one vector. Without the batch: [steps,
// classes], a vector and two numbers. Targets of no path have derivatives of 0.
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

// ---- Of numbers.

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
// d²/(2 beta) for a distance d below beta, then d − beta/2.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean);
// d²/2 for a distance d up to delta, then delta · (d − delta/2).
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);

struct KlDivOptions {
  Reduction reduction = Reduction::mean;  // batchmean gives the divergence of distributions
  bool log_target = false;                // the target is given as logarithms too
};
// target · (log target − x), where x are logarithms; 0 for a target of 0.
Tensor kl_div_loss(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

struct GaussianNllOptions {
  bool full = false;  // with the constant ½ log 2π
  double eps = 1e-6;  // variances count as this at least; derivatives go through all the same
  Reduction reduction = Reduction::mean;
};
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& variance,
                         const GaussianNllOptions& options = {});

struct PoissonNllOptions {
  bool log_input = true;  // x is the logarithm of the rate
  bool full = false;      // with Stirling's approximation of log target!, for targets above 1
  double eps = 1e-8;      // is added to the rate in its logarithm
  Reduction reduction = Reduction::mean;
};
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                        const PoissonNllOptions& options = {});

// ---- Of targets 1 and −1.

// log(1 + e^(−x · target))
Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::mean);
// x for 1, max(0, margin − x) for −1.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
// max(0, margin − target · (a − b))
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                           double margin = 0, Reduction reduction = Reduction::mean);
// Of vectors along the last dimension: 1 − cosine_similarity for 1, max(0, that − margin) for −1.
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             double margin = 0, Reduction reduction = Reduction::mean);

// ---- Of vectors.

// a · b / (|a| |b|) along an axis, where each length counts as eps at least.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);
// The p-norm of a − b + eps along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         bool keepdims = false);

struct TripletOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;  // the negative's distance is the lesser one, from the anchor or the positive
  Reduction reduction = Reduction::mean;
};
// max(0, margin + the distance to the positive − that to the negative)
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options = {});

}  // namespace plait
