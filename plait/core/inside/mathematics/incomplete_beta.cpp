// The regularised incomplete beta function and its derivatives (incomplete_beta.inl).
#include "plait/core/inside/mathematics/gamma_parts.h"
#include "plait/core/inside/mathematics/shared_dual.h"
#include "plait/core/inside/mathematics/special_functions.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/incomplete_beta.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

namespace plait::special {

double log_beta(double a, double b) { return shared::log_beta(a, b); }
double betainc_value(double a, double b, double x) { return shared::betainc_value(a, b, x); }
double betainc_da(double a, double b, double x) { return shared::betainc_da(a, b, x); }
double betainc_db(double a, double b, double x) { return shared::betainc_db(a, b, x); }
double beta_density(double a, double b, double x) { return shared::beta_density(a, b, x); }

}  // namespace plait::special
