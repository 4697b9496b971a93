// Random numbers. A key (a tensor of dtype `key`) stands for a stream of numbers, and gives the
// same ones whenever and wherever it is asked; whoever needs others makes others of it:
//
//   const Tensor keys = random::split_key(random::key(7), 2);
//
// A tensor of several keys gives numbers for each, its dimensions in front of `shape`. Every
// function that takes a key has a twin without, which draws the next key of the process's default
// stream; within a trace that draw is an effect of the program, and happens when it runs.
//
// Bits, integers, permutations and uniform numbers are the same on every machine; those of other
// distributions to 2 units in the last place.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/operand.h"

namespace plait::random {

// The key of a seed; of each integer of a tensor.
Tensor key(uint64_t seed);
Tensor key(const Tensor& seeds);
Tensor split_key(const Tensor& key, Dim count = 2);  // new keys along a last dimension
// The key of an integer below this key: for step 12, or sample 12. Both stretch to one shape.
Tensor fold_in(const Tensor& key, const Operand& number);

// The default stream: the numbers after seed(s) are always the same. Without, it is that of seed 0.
void seed(uint64_t seed);
Tensor draw_key();

Tensor bits(const Tensor& key, const Shape& shape, DType dtype = DType::u32);  // u8 to u64
Tensor bits(const Shape& shape, DType dtype = DType::u32);

// From `low` on to below `high`, in equal steps of one part in 2^24 (f32) or 2^53 (f64).
Tensor uniform(const Tensor& key, const Shape& shape, double low = 0, double high = 1,
               DType dtype = DType::f32);
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32);
Tensor normal(const Tensor& key, const Shape& shape, const Operand& mean = 0.,
              const Operand& deviation = 1., DType dtype = DType::f32);
Tensor normal(const Shape& shape, const Operand& mean = 0., const Operand& deviation = 1.,
              DType dtype = DType::f32);
// Standard normal numbers between the bounds, also far from 0.
Tensor truncated_normal(const Tensor& key, double low, double high, const Shape& shape,
                        DType dtype = DType::f32);
Tensor truncated_normal(double low, double high, const Shape& shape, DType dtype = DType::f32);
// e^-x; mean 1.
Tensor exponential(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor exponential(const Shape& shape, DType dtype = DType::f32);
// e^-|x| / 2.
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor laplace(const Shape& shape, DType dtype = DType::f32);
// The distribution function is e^-e^-x.
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor gumbel(const Shape& shape, DType dtype = DType::f32);

// Integers from `low` to before `high`, all alike likely; up to 2^62 of them.
Tensor randint(const Tensor& key, const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
Tensor randint(const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
// True with probability p; of the shape of p unless told otherwise.
Tensor bernoulli(const Tensor& key, const Operand& p, const std::optional<Shape>& shape = {});
Tensor bernoulli(const Operand& p, const std::optional<Shape>& shape = {});
// An index along `axis` of the logits for each of the rest: i with probability e^logit[i] / Σ.
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis = -1);
Tensor categorical(const Tensor& logits, int64_t axis = -1);
// 0, 1, … in an order at random, all orders alike likely.
Tensor permutation(const Tensor& key, Dim count);
Tensor permutation(Dim count);
// The parts of x along an axis in an order at random.
Tensor shuffle(const Tensor& key, const Tensor& x, int64_t axis = 0);
Tensor shuffle(const Tensor& x, int64_t axis = 0);

// ---- With parameters, which are numbers or tensors. They stretch to `shape`, which is what each
// key gives; without it, to each other's shape, which it then is. Floating results are of `dtype`,
// or else that of the parameters (f32 of integers). A number that is no parameter is a ValueError.
// What such elements of tensors give means nothing, but of poisson, binomial, negative_binomial and
// multinomial they are a ValueError when it is drawn.
//
// What is drawn has derivatives by the parameters, those of counts and choices excepted.

// x^(a - 1) e^-x / Γ(a).
Tensor gamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape = {},
             std::optional<DType> dtype = {});
// The logarithms of such numbers, which for small parameters are too small for the dtype.
Tensor loggamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
// x^(a - 1) (1 - x)^(b - 1) / B(a, b).
Tensor beta(const Tensor& key, const Operand& a, const Operand& b,
            const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Shares that add up to 1, along the last dimension: Π x^(c - 1). `shape` is that of the rest.
Tensor dirichlet(const Tensor& key, const Tensor& concentration,
                 const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// The sum of so many squares of standard normal numbers.
Tensor chisquare(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
// One such number by another, each by its degrees of freedom.
Tensor f(const Tensor& key, const Operand& degrees_above, const Operand& degrees_below,
         const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// A standard normal number by the root of such a number by its degrees.
Tensor student_t(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
// e^-|x|^p.
Tensor generalized_normal(const Tensor& key, const Operand& p,
                          const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// 1 / (π (1 + x²)).
Tensor cauchy(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// The distribution function is 1 / (1 + e^-x).
Tensor logistic(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// x² e^(-x²/2): the length of a standard normal vector of three.
Tensor maxwell(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// With either sign, times `scale`, plus `location`.
Tensor double_sided_maxwell(const Tensor& key, const Operand& location, const Operand& scale,
                            const std::optional<Shape>& shape = {},
                            std::optional<DType> dtype = {});
// e^x of normal x with that mean and deviation.
Tensor lognormal(const Tensor& key, const Operand& mean, const Operand& deviation,
                 const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// x e^(-x²/2) of x / scale.
Tensor rayleigh(const Tensor& key, const Operand& scale, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
// Less than x · scale with probability 1 - e^-x^concentration.
Tensor weibull(const Tensor& key, const Operand& scale, const Operand& concentration,
               const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Above x with probability x^-b, for x from 1 on.
Tensor pareto(const Tensor& key, const Operand& b, const std::optional<Shape>& shape = {},
              std::optional<DType> dtype = {});
// From `low`, rising evenly up to `mode`, and falling evenly to `high`.
Tensor triangular(const Tensor& key, const Operand& low, const Operand& mode, const Operand& high,
                  const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// The inverse Gaussian distribution: when a drifting particle comes by. As if it depended on
// nothing.
Tensor wald(const Tensor& key, const Operand& mean, const Operand& scale,
            const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// -1 or 1.
Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype = DType::i64);

// Vectors, along the last dimension; `shape` is that of the rest. By `eigen` the covariance may
// have eigenvalues of 0.
enum class CovarianceRoot : uint8_t { cholesky, eigen };
Tensor multivariate_normal(const Tensor& key, const Tensor& mean, const Tensor& covariance,
                           const std::optional<Shape>& shape = {},
                           CovarianceRoot root = CovarianceRoot::cholesky,
                           std::optional<DType> dtype = {});
// Orthogonal matrices of n rows, all turns and reflections alike likely (Haar's measure).
Tensor orthogonal(const Tensor& key, Dim n, const Shape& shape = {}, DType dtype = DType::f32);
// Vectors of d numbers with Σ |x|^p ≤ 1, all alike likely.
Tensor ball(const Tensor& key, Dim d, double p = 2, const Shape& shape = {},
            DType dtype = DType::f32);

// Counts. One too great for the dtype is the greatest number of it.

// Of events, where `rate` are expected.
Tensor poisson(const Tensor& key, const Operand& rate, const std::optional<Shape>& shape = {},
               DType dtype = DType::i64);
// Of successes in `count` trials, each with probability p.
Tensor binomial(const Tensor& key, const Operand& count, const Operand& p,
                const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
// Of failures before success number `count`, which may be a fraction.
Tensor negative_binomial(const Tensor& key, const Operand& count, const Operand& p,
                         const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
// Of trials up to the first success. CheckError where a p of a tensor is no probability.
Tensor geometric(const Tensor& key, const Operand& p, const std::optional<Shape>& shape = {},
                 DType dtype = DType::i64);
// Of trials that fall into each category, as often as their weights say; along the last dimension.
// `shape` is that of the rest.
Tensor multinomial(const Tensor& key, const Operand& count, const Tensor& weights,
                   const std::optional<Shape>& shape = {}, DType dtype = DType::i64);

// Numbers from 0 to before `count`, or parts of x along an axis, in whose place the shape stands.
struct ChoiceOptions {
  bool replace = true;  // whether the same may come again
  // How likely each is, up to a factor; else all are alike. CheckError where one is below 0, or too
  // few are above it to draw without replacement.
  Tensor p = {};
  int64_t axis = 0;  // of x
};
Tensor choice(const Tensor& key, Dim count, const Shape& shape = {},
              const ChoiceOptions& options = {});
Tensor choice(const Tensor& key, const Tensor& x, const Shape& shape = {},
              const ChoiceOptions& options = {});

// The same with the next key of the default stream.
Tensor gamma(const Operand& a, const std::optional<Shape>& shape = {},
             std::optional<DType> dtype = {});
Tensor loggamma(const Operand& a, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
Tensor beta(const Operand& a, const Operand& b, const std::optional<Shape>& shape = {},
            std::optional<DType> dtype = {});
Tensor dirichlet(const Tensor& concentration, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
Tensor chisquare(const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
Tensor f(const Operand& degrees_above, const Operand& degrees_below,
         const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
Tensor student_t(const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
Tensor generalized_normal(const Operand& p, const std::optional<Shape>& shape = {},
                          std::optional<DType> dtype = {});
Tensor cauchy(const Shape& shape, DType dtype = DType::f32);
Tensor logistic(const Shape& shape, DType dtype = DType::f32);
Tensor maxwell(const Shape& shape, DType dtype = DType::f32);
Tensor double_sided_maxwell(const Operand& location, const Operand& scale,
                            const std::optional<Shape>& shape = {},
                            std::optional<DType> dtype = {});
Tensor lognormal(const Operand& mean, const Operand& deviation,
                 const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
Tensor rayleigh(const Operand& scale, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
Tensor weibull(const Operand& scale, const Operand& concentration,
               const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
Tensor pareto(const Operand& b, const std::optional<Shape>& shape = {},
              std::optional<DType> dtype = {});
Tensor triangular(const Operand& low, const Operand& mode, const Operand& high,
                  const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
Tensor wald(const Operand& mean, const Operand& scale, const std::optional<Shape>& shape = {},
            std::optional<DType> dtype = {});
Tensor rademacher(const Shape& shape, DType dtype = DType::i64);
Tensor multivariate_normal(const Tensor& mean, const Tensor& covariance,
                           const std::optional<Shape>& shape = {},
                           CovarianceRoot root = CovarianceRoot::cholesky,
                           std::optional<DType> dtype = {});
Tensor orthogonal(Dim n, const Shape& shape = {}, DType dtype = DType::f32);
Tensor ball(Dim d, double p = 2, const Shape& shape = {}, DType dtype = DType::f32);
Tensor poisson(const Operand& rate, const std::optional<Shape>& shape = {},
               DType dtype = DType::i64);
Tensor binomial(const Operand& count, const Operand& p, const std::optional<Shape>& shape = {},
                DType dtype = DType::i64);
Tensor negative_binomial(const Operand& count, const Operand& p,
                         const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
Tensor geometric(const Operand& p, const std::optional<Shape>& shape = {},
                 DType dtype = DType::i64);
Tensor multinomial(const Operand& count, const Tensor& weights,
                   const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
Tensor choice(Dim count, const Shape& shape = {}, const ChoiceOptions& options = {});
Tensor choice(const Tensor& x, const Shape& shape = {}, const ChoiceOptions& options = {});

}  // namespace plait::random

namespace plait {

void register_random_ops();

}  // namespace plait
