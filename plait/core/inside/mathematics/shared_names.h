// Names for the mathematics that the library and kernels of devices share (*.inl): the same text is
// compiled here, and included as a string in the text of a kernel
// (plait/cuda/inside/kernels/special_text.h), which gives these names its own meaning.
//
// Such a text includes nothing and has no preprocessor directives. It is the argument of
// SHARED_TEXT, which whoever includes it defines: __VA_ARGS__ for code, #__VA_ARGS__ for a string.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

// Before each function, and before those of a few operations.
#define SHARED inline
#define SHARED_SMALL inline
// A constant with all digits of Wide or, there, of a double.
#define LITERAL(number) number##L

namespace plait::special::shared {

using std::abs;
using std::ceil;
using std::copysign;
using std::cos;
using std::erfc;
using std::exp;
using std::expm1;
using std::floor;
using std::fmod;
using std::log;
using std::log1p;
using std::pow;
using std::rint;
using std::sin;
using std::sqrt;

// Has at least 64 bits, since exponentials amplify small errors. A pair of doubles on devices.
using Wide = long double;
using Part = long double;  // constants in tables
inline double to_double(Wide x) { return static_cast<double>(x); }

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline bool is_nan(double x) { return std::isnan(x); }
inline bool is_infinite(double x) { return std::isinf(x); }

inline constexpr Wide kPi = std::numbers::pi_v<Wide>;
inline constexpr Wide kEuler = std::numbers::egamma_v<Wide>;
inline constexpr Wide kInverseRootPi = std::numbers::inv_sqrtpi_v<Wide>;

inline Wide pi_over_tan_of_pi(Wide x) { return kPi / std::tan(kPi * x); }

// A part this much smaller than the whole does not change it; a factor this near 1 is 1.
inline constexpr Wide kNegligible = 1e-19L, kNearOne = 5e-19L;

// log |Γ(x)|; that of Wide for x > 0.
inline double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
inline Wide log_gamma_of_positive(Wide x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}

// Tables (special_tables.h).
double log_gamma_series(int i);
Part temme_coefficient(int order, int term);
double quadrature_point(int i);
double quadrature_weight(int i);
double stirling_of_few(int n);

}  // namespace plait::special::shared
