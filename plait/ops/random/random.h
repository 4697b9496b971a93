// Random numbers. A key (a tensor of dtype `key`) represents a stream of random numbers. The same
// key always gives the same numbers; for different numbers, derive new keys:
//
//   const Tensor keys = random::split_key(random::key(7), 2);
//
// A tensor of several keys gives numbers for each key; its dimensions precede `shape`. Every
// function that takes a key has an overload without one, which draws the next key of the default
// stream: the process's, or within a StreamScope (stream_scope.h) that of the thread. In a traced
// function that draw is an effect of the program, and happens when it runs.
//
// Bits, integers, permutations and uniform numbers are the same on every machine; those of other
// distributions up to 2 ulp.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/operand.h"

namespace plait::random {

// The key of a seed, or of each integer of a tensor.
Tensor key(uint64_t seed);
Tensor key(const Tensor& seeds);
Tensor split_key(const Tensor& key, Dim count = 2);  // new keys along a new last dimension
// Derives a key from a key and an integer, such as the number of a step or a sample. Both are
// broadcast to one shape.
Tensor fold_in(const Tensor& key, const Operand& number);

// Sets the seed of the default stream (0 at first), and draws its next key.
void seed(uint64_t seed);
Tensor draw_key();

Tensor bits(const Tensor& key, const Shape& shape, DType dtype = DType::u32);  // u8 to u64
Tensor bits(const Shape& shape, DType dtype = DType::u32);

// Uniform on [low, high), in multiples of 2^-24 (f32) or 2^-53 (f64) of the range.
Tensor uniform(const Tensor& key, const Shape& shape, double low = 0, double high = 1,
               DType dtype = DType::f32);
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32);
Tensor normal(const Tensor& key, const Shape& shape, const Operand& mean = 0.,
              const Operand& deviation = 1., DType dtype = DType::f32);
Tensor normal(const Shape& shape, const Operand& mean = 0., const Operand& deviation = 1.,
              DType dtype = DType::f32);
// Standard normal, truncated to [low, high]; accurate also for bounds far from 0.
Tensor truncated_normal(const Tensor& key, double low, double high, const Shape& shape,
                        DType dtype = DType::f32);
Tensor truncated_normal(double low, double high, const Shape& shape, DType dtype = DType::f32);
// Density e^-x for x ≥ 0; mean 1.
Tensor exponential(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor exponential(const Shape& shape, DType dtype = DType::f32);
// Density e^-|x| / 2.
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor laplace(const Shape& shape, DType dtype = DType::f32);
// Cumulative distribution function e^(-e^-x).
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
Tensor gumbel(const Shape& shape, DType dtype = DType::f32);

// Integers uniform on [low, high), for ranges of up to 2^62.
Tensor randint(const Tensor& key, const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
Tensor randint(const Shape& shape, Dim low, Dim high, DType dtype = DType::i64);
// True with probability p. The shape is that of p by default.
Tensor bernoulli(const Tensor& key, const Operand& p, const std::optional<Shape>& shape = {});
Tensor bernoulli(const Operand& p, const std::optional<Shape>& shape = {});
// Class indices along `axis` of the logits: index i with probability proportional to e^logit[i].
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis = -1);
Tensor categorical(const Tensor& logits, int64_t axis = -1);
// A uniformly random permutation of 0, 1, … count - 1.
Tensor permutation(const Tensor& key, Dim count);
Tensor permutation(Dim count);
// Permutes the slices of x along an axis at random.
Tensor shuffle(const Tensor& key, const Tensor& x, int64_t axis = 0);
Tensor shuffle(const Tensor& x, int64_t axis = 0);

// ---- Distributions with parameters.
//
// Parameters are numbers or tensors. They are broadcast to `shape`, which is the shape of the
// result per key; by default it is their common shape. Floating results have the given dtype, or
// else that of the parameters (f32 for integers). A number outside of the parameter's domain throws
// ValueError. For such elements of tensors the result is unspecified, except that poisson,
// binomial, negative_binomial and multinomial throw ValueError when the numbers are drawn.
//
// Samples are differentiable in the parameters, except for counts and choices.

// Density x^(a - 1) e^-x / Γ(a).
Tensor gamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape = {},
             std::optional<DType> dtype = {});
// The logarithm of a gamma sample; for small a the sample itself would underflow.
Tensor loggamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
// Density x^(a - 1) (1 - x)^(b - 1) / B(a, b).
Tensor beta(const Tensor& key, const Operand& a, const Operand& b,
            const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Probability vectors along the last dimension, with density proportional to Π x^(c - 1). `shape`
// excludes that dimension.
Tensor dirichlet(const Tensor& key, const Tensor& concentration,
                 const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// The sum of the squares of `degrees` standard normal numbers.
Tensor chisquare(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
// The ratio of two chi-square numbers, each divided by its degrees of freedom.
Tensor f(const Tensor& key, const Operand& degrees_above, const Operand& degrees_below,
         const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// A standard normal number divided by √(chi-square number / degrees).
Tensor student_t(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape = {},
                 std::optional<DType> dtype = {});
// Density proportional to e^(-|x|^p).
Tensor generalized_normal(const Tensor& key, const Operand& p,
                          const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Density 1 / (π (1 + x²)).
Tensor cauchy(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// Cumulative distribution function 1 / (1 + e^-x).
Tensor logistic(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// Density proportional to x² e^(-x²/2): the norm of a standard normal vector of size 3.
Tensor maxwell(const Tensor& key, const Shape& shape, DType dtype = DType::f32);
// A Maxwell number with a random sign, times `scale`, plus `location`.
Tensor double_sided_maxwell(const Tensor& key, const Operand& location, const Operand& scale,
                            const std::optional<Shape>& shape = {},
                            std::optional<DType> dtype = {});
// e^x for a normal x with this mean and deviation.
Tensor lognormal(const Tensor& key, const Operand& mean, const Operand& deviation,
                 const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Density proportional to y e^(-y²/2) for y = x / scale.
Tensor rayleigh(const Tensor& key, const Operand& scale, const std::optional<Shape>& shape = {},
                std::optional<DType> dtype = {});
// Below x · scale with probability 1 - e^(-x^concentration).
Tensor weibull(const Tensor& key, const Operand& scale, const Operand& concentration,
               const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// Above x with probability x^-b, for x ≥ 1.
Tensor pareto(const Tensor& key, const Operand& b, const std::optional<Shape>& shape = {},
              std::optional<DType> dtype = {});
// Triangular density on [low, high] with its peak at `mode`.
Tensor triangular(const Tensor& key, const Operand& low, const Operand& mode, const Operand& high,
                  const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// The inverse Gaussian distribution: the first passage time of a Brownian motion with drift. Not
// differentiable: derivatives are 0.
Tensor wald(const Tensor& key, const Operand& mean, const Operand& scale,
            const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
// -1 or 1, with equal probability.
Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype = DType::i64);

// Normal vectors along the last dimension; `shape` excludes that dimension. With `eigen` the
// covariance may be singular.
enum class CovarianceRoot : uint8_t { cholesky, eigen };
Tensor multivariate_normal(const Tensor& key, const Tensor& mean, const Tensor& covariance,
                           const std::optional<Shape>& shape = {},
                           CovarianceRoot root = CovarianceRoot::cholesky,
                           std::optional<DType> dtype = {});
// Orthogonal n × n matrices, uniform with respect to the Haar measure.
Tensor orthogonal(const Tensor& key, Dim n, const Shape& shape = {}, DType dtype = DType::f32);
// Vectors of size d, uniform in the unit ball Σ |x|^p ≤ 1.
Tensor ball(const Tensor& key, Dim d, double p = 2, const Shape& shape = {},
            DType dtype = DType::f32);

// Counts. Counts that overflow the dtype become its greatest number.

// Number of events, with `rate` as the expected number.
Tensor poisson(const Tensor& key, const Operand& rate, const std::optional<Shape>& shape = {},
               DType dtype = DType::i64);
// Number of successes in `count` trials, each with probability p.
Tensor binomial(const Tensor& key, const Operand& count, const Operand& p,
                const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
// Number of failures before success number `count`, which may be fractional.
Tensor negative_binomial(const Tensor& key, const Operand& count, const Operand& p,
                         const std::optional<Shape>& shape = {}, DType dtype = DType::i64);
// Number of trials up to the first success. Throws CheckError if an element of p is not a
// probability.
Tensor geometric(const Tensor& key, const Operand& p, const std::optional<Shape>& shape = {},
                 DType dtype = DType::i64);
// Number of trials that fall into each category, with probabilities proportional to the weights,
// along the last dimension. `shape` excludes that dimension.
Tensor multinomial(const Tensor& key, const Operand& count, const Tensor& weights,
                   const std::optional<Shape>& shape = {}, DType dtype = DType::i64);

// Chooses integers from [0, count), or slices of x along an axis, which `shape` replaces.
struct ChoiceOptions {
  bool replace = true;  // with replacement
  // Unnormalised probabilities; uniform by default. Throws CheckError if one is negative, or if too
  // few are positive to draw without replacement.
  Tensor p = {};
  int64_t axis = 0;  // axis of x
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
