// Functions of real numbers that the C library lacks, or has only with a global beside it.
#pragma once

namespace plait::cpu {

// The logarithm of the magnitude of the gamma function.
double log_gamma(double x);

// The derivative of log_gamma: NaN at the negative whole numbers, and infinite at 0 as at their
// limit from the side of its sign.
double digamma(double x);

// The x whose erf is y; NaN beyond -1 and 1.
double erf_inverse(double y);

}  // namespace plait::cpu
