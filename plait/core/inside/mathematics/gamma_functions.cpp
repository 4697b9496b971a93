#include "plait/core/inside/mathematics/gamma_functions.h"

#include "plait/core/inside/mathematics/gamma_parts.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/count_probabilities.inl"
#include "plait/core/inside/mathematics/gamma_quantile.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

namespace plait::special {

double log_gamma_quantile_da(double a, double log_x) {
  return shared::log_gamma_quantile_da(a, log_x);
}
double log_poisson(double k, double rate) { return shared::log_poisson(k, rate); }
double log_binomial(double k, double n, double p, double failure) {
  return shared::log_binomial(k, n, p, failure);
}

}  // namespace plait::special
