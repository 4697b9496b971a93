#include "plait/ops/neural/loss.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/numbers/promotion.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/neural/loss_parts.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

namespace plait {
namespace {

// distance²/2 up to `bound`, then linear with the slope at `bound`. The formula that is not
// selected is not evaluated at the distance, since 0 · ∞ would appear in its derivative.
Tensor square_then_line(const Tensor& distance, double bound) {
  const Tensor is_far = distance > bound;
  return where(is_far, bound * (distance - bound / 2), square(where(is_far, 0, distance)) / 2);
}

// log_of(x), at least −100; a constant where `is_edge`.
Tensor log_inside(const Tensor& is_edge, Tensor (*log_of)(const Operand&), const Tensor& x,
                  const Tensor& p) {
  const Tensor is_least = (p >= 0) & (p <= std::exp(-100));
  const Tensor at_edge = stop_gradient(where(is_least, -100, log_of(where(is_least, 0.5, x))));
  return where(is_edge, at_edge, log_of(where(is_edge, 0.5, x)));
}

Tensor logits_loss(const Tensor& x, const Tensor& target, const Tensor& positive_weight) {
  Tensor positive = zero_or_product(target, logaddexp(-x, 0));
  if (positive_weight) positive = positive * positive_weight;
  return positive + zero_or_product(1 - target, logaddexp(x, 0));
}

Tensor times_weight(const Tensor& losses, const LossNumbers& numbers, const Tensor& weight) {
  return weight ? losses * numbers.of(weight) : losses;
}

// Norms of vectors along the axis, clamped to at least eps; where clamped, the derivative is 0.
Tensor length_of(const Tensor& x, int64_t axis, double eps) {
  const Tensor squares = sum(square(x), axis);
  const double least = eps * eps;
  return sqrt(where(squares > least, squares, least));
}

Tensor distance_of(const Tensor& a, const Tensor& b, double p, double eps, bool keepdims) {
  return norm(a - b + eps, p, -1, keepdims);
}

void expect_vectors(std::string_view function, const Tensor& a, const Tensor& b) {
  if (a.rank() > 0 && b.rank() > 0) return;
  throw ShapeError("{}: {} and {} are not vectors", function, a.type().text(), b.type().text())
      .at(Location::of_caller());
}

Tensor cosine_of(const Tensor& a, const Tensor& b, int64_t axis, double eps) {
  const auto both = broadcast_together("cosine_similarity", {a, b});
  const int64_t at = normal_axis(axis, both[0].rank());
  return sum(both[0] * both[1], at) / (length_of(both[0], at, eps) * length_of(both[1], at, eps));
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target,
                            const BinaryCrossEntropyOptions& options) {
  const Call call("binary_cross_entropy", probabilities, target);
  expect_pairs("binary_cross_entropy", probabilities, target);
  const LossNumbers numbers({&probabilities, &target, &options.weight});
  const Tensor p = numbers.of(probabilities), t = numbers.of(target);
  // The slope is (p − t) / max(p (1 − p), 10⁻¹²), as PyTorch's.
  const double least = 1e-12;
  const Tensor is_edge = p * (1 - p) < least, fixed = stop_gradient(p);
  const Tensor log_yes = log_inside(is_edge, log, p, p);
  const Tensor log_no = log_inside(is_edge, log1p, -p, 1 - p);
  const Tensor losses =
      -(t * log_yes + (1 - t) * log_no) + where(is_edge, (p - fixed) * (fixed - t) / least, 0);
  return numbers.reduced(times_weight(losses, numbers, options.weight), options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryLogitsOptions& options) {
  const Call call("binary_cross_entropy_with_logits", logits, target);
  expect_pairs("binary_cross_entropy_with_logits", logits, target);
  const LossNumbers numbers({&logits, &target, &options.weight, &options.pos_weight});
  const Tensor positive = options.pos_weight ? numbers.of(options.pos_weight) : options.pos_weight;
  const Tensor losses = logits_loss(numbers.of(logits), numbers.of(target), positive);
  return numbers.reduced(times_weight(losses, numbers, options.weight), options.reduction);
}

Tensor focal_loss(const Tensor& logits, const Tensor& target, const FocalOptions& options) {
  const Call call("focal_loss", logits, target);
  expect_pairs("focal_loss", logits, target);
  expect_not_negative("gamma", options.gamma);
  if (options.alpha) expect_number("alpha", *options.alpha);
  const LossNumbers numbers({&logits, &target});
  const Tensor x = numbers.of(logits), t = numbers.of(target);
  Tensor losses = logits_loss(x, t, {});
  const Tensor missed = sigmoid(x) * (1 - t) + sigmoid(-x) * t;
  if (options.gamma != 0) losses = losses * power(missed, options.gamma);
  if (options.alpha) losses = losses * (t * *options.alpha + (1 - t) * (1 - *options.alpha));
  return numbers.reduced(losses, options.reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                   const BinaryCrossEntropyOptions& options) {
  const Call call("multilabel_soft_margin_loss", x, target);
  expect_pairs("multilabel_soft_margin_loss", x, target);
  expect_vectors("multilabel_soft_margin_loss", x, target);
  const LossNumbers numbers({&x, &target, &options.weight});
  const Tensor losses = logits_loss(numbers.of(x), numbers.of(target), {});
  return numbers.reduced(mean(times_weight(losses, numbers, options.weight), -1),
                         options.reduction);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Call call("mse_loss", x, target);
  expect_pairs("mse_loss", x, target);
  const LossNumbers numbers({&x, &target});
  return numbers.reduced(square(numbers.of(x) - numbers.of(target)), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Call call("l1_loss", x, target);
  expect_pairs("l1_loss", x, target);
  const LossNumbers numbers({&x, &target});
  return numbers.reduced(absolute(numbers.of(x) - numbers.of(target)), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  const Call call("smooth_l1_loss", x, target);
  expect_pairs("smooth_l1_loss", x, target);
  expect_not_negative("beta", beta);
  const LossNumbers numbers({&x, &target});
  const Tensor distance = absolute(numbers.of(x) - numbers.of(target));
  return numbers.reduced(beta == 0 ? distance : square_then_line(distance, beta) / beta, reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  const Call call("huber_loss", x, target);
  expect_pairs("huber_loss", x, target);
  if (!(delta > 0)) {
    throw ValueError("huber_loss: delta is {}, expected more than 0", delta)
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&x, &target});
  const Tensor distance = absolute(numbers.of(x) - numbers.of(target));
  return numbers.reduced(square_then_line(distance, delta), reduction);
}

Tensor kl_div_loss(const Tensor& x, const Tensor& target, const KlDivOptions& options) {
  const Call call("kl_div_loss", x, target);
  expect_pairs("kl_div_loss", x, target);
  const LossNumbers numbers({&x, &target});
  const Tensor predicted = numbers.of(x), t = numbers.of(target);
  if (options.log_target) {
    const Tensor is_none = t == -std::numeric_limits<double>::infinity();
    const Tensor difference = where(is_none, 0, t) - where(is_none, 0, predicted);
    return numbers.reduced(exp(t) * difference, options.reduction);
  }
  const Tensor is_none = t == 0;
  const Tensor own = where(is_none, 0, t * log(where(is_none, 1, t)));
  return numbers.reduced(own - zero_or_product(t, predicted), options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& variance,
                         const GaussianNllOptions& options) {
  const Call call("gaussian_nll_loss", x, target, variance);
  expect_pairs("gaussian_nll_loss", x, target);
  if (!(options.eps > 0)) {
    throw ValueError("gaussian_nll_loss: eps is {}, expected more than 0", options.eps)
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&x, &target, &variance});
  const Tensor given = numbers.of(variance);
  const Tensor v = where(given < options.eps, given + stop_gradient(options.eps - given), given);
  Tensor losses = (log(v) + square(numbers.of(x) - numbers.of(target)) / v) / 2;
  if (options.full) losses = losses + std::log(2 * std::numbers::pi) / 2;
  return numbers.reduced(losses, options.reduction);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllOptions& options) {
  const Call call("poisson_nll_loss", x, target);
  expect_pairs("poisson_nll_loss", x, target);
  expect_not_negative("eps", options.eps);
  const LossNumbers numbers({&x, &target});
  const Tensor rate = numbers.of(x), t = numbers.of(target);
  Tensor losses = options.log_input ? exp(rate) - zero_or_product(t, rate)
                                    : rate - zero_or_product(t, log(rate + options.eps));
  if (options.full) {
    const Tensor is_above = t > 1, safe = where(is_above, t, 1);
    const Tensor stirling = safe * log(safe) - safe + log(safe * (2 * std::numbers::pi)) / 2;
    losses = losses + where(is_above, stirling, 0);
  }
  return numbers.reduced(losses, options.reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Call call("soft_margin_loss", x, target);
  expect_pairs("soft_margin_loss", x, target);
  const LossNumbers numbers({&x, &target});
  return numbers.reduced(logaddexp(-numbers.of(x) * numbers.of(target), 0), reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin,
                            Reduction reduction) {
  const Call call("hinge_embedding_loss", x, target);
  expect_pairs("hinge_embedding_loss", x, target);
  expect_number("margin", margin);
  const LossNumbers numbers({&x, &target});
  const Tensor distance = numbers.of(x), t = numbers.of(target);
  const Tensor losses = where(t == -1, 0, distance) + where(t == 1, 0, relu(margin - distance));
  return numbers.reduced(losses, reduction);
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                           Reduction reduction) {
  const Call call("margin_ranking_loss", a, b, target);
  expect_number("margin", margin);
  const LossNumbers numbers({&a, &b, &target});
  const Tensor order = numbers.of(target) * (numbers.of(a) - numbers.of(b));
  return numbers.reduced(relu(margin - order), reduction);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                             Reduction reduction) {
  const Call call("cosine_embedding_loss", a, b, target);
  expect_number("margin", margin);
  expect_vectors("cosine_embedding_loss", a, b);
  const LossNumbers numbers({&a, &b, &target});
  const auto both = broadcast_together("cosine_embedding_loss", {numbers.of(a), numbers.of(b)});
  const double tiny = 1e-12;  // as PyTorch's, which differs from that of cosine_similarity
  const auto square_of = [&](const Tensor& x) { return sum(square(x), -1) + tiny; };
  const Tensor cosine = sum(both[0] * both[1], -1) / sqrt(square_of(both[0]) * square_of(both[1]));
  const Tensor t = numbers.of(target);
  const Tensor losses = where(t == 1, 1 - cosine, where(t == -1, relu(cosine - margin), 0));
  return numbers.reduced(losses, reduction);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis, double eps) {
  const Call call("cosine_similarity", a, b);
  expect_not_negative("eps", eps);
  const LossNumbers numbers({&a, &b});
  return numbers.reduced(cosine_of(numbers.of(a), numbers.of(b), axis, eps), Reduction::none);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdims) {
  const Call call("pairwise_distance", a, b);
  expect_number("p", p);
  expect_number("eps", eps);
  expect_vectors("pairwise_distance", a, b);
  const LossNumbers numbers({&a, &b});
  return numbers.reduced(distance_of(numbers.of(a), numbers.of(b), p, eps, keepdims),
                         Reduction::none);
}

Tensor pdist(const Tensor& x, double p) {
  const Call call("pdist", x);
  if (x.rank() != 2) {
    throw ShapeError("pdist: x is {}, expected [n, width]", x.type().text())
        .at(Location::of_caller());
  }
  expect_not_negative("p", p);
  const LossNumbers numbers({&x});
  const Dim n = x.shape(0), count = floor_div(n * (n - 1), 2);
  // The number of pairs before those of each row, from which the rows of each pair follow.
  const Tensor row = iota(n),
               before = floor_divide(row * (Operand(2 * n - 1).as(DType::i64) - row), 2);
  const Tensor pair = iota(count), first = searchsorted(before, pair, SearchSide::right) - 1;
  const Tensor second = pair - take(before, first, 0) + first + 1;
  const Tensor rows = numbers.of(x), difference = take(rows, first, 0) - take(rows, second, 0);
  return numbers.reduced(norm(difference, p, -1), Reduction::none);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options) {
  const Call call("triplet_margin_loss", anchor, positive, negative);
  expect_number("margin", options.margin);
  expect_number("p", options.p);
  expect_number("eps", options.eps);
  expect_vectors("triplet_margin_loss", anchor, positive);
  expect_vectors("triplet_margin_loss", anchor, negative);
  const LossNumbers numbers({&anchor, &positive, &negative});
  const Tensor a = numbers.of(anchor), p = numbers.of(positive), n = numbers.of(negative);
  const auto distance = [&](const Tensor& from, const Tensor& to) {
    return distance_of(from, to, options.p, options.eps, false);
  };
  Tensor far = distance(a, n);
  if (options.swap) far = minimum(far, distance(p, n));
  return numbers.reduced(relu(options.margin + distance(a, p) - far), options.reduction);
}

}  // namespace plait
