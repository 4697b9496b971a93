// Helpers for functions built from Γ, in long double, since exponentials amplify small errors.
#pragma once

#include <limits>
#include <numbers>

namespace plait::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// From this argument on, Stirling's series is accurate to full precision.
inline constexpr double kStirling = 16;

// log(1 + u) − u, with full relative accuracy.
long double log1p_rest(long double u);

// log Γ(1 + a) for a > −1, with full relative accuracy near 0.
long double log_gamma_of_one_and(long double a);

// log Γ(a) − (a − ½) log a + a − ½ log 2π, for a ≥ kStirling.
long double stirling_rest(long double a);

// log B(a, b) for a, b > 0.
long double log_beta_of_positive(long double a, long double b);

// ψ(x) for x > 0.
long double digamma_of_positive(long double x);

}  // namespace plait::special
