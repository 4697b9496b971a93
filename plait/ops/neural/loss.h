// Loss functions. Narrow floats are computed in f32 and rounded once. Integers are converted to
// f32. Shapes are broadcast.
#pragma once

#include <optional>

#include "plait/tensor/tensor.h"

namespace plait {

// Reduction of the losses of all samples.
enum class Reduction : uint8_t {
  none,
  mean,
  sum,
  batchmean,  // the sum divided by the size of the first dimension
};

// ---- Classification.

struct CrossEntropyOptions {
  std::optional<int64_t> axis = {};  // axis of the classes; by default 1, or 0 for a vector
  Tensor weight = {};                // per class; mean divides by the sum of the targets' weights
  // Targets of this class are ignored. The mean over no targets is NaN, with derivatives of 0.
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // share of the target that is spread evenly over all classes
  Reduction reduction = Reduction::mean;
};
// The target holds either class indices, without the class axis (IndexError if out of range), or
// probabilities, with it. A class of target probability 0 adds nothing, even if its logit is −∞.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});

struct NllOptions {
  std::optional<int64_t> axis = {};
  Tensor weight = {};
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
// Cross-entropy of log-probabilities and class indices.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const NllOptions& options = {});

struct BinaryCrossEntropyOptions {
  Tensor weight = {};  // broadcast with the operands
  Reduction reduction = Reduction::mean;
};
// Cross-entropy of probabilities; NaN outside of [0, 1]. Logarithms are clamped to at least −100.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target,
                            const BinaryCrossEntropyOptions& options = {});

struct BinaryLogitsOptions {
  Tensor weight = {};
  Tensor pos_weight = {};  // weight of targets of 1
  Reduction reduction = Reduction::mean;
};
// The same for probabilities sigmoid(logits), computed stably.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryLogitsOptions& options = {});

struct FocalOptions {
  std::optional<double> alpha = {};  // weight of targets of 1, such as 0.25; 1 − alpha is that of
                                     // targets of 0
  double gamma = 2;                  // how strongly well-classified samples are down-weighted
  Reduction reduction = Reduction::mean;
};
// binary_cross_entropy_with_logits, times (1 − probability of the target)^gamma.
Tensor focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options = {});

struct MultiMarginOptions {
  int64_t p = 1;  // 1 or 2
  double margin = 1;
  Tensor weight = {};  // per class
  Reduction reduction = Reduction::mean;
};
// The mean of max(0, margin − x[target] + x[i])^p over the classes i ≠ target, for x of shape
// [batch, classes] or [classes].
Tensor multi_margin_loss(const Tensor& x, const Tensor& target,
                         const MultiMarginOptions& options = {});
// Rows of the target list class indices, up to the first negative one. Sums max(0, 1 − (x[listed] −
// x[other])) over all pairs of a listed and an unlisted class, and divides by the number of
// classes.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target,
                              Reduction reduction = Reduction::mean);
// The mean over the classes (the last dimension) of binary cross-entropies of logits.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                   const BinaryCrossEntropyOptions& options = {});

struct CtcOptions {
  int64_t blank = 0;
  Reduction reduction = Reduction::mean;  // mean first divides each loss by its target length
  bool zero_infinity = false;             // 0 instead of ∞ for targets without a path
};
// Connectionist temporal classification: −log of the total probability of all paths that become the
// target when repetitions and then blanks are removed. log_probabilities is [steps, batch,
// classes]; targets is [batch, length], of which each sample uses its target_length, or all targets
// concatenated. Without a batch: [steps, classes], a vector, and two numbers. Targets without a
// path have derivatives of 0.
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CtcOptions& options = {});

// ---- Regression.

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
// d²/(2 beta) if d = |x − target| is below beta, else d − beta/2.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean);
// d²/2 if d = |x − target| is at most delta, else delta · (d − delta/2).
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);

struct KlDivOptions {
  Reduction reduction = Reduction::mean;  // batchmean is the mathematical definition of the
                                          // divergence
  bool log_target = false;                // the target is given as logarithms too
};
// Kullback-Leibler divergence target · (log target − x), where x holds log-probabilities; 0 for a
// target of 0.
Tensor kl_div_loss(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

struct GaussianNllOptions {
  bool full = false;  // adds the constant ½ log 2π
  double eps = 1e-6;  // lower bound of the variances; derivatives ignore the clamping
  Reduction reduction = Reduction::mean;
};
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& variance,
                         const GaussianNllOptions& options = {});

struct PoissonNllOptions {
  bool log_input = true;  // x is the logarithm of the rate
  bool full = false;      // adds Stirling's approximation of log target!, for targets above 1
  double eps = 1e-8;      // added to the rate before its logarithm
  Reduction reduction = Reduction::mean;
};
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                        const PoissonNllOptions& options = {});

// ---- Losses for targets 1 and −1.

// log(1 + e^(−x · target)).
Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::mean);
// x for target 1, max(0, margin − x) for target −1.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
// max(0, margin − target · (a − b)).
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                           double margin = 0, Reduction reduction = Reduction::mean);
// For vectors along the last dimension: 1 − cosine_similarity for target 1, max(0,
// cosine_similarity − margin) for target −1. Each squared norm has 10⁻¹² added.
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             double margin = 0, Reduction reduction = Reduction::mean);

// ---- Distances of vectors.

// a · b / (|a| |b|) along an axis, with each norm clamped to at least eps.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);
// The p-norm of a − b + eps along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         bool keepdims = false);

// The p-norms of x[i] − x[j] for all i < j, with x of shape [n, width]: [n (n − 1) / 2], in the
// order of i, then j. The derivative of a norm of 0 is 0.
Tensor pdist(const Tensor& x, double p = 2);

struct TripletOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;  // uses the smaller of the distances of the negative to the anchor and to the
                      // positive
  Reduction reduction = Reduction::mean;
};
// max(0, margin + distance to the positive − distance to the negative).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options = {});

}  // namespace plait
