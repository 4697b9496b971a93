// Losses of numbers, vectors and distributions, with PyTorch's options. Their functions are in
// ops/neural/loss.h.
#pragma once

#include <type_traits>

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/loss.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// |input − target|.
struct L1Loss {
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// (input − target)².
struct MSELoss {
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// d² / (2 beta) where d = |input − target| is below beta, else d − beta / 2.
struct SmoothL1Loss {
  Reduction reduction = Reduction::mean;
  double beta = 1;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// d² / 2 where d = |input − target| is at most delta, else delta (d − delta / 2).
struct HuberLoss {
  Reduction reduction = Reduction::mean;
  double delta = 1;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// The negative log-likelihood of counts under Poisson distributions.
struct PoissonNLLLoss {
  bool log_input = true;  // the input has the logarithms of the rates
  bool full = false;      // adds Stirling's approximation of log target!
  double eps = 1e-8;      // added to rates before their logarithm
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// The negative log-likelihood of the target under normal distributions with means `input` and
// variances `var`. A variance without the last axis is that of all its elements.
struct GaussianNLLLoss {
  bool full = false;  // adds the constant ½ log 2π
  double eps = 1e-6;  // lower bound of the variances
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target, const Tensor& var) const;
};

// Kullback-Leibler divergence target (log target − input), where the input has log-probabilities.
// Reduction::batchmean is its mathematical definition, averaged over the batch.
struct KLDivLoss {
  Reduction reduction = Reduction::mean;
  bool log_target = false;  // the target has logarithms too

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// log(1 + e^(−target · input)), for targets 1 and −1.
struct SoftMarginLoss {
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// The input for target 1, max(0, margin − input) for target −1.
struct HingeEmbeddingLoss {
  double margin = 1;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// 1 − cos of the angle between two vectors for target 1, max(0, cos − margin) for target −1.
struct CosineEmbeddingLoss {
  double margin = 0;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target) const;
};

// max(0, margin − target (input1 − input2)): the first should be larger for target 1, the second
// for −1.
struct MarginRankingLoss {
  double margin = 0;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input1, const Tensor& input2, const Tensor& target) const;
};

// max(0, margin + distance to the positive − distance to the negative), of p-norms.
struct TripletMarginLoss {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;  // uses the smaller of the distances of the negative to the anchor and to the
                      // positive
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const;
};

// pairwise_distance without its options.
Tensor euclidean_distance(const Tensor& a, const Tensor& b);
// The same loss for distances to the positive and to the negative.
Tensor triplet_loss_of(const Tensor& near, const Tensor& far, double margin, Reduction reduction);

using DistanceFunction = Tensor (*)(const Tensor& a, const Tensor& b);

// TripletMarginLoss with a distance of your own: a function of two tensors, or a layer.
template <class Distance = DistanceFunction>
struct TripletMarginWithDistanceLoss {
  Distance distance_function = {};  // euclidean_distance by default
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& anchor, const Tensor& positive, const Tensor& negative) const {
    Tensor far = distance(anchor, negative);
    if (swap) far = minimum(far, distance(positive, negative));
    return triplet_loss_of(distance(anchor, positive), far, margin, reduction);
  }
  Tensor distance(const Tensor& a, const Tensor& b) const {
    if constexpr (std::is_pointer_v<Distance>) {
      if (distance_function == nullptr) return euclidean_distance(a, b);
    }
    return distance_function(a, b);
  }
};
// The same as a function; the options are the fields.
template <class Distance = DistanceFunction>
Tensor triplet_margin_with_distance_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative,
    const TripletMarginWithDistanceLoss<Distance>& options = {}) {
  return options(anchor, positive, negative);
}

}  // namespace plait::nn
