#include "plait/nn/models/pruning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/flat_vectors.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"

namespace plait::nn::prune {
namespace {

constexpr std::string_view kL1 = "nn::prune::l1_unstructured";
constexpr std::string_view kRandom = "nn::prune::random_unstructured";
constexpr std::string_view kLn = "nn::prune::ln_structured";
constexpr std::string_view kRandomSlices = "nn::prune::random_structured";
constexpr std::string_view kGlobal = "nn::prune::global_unstructured";
constexpr std::string_view kMask = "nn::prune::custom_from_mask";

// ---- The tensors of a weight

Tensor ones_like_of(const Weight& weight) {
  return weight.mask ? weight.mask : ones_like(stop_gradient(weight.original));
}
Tensor value_of(const Weight& weight) {
  const Tensor value = weight.mask ? weight.original * weight.mask : weight.original;
  return stop_gradient(value);
}

void expect_shape(std::string_view function, std::string_view what, const Weight& weight,
                  const Tensor& given) {
  if (given && given.shape() == weight.original.shape()) return;
  throw ShapeError("{}: {} of {} is {}, expected the shape of {}", function, what, weight.name,
                   given ? given.type().text() : "an empty tensor", weight.original.type().text())
      .at(Location::of_caller());
}

void expect_names(std::string_view function, std::string_view what,
                  const std::map<std::string, Tensor>& given, std::span<const Weight> weights) {
  std::vector<std::string> names;
  for (const Weight& each : weights) names.push_back(each.name);
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw ValueError("{}: {} has {}, which is not one of the weights that are pruned: {}", function,
                     what, in_quotes(name), fmt::join(names, ", "))
        .at(Location::of_caller());
  }
}

// The values that decide about a weight: its own, or the scores that are given.
Tensor scores_of(std::string_view function, const Weight& weight, const Scores& scores) {
  const auto found = scores.find(weight.name);
  if (found == scores.end()) return value_of(weight);
  expect_shape(function, "importance_scores", weight, found->second);
  const Tensor given = stop_gradient(found->second);
  return is_inexact(given.dtype()) ? given : astype(given, DType::f64);
}

// ---- How many, and which

// How many of those that are left are pruned, i64[].
Tensor count_of(std::string_view function, std::string_view name, const Amount& amount,
                const Tensor& is_left, std::string_view things) {
  const Tensor left = sum(astype(is_left, DType::i64));
  if (amount.is_fraction()) {
    return astype(round(amount.fraction() * astype(left, DType::f64)), DType::i64);
  }
  if (left.is_traced() || !left.is_array()) {
    check(left >= amount.count(),
          fmt::format("{}: amount is {}, and {} has only fewer {} that are left", function,
                      amount.count(), name, things));
  } else if (left.item<int64_t>() < amount.count()) {
    throw ValueError("{}: amount is {}, and {} has only {} {} that are left", function,
                     amount.count(), name, left.item<int64_t>(), things)
        .at(Location::of_caller())
        .hint("a fraction, 0.5, is one of what is left");
  }
  return full({}, amount.count(), DType::i64);
}

// True for those that are left, except as many as the count, whose scores are least.
Tensor without_least(const Tensor& scores, const Tensor& is_left, const Tensor& count) {
  const double limit = float_limits(scores.dtype()).max;
  const Tensor ranked =
      where(is_left, clip(scores, -limit, limit), std::numeric_limits<double>::infinity());
  return logical_and(is_left, argsort(argsort(ranked)) >= count);
}

// The mask, a vector, without the elements whose scores are least.
Tensor without_elements(std::string_view function, std::string_view name, const Tensor& before,
                        const Tensor& scores, const Amount& amount) {
  const Tensor is_left = before == 1;
  const Tensor kept =
      without_least(scores, is_left, count_of(function, name, amount, is_left, "elements"));
  return where(is_left, astype(kept, before.dtype()), before);
}

Tensor elements_mask(std::string_view function, const Weight& weight, const Tensor& scores,
                     const Amount& amount) {
  const Tensor before = flatten(ones_like_of(weight));
  return reshape(without_elements(function, weight.name, before, scores, amount),
                 weight.original.shape());
}

int64_t axis_of(std::string_view function, const Weight& weight, int64_t dim) {
  const auto rank = static_cast<int64_t>(weight.original.rank());
  if (rank < 2) {
    throw ShapeError("{}: {} is {}, expected at least two dimensions: slices are along one of them",
                     function, weight.name, weight.original.type().text())
        .at(Location::of_caller());
  }
  if (dim < -rank || dim >= rank) {
    throw IndexError("{}: dim is {}, out of range for {}, {}", function, dim, weight.name,
                     weight.original.type().text())
        .at(Location::of_caller());
  }
  return dim < 0 ? dim + rank : dim;
}

// The mask without the slices along an axis whose scores are least; a slice that has no element
// left does not count.
Tensor slices_mask(std::string_view function, const Weight& weight, const Tensor& scores,
                   const Amount& amount, int64_t axis) {
  const Tensor before = ones_like_of(weight);
  std::vector<int64_t> others;
  std::vector<Dim> sizes;
  for (int64_t i = 0; i < static_cast<int64_t>(before.rank()); ++i) {
    if (i != axis) others.push_back(i);
    sizes.push_back(i == axis ? before.shape(i) : Dim(1));
  }
  const Tensor is_left = sum(before, others) != 0;
  const Tensor kept =
      without_least(scores, is_left, count_of(function, weight.name, amount, is_left, "slices"));
  return before * astype(reshape(kept, Shape(std::span<const Dim>(sizes))), before.dtype());
}

// The norm of each slice along the first axis.
Tensor norms_of(const Weight& weight, const Tensor& slices, SliceNorm n) {
  if (!n.is_nuclear()) {
    return linalg::vector_norm(reshape(slices, {slices.shape(0), -1}), n.order(), 1);
  }
  if (slices.rank() == 3) return linalg::matrix_norm(slices, linalg::MatrixNorm::nuclear);
  throw ShapeError("{}: the norm is nuclear, and {} is {}, expected slices that are matrices", kLn,
                   weight.name, weight.original.type().text())
      .at(Location::of_caller());
}

// Draws, each by a key of its own.
class Draws {
 public:
  explicit Draws(const Tensor& key) : key_(key) {}
  Tensor uniform(Dim size) {
    const std::vector<Tensor> keys = unstack(random::split_key(key_, 2));
    key_ = keys[0];
    return random::uniform(keys[1], {size});
  }

 private:
  Tensor key_;
};

template <class F>
std::vector<Tensor> each_of(std::span<const Weight> weights, const F& mask_of) {
  std::vector<Tensor> made;
  for (const Weight& each : weights) {
    made.push_back(astype(mask_of(each), each.original.dtype()));
  }
  return made;
}

}  // namespace

void Amount::expect_within(std::string_view function) const {
  if (is_fraction_ ? fraction_ >= 0 && fraction_ <= 1 : count_ >= 0) return;
  const std::string given = is_fraction_ ? fmt::format("{}", fraction_) : std::to_string(count_);
  throw ValueError("{}: amount is {}, expected a count of 0 or more, or a fraction from 0. to 1.",
                   function, given)
      .at(Location::of_caller());
}

SliceNorm::SliceNorm(linalg::MatrixNorm norm) : is_nuclear_(norm == linalg::MatrixNorm::nuclear) {
  if (is_nuclear_ || norm == linalg::MatrixNorm::frobenius) return;
  throw ValueError("{}: expected the order of a norm, or frobenius or nuclear", kLn)
      .at(Location::of_caller());
}

std::vector<Tensor> ones_of(std::span<const Weight> weights) {
  return each_of(weights, ones_like_of);
}

std::vector<Tensor> l1_masks(std::span<const Weight> weights, Amount amount, const Scores& scores) {
  amount.expect_within(kL1);
  expect_names(kL1, "importance_scores", scores, weights);
  return each_of(weights, [&](const Weight& each) {
    return elements_mask(kL1, each, flatten(absolute(scores_of(kL1, each, scores))), amount);
  });
}

std::vector<Tensor> random_masks(const Tensor& key, std::span<const Weight> weights,
                                 Amount amount) {
  amount.expect_within(kRandom);
  Draws draws(key);
  return each_of(weights, [&](const Weight& each) {
    const Dim size = each.original.shape().element_count();
    return elements_mask(kRandom, each, draws.uniform(size), amount);
  });
}

std::vector<Tensor> ln_masks(std::span<const Weight> weights, Amount amount, SliceNorm n,
                             int64_t dim, const Scores& scores) {
  amount.expect_within(kLn);
  if (std::isnan(n.order())) {
    throw ValueError("{}: n is NaN, expected the order of a norm", kLn).at(Location::of_caller());
  }
  expect_names(kLn, "importance_scores", scores, weights);
  return each_of(weights, [&](const Weight& each) {
    const int64_t axis = axis_of(kLn, each, dim);
    const Tensor slices = moveaxis(scores_of(kLn, each, scores), axis, 0);
    return slices_mask(kLn, each, norms_of(each, slices, n), amount, axis);
  });
}

std::vector<Tensor> random_slice_masks(const Tensor& key, std::span<const Weight> weights,
                                       Amount amount, int64_t dim) {
  amount.expect_within(kRandomSlices);
  Draws draws(key);
  return each_of(weights, [&](const Weight& each) {
    const int64_t axis = axis_of(kRandomSlices, each, dim);
    return slices_mask(kRandomSlices, each, draws.uniform(each.original.shape(axis)), amount, axis);
  });
}

std::vector<Tensor> global_masks(std::span<const Weight> weights, Amount amount,
                                 const GlobalOptions& options) {
  amount.expect_within(kGlobal);
  expect_names(kGlobal, "importance_scores", options.importance_scores, weights);
  std::vector<Tensor> before, sizes;
  for (const Weight& each : weights) {
    const Tensor mask = ones_like_of(each);
    before.push_back(is_complex(mask.dtype()) ? real(mask) : mask);
    sizes.push_back(absolute(scores_of(kGlobal, each, options.importance_scores)));
  }
  const Tensor all = vector_of(kGlobal, before);
  const Tensor scores =
      options.key ? Draws(options.key).uniform(all.shape(0)) : vector_of(kGlobal, sizes);
  const Tensor kept = without_elements(kGlobal, "the model", all, scores, amount);
  const std::vector<Tensor> parts = parts_of_vector(kGlobal, kept, before);
  size_t next = 0;
  return each_of(weights, [&](const Weight&) { return parts[next++]; });
}

std::vector<Tensor> given_masks(std::span<const Weight> weights,
                                const std::map<std::string, Tensor>& masks) {
  expect_names(kMask, "masks", masks, weights);
  return each_of(weights, [&](const Weight& each) {
    const auto found = masks.find(each.name);
    if (found == masks.end()) {
      throw ValueError("{}: masks has no {}", kMask, in_quotes(each.name))
          .at(Location::of_caller());
    }
    expect_shape(kMask, "the mask", each, found->second);
    return ones_like_of(each) * astype(found->second, each.original.dtype());
  });
}

bool has_pruned(const State& state) {
  constexpr std::string_view kEnd = "_orig";
  return std::ranges::any_of(state, [&](const auto& entry) {
    const std::string& name = entry.first;
    if (!name.ends_with(kEnd)) return false;
    return state.contains(name.substr(0, name.size() - kEnd.size()) + "_mask");
  });
}

}  // namespace plait::nn::prune
