// The regularised incomplete gamma functions (incomplete_gamma.inl).
#include "plait/core/inside/mathematics/gamma_parts.h"
#include "plait/core/inside/mathematics/shared_dual.h"
#include "plait/core/inside/mathematics/special_functions.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/incomplete_gamma.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

namespace plait::special {

double gamma_p(double a, double x) { return shared::gamma_p(a, x); }
double gamma_q(double a, double x) { return shared::gamma_q(a, x); }
double gamma_density(double a, double x) { return shared::gamma_density(a, x); }
double gamma_quantile_da(double a, double x) { return shared::gamma_quantile_da(a, x); }
double gamma_p_da(double a, double x) { return shared::gamma_p_da(a, x); }

}  // namespace plait::special
