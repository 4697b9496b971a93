// Functions of real numbers that the C library lacks, or has only with a global beside it.
#pragma once

namespace plait::special {

// The logarithm of the magnitude of the gamma function.
double log_gamma(double x);

// The derivative of log_gamma: NaN at the negative whole numbers, and infinite at 0 as at their
// limit from the side of its sign.
double digamma(double x);

// The n-th derivative of digamma, n a whole number: +∞ or −∞ at 0 and, for odd n, +∞ at the
// negative whole numbers. NaN for n < 0, and below 0 for n > 1.
double polygamma(double n, double x);

// The x whose erf is y; NaN beyond -1 and 1.
double erf_inverse(double y);

}  // namespace plait::special
