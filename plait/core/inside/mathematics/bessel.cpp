// The modified Bessel functions of the first kind (bessel.inl).
#include "plait/core/inside/mathematics/shared_names.h"
#include "plait/core/inside/mathematics/special_functions.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/bessel.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

namespace plait::special {

double bessel_i0(double x) { return shared::bessel_i0(x); }
double bessel_i1(double x) { return shared::bessel_i1(x); }
double scaled_bessel_i0(double x) { return shared::scaled_bessel_i0(x); }
double scaled_bessel_i1(double x) { return shared::scaled_bessel_i1(x); }

}  // namespace plait::special
