// Functions for sampling from the gamma distribution and related ones.
#pragma once

namespace plait::special {

// The derivative d log x / da of the gamma quantile x with respect to the shape a, with P(a, x)
// fixed. Takes log x, so that it is defined also if x underflows. NaN for a < 0.
double log_gamma_quantile_da(double a, double log_x);

// Log-probability of k under the Poisson distribution with mean `rate`.
double log_poisson(double k, double rate);
// Log-probability of k under the binomial distribution of n trials with probability p. `failure` is
// 1 - p, given separately to avoid cancellation.
double log_binomial(double k, double n, double p, double failure);

}  // namespace plait::special
