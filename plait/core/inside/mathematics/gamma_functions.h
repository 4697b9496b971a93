// What drawing from the gamma distribution and its relatives takes of the mathematics around the
// gamma function.
#pragma once

namespace plait::special {

// How the logarithm of a quantile of the gamma distribution moves with its parameter a: d log x /
// da, where P(a, x) is held. Takes log x, so that an x too small for a number has its slope too.
// NaN for a < 0.
double log_gamma_quantile_slope(double a, double log_x);

// The logarithm of the probability of k events where `rate` of them are expected.
double log_poisson(double k, double rate);
// The logarithm of the probability that k of n trials succeed, each with probability p; `failure`
// is 1 - p, known better than from p.
double log_binomial(double k, double n, double p, double failure);

}  // namespace plait::special
