// Special functions that are primitives; their bodies are in
// core/inside/mathematics/special_functions.h.
#include <cmath>
#include <limits>
#include <numbers>

#include "plait/core/error.h"
#include "plait/core/inside/mathematics/special_functions.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/inside/elementwise/scalar_functions.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using Reals = std::span<const double>;
using Context = RuleContext;

constexpr Reads kBoth = kFirst | kSecond, kBothAndResult = kBoth | kResult;
constexpr Reads kThree = kBoth | kThird;

// Throws the error for a partial derivative that is not implemented.
Tensor missing(const char* function, const char* by) {
  throw ValueError("{}: has no derivative with respect to {}", function, by)
      .at(Location::of_caller())
      .hint("stop_gradient treats it as a constant");
}

// x, but `otherwise` where the factor is 0, so that 0 · ∞ does not occur.
Tensor beside(const Tensor& factor, const Tensor& x, double otherwise = 1) {
  return where(equal(factor, 0), otherwise, x);
}

// y / x, for functions with y ≈ x/2 near 0.
Tensor over_itself(const Tensor& y, const Tensor& x) {
  const Tensor is_zero = equal(x, 0);
  return where(is_zero, 0.5, y / where(is_zero, 1, x));
}

Tensor by_shape_of_gamma(const Tensor& density, const Tensor& a, const Tensor& x) {
  return density * (log(beside(density, x)) - plait::digamma(a));
}

// ψ(a + b) − ψ(a).
Tensor digamma_step(const Tensor& a, const Tensor& b) {
  return plait::digamma(a + b) - plait::digamma(a);
}

Tensor by_first_of_beta(const Context& c, const Tensor& density) {
  const Tensor x = beside(density, c.operand(2), 0.5);
  return density * (log(x) + digamma_step(c.operand(0), c.operand(1)));
}
Tensor by_second_of_beta(const Context& c, const Tensor& density) {
  const Tensor x = beside(density, c.operand(2), 0.5);
  return density * (log1p(-x) + digamma_step(c.operand(1), c.operand(0)));
}

Tensor density_of_gamma(const Context& c);
Tensor density_of_beta(const Context& c);
Tensor share_of_beta_by(const Context& c, size_t shape);

struct SpecialFunctionTable {
  const ir::Primitive& erfcx = declare_function(
      1, {"erfcx",
          plait::erfcx,
          "e^(x²) erfc x.",
          "mpmath.erfc, scipy.special.erfcx at the infinities",
          kFloatings,
          {.real = [](Reals x) { return special::scaled_erfc(x[0]); }},
          {.partials = {Partial::of(
               kFirst | kResult,
               [](const Context& c) {
                 // 2x erfcx x − 2/√π, which cancels for large x; there an asymptotic series is
                 // used.
                 const Tensor& x = c.operand(0);
                 const Tensor is_large = greater(x, x.dtype() == DType::f64 ? 50 : 10);
                 const Tensor t = square(1 / where(is_large, x, 1));
                 const Tensor series = -t * (1 - t * (1.5 - t * (3.75 - t * 13.125)));
                 const Tensor difference =
                     where(is_large, 0, x) * where(is_large, 0, c.result()) * 2 -
                     2 * std::numbers::inv_sqrtpi;
                 return where(is_large, series * std::numbers::inv_sqrtpi, difference);
               })}},
          {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::special}});
  const ir::Primitive& ndtr = declare_function(
      1, {"ndtr",
          plait::ndtr,
          "The cumulative distribution function of the standard normal distribution.",
          "mpmath.erfc, scipy.special.ndtr at the infinities",
          kFloatings,
          {.real = [](Reals x) { return special::normal_cdf(x[0]); }},
          {.partials = {Partial::of(kFirst, [](const Context& c) {
             return std::numbers::inv_sqrtpi / std::numbers::sqrt2 *
                    plait::exp(-0.5 * square(c.operand(0)));
           })}}});
  const ir::Primitive& log_ndtr = declare_function(
      1, {"log_ndtr",
          plait::log_ndtr,
          "The logarithm of ndtr.",
          "mpmath.erfc, scipy.special.log_ndtr at the infinities",
          kFloatings,
          {.real = [](Reals x) { return special::log_normal_cdf(x[0]); }},
          {.partials = {Partial::of(kFirst | kResult,
                                    [](const Context& c) {
                                      // The density divided by ndtr: above 0 computed directly,
                                      // since erfcx would overflow; below from erfcx, since both
                                      // underflow.
                                      const Tensor is_above = greater(c.operand(0), 0);
                                      const Tensor above = where(is_above, c.operand(0), 0);
                                      const Tensor below = where(is_above, 0, c.operand(0));
                                      const Tensor logarithm =
                                          -0.5 * square(above) - where(is_above, c.result(), 0);
                                      return std::numbers::sqrt2 * std::numbers::inv_sqrtpi *
                                             where(is_above, 0.5 * plait::exp(logarithm),
                                                   1 / plait::erfcx(below *
                                                                    (-1 / std::numbers::sqrt2)));
                                    })}},
          {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::special}});
  const ir::Primitive& ndtri = declare_function(
      1, {"ndtri",
          plait::ndtri,
          "The inverse of ndtr, the quantile function of the standard normal distribution.",
          "scipy.special.ndtri",
          kFloatings,
          {.real = [](Reals x) { return special::normal_quantile(x[0]); }},
          {.partials = {Partial::of(kResult,
                                    [](const Context& c) {
                                      return std::numbers::sqrt2 / std::numbers::inv_sqrtpi *
                                             plait::exp(0.5 * square(c.result()));
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.02, 0.98}}}});
  const ir::Primitive& i0 =
      declare_function(1, {"i0",
                           plait::i0,
                           "The modified Bessel function of the first kind and order 0.",
                           "scipy.special.i0",
                           kFloatings,
                           {.real = [](Reals x) { return special::bessel_i0(x[0]); }},
                           {.partials = {Partial::of(
                                kFirst, [](const Context& c) { return plait::i1(c.operand(0)); })}},
                           {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::special}});
  const ir::Primitive& i0e =
      declare_function(1, {"i0e",
                           plait::i0e,
                           "e^−|x| i0(x).",
                           "scipy.special.i0e",
                           kFloatings,
                           {.real = [](Reals x) { return special::scaled_bessel_i0(x[0]); }},
                           {.partials = {Partial::of(kFirst | kResult,
                                                     [](const Context& c) {
                                                       return plait::i1e(c.operand(0)) -
                                                              sign(c.operand(0)) * c.result();
                                                     })}},
                           {.accuracy = ir::Accuracy::special, .domain = {{0.1, 3.0}}}});
  const ir::Primitive& i1 =
      declare_function(1, {"i1",
                           plait::i1,
                           "The modified Bessel function of the first kind and order 1.",
                           "scipy.special.i1",
                           kFloatings,
                           {.real = [](Reals x) { return special::bessel_i1(x[0]); }},
                           {.partials = {Partial::of(kFirst | kResult,
                                                     [](const Context& c) {
                                                       return plait::i0(c.operand(0)) -
                                                              over_itself(c.result(), c.operand(0));
                                                     })}},
                           {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::special}});
  const ir::Primitive& i1e = declare_function(
      1, {"i1e",
          plait::i1e,
          "e^−|x| i1(x).",
          "scipy.special.i1e",
          kFloatings,
          {.real = [](Reals x) { return special::scaled_bessel_i1(x[0]); }},
          {.partials = {Partial::of(kFirst | kResult,
                                    [](const Context& c) {
                                      const Tensor &x = c.operand(0), &y = c.result();
                                      return plait::i0e(x) - sign(x) * y - over_itself(y, x);
                                    })}},
          {.accuracy = ir::Accuracy::special, .domain = {{0.1, 3.0}}}});
  const ir::Primitive& zeta = declare_function(
      2, {"zeta",
          plait::zeta,
          "The sum of 1 / (q + k)^x over k = 0, 1, …; operands x and q.",
          "scipy.special.zeta, mpmath.zeta between the poles",
          kFloatings,
          {.real = [](Reals x) { return special::zeta(x[0], x[1]); }},
          {.partials = {Partial::of({}, [](const Context&) { return missing("zeta", "x"); }),
                        Partial::of(kBoth,
                                    [](const Context& c) {
                                      return -c.operand(0) *
                                             plait::zeta(c.operand(0) + 1, c.operand(1));
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{1.5, 6.0}, {0.5, 5.0}}}});
  const ir::Primitive& betaln = declare_function(
      2, {"betaln",
          plait::betaln,
          "The logarithm of the magnitude of Γ(a) Γ(b) / Γ(a + b).",
          "mpmath.beta",
          kFloatings,
          {.real = [](Reals x) { return special::log_beta(x[0], x[1]); }},
          {.partials = {Partial::of(kBoth,
                                    [](const Context& c) {
                                      return -digamma_step(c.operand(0), c.operand(1));
                                    }),
                        Partial::of(kBoth,
                                    [](const Context& c) {
                                      return -digamma_step(c.operand(1), c.operand(0));
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.3, 4.0}}}});
  const ir::Primitive& gamma_density = declare_function(
      2,
      {"gamma_density",
       {},
       "x^(a−1) e^−x / Γ(a), the density of the gamma distribution of shape a; operands a and x.",
       "mpmath.loggamma",
       kFloatings,
       {.real = [](Reals x) { return special::gamma_density(x[0], x[1]); }},
       {.partials = {Partial::of(kBothAndResult,
                                 [](const Context& c) {
                                   return by_shape_of_gamma(c.result(), c.operand(0), c.operand(1));
                                 }),
                     Partial::of(kBothAndResult,
                                 [](const Context& c) {
                                   const Tensor x = beside(c.result(), c.operand(1));
                                   return c.result() * ((c.operand(0) - 1) / x - 1);
                                 })}},
       {.precision = ir::Precision::wide,
        .accuracy = ir::Accuracy::special,
        .domain = {{0.3, 4.0}}}});
  const ir::Primitive& gammainc_grad_a = declare_function(
      2, {"gammainc_grad_a",
          plait::gammainc_grad_a,
          "The derivative of gammainc with respect to a; operands a and x.",
          "differences of mpmath.hyp1f1 in 80 digits",
          kFloatings,
          {.real = [](Reals x) { return special::gamma_p_da(x[0], x[1]); }},
          {.partials = {Partial::of({},
                                    [](const Context&) { return missing("gammainc_grad_a", "a"); }),
                        Partial::of(kBoth,
                                    [](const Context& c) {
                                      return by_shape_of_gamma(density_of_gamma(c), c.operand(0),
                                                               c.operand(1));
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.3, 4.0}}}});
  const ir::Primitive& random_gamma_grad = declare_function(
      2, {"random_gamma_grad",
          plait::random_gamma_grad,
          "The derivative of a sample x of the gamma distribution of shape a with respect to a.",
          "differences of mpmath.hyp1f1 in 80 digits",
          kFloatings,
          {.real = [](Reals x) { return special::gamma_quantile_da(x[0], x[1]); }},
          {.partials = {Partial::of(
                            {}, [](const Context&) { return missing("random_gamma_grad", "a"); }),
                        Partial::of(kBothAndResult,
                                    [](const Context& c) {
                                      const Tensor &a = c.operand(0), &x = c.operand(1);
                                      return plait::digamma(a) - log(x) -
                                             c.result() * ((a - 1) / x - 1);
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.3, 4.0}}}});
  const ir::Primitive& gammainc = declare_function(
      2, {"gammainc",
          plait::gammainc,
          "The regularised lower incomplete gamma function; operands a and x.",
          "mpmath.hyp1f1, scipy.special.gammainc at the limits",
          kFloatings,
          {.real = [](Reals x) { return special::gamma_p(x[0], x[1]); }},
          {.partials = {Partial::of(kBoth,
                                    [](const Context& c) {
                                      return plait::gammainc_grad_a(c.operand(0), c.operand(1));
                                    }),
                        Partial::of(kBoth, [](const Context& c) { return density_of_gamma(c); })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.3, 4.0}}}});
  const ir::Primitive& gammaincc = declare_function(
      2, {"gammaincc",
          plait::gammaincc,
          "The regularised upper incomplete gamma function; operands a and x.",
          "mpmath.gammainc, scipy.special.gammaincc at the limits",
          kFloatings,
          {.real = [](Reals x) { return special::gamma_q(x[0], x[1]); }},
          {.partials = {Partial::of(kBoth,
                                    [](const Context& c) {
                                      return -plait::gammainc_grad_a(c.operand(0), c.operand(1));
                                    }),
                        Partial::of(kBoth, [](const Context& c) { return -density_of_gamma(c); })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.3, 4.0}}}});
  const ir::Primitive& beta_density = declare_function(
      3,
      {"beta_density",
       {},
       "The density of the beta distribution of shapes a and b at x; operands a, b and x.",
       "mpmath.beta",
       kFloatings,
       {.real = [](Reals x) { return special::beta_density(x[0], x[1], x[2]); }},
       {.partials = {Partial::of(kThree | kResult,
                                 [](const Context& c) { return by_first_of_beta(c, c.result()); }),
                     Partial::of(kThree | kResult,
                                 [](const Context& c) { return by_second_of_beta(c, c.result()); }),
                     Partial::of(kThree | kResult,
                                 [](const Context& c) {
                                   const Tensor x = beside(c.result(), c.operand(2), 0.5);
                                   return c.result() *
                                          ((c.operand(0) - 1) / x - (c.operand(1) - 1) / (1 - x));
                                 })}},
       {.precision = ir::Precision::wide,
        .accuracy = ir::Accuracy::special,
        .domain = {{0.5, 4.0}, {0.5, 4.0}, {0.05, 0.95}}}});
  const ir::Primitive& betainc_grad_a = declare_function(
      3,
      {"betainc_grad_a",
       {},
       "The derivative of betainc with respect to a; operands a, b and x.",
       "differences of mpmath.betainc in 80 digits",
       kFloatings,
       {.real = [](Reals x) { return special::betainc_da(x[0], x[1], x[2]); }},
       {.partials = {Partial::of({}, [](const Context&) { return missing("betainc_grad_a", "a"); }),
                     Partial::of({}, [](const Context&) { return missing("betainc_grad_a", "b"); }),
                     Partial::of(kThree,
                                 [](const Context& c) {
                                   return by_first_of_beta(c, density_of_beta(c));
                                 })}},
       {.precision = ir::Precision::wide,
        .accuracy = ir::Accuracy::special,
        .domain = {{0.5, 4.0}, {0.5, 4.0}, {0.05, 0.95}}}});
  const ir::Primitive& betainc_grad_b = declare_function(
      3,
      {"betainc_grad_b",
       {},
       "The derivative of betainc with respect to b; operands a, b and x.",
       "differences of mpmath.betainc in 80 digits",
       kFloatings,
       {.real = [](Reals x) { return special::betainc_db(x[0], x[1], x[2]); }},
       {.partials = {Partial::of({}, [](const Context&) { return missing("betainc_grad_b", "a"); }),
                     Partial::of({}, [](const Context&) { return missing("betainc_grad_b", "b"); }),
                     Partial::of(kThree,
                                 [](const Context& c) {
                                   return by_second_of_beta(c, density_of_beta(c));
                                 })}},
       {.precision = ir::Precision::wide,
        .accuracy = ir::Accuracy::special,
        .domain = {{0.5, 4.0}, {0.5, 4.0}, {0.05, 0.95}}}});
  const ir::Primitive& betainc = declare_function(
      3,
      {"betainc",
       {},
       "The regularised incomplete beta function; operands a, b and x.",
       "mpmath.betainc, scipy.special.betainc at the limits",
       kFloatings,
       {.real = [](Reals x) { return special::betainc_value(x[0], x[1], x[2]); }},
       {.partials = {Partial::of(kThree, [](const Context& c) { return share_of_beta_by(c, 0); }),
                     Partial::of(kThree, [](const Context& c) { return share_of_beta_by(c, 1); }),
                     Partial::of(kThree, [](const Context& c) { return density_of_beta(c); })}},
       {.precision = ir::Precision::wide,
        .accuracy = ir::Accuracy::special,
        .domain = {{0.5, 4.0}, {0.5, 4.0}, {0.05, 0.95}}}});
};
const SpecialFunctionTable& special_functions() {
  static const SpecialFunctionTable table;
  return table;
}

Tensor density_of_gamma(const Context& c) {
  return plait::apply(special_functions().gamma_density, {c.operand(0), c.operand(1)});
}
Tensor density_of_beta(const Context& c) {
  return plait::apply(special_functions().beta_density, {c.operand(0), c.operand(1), c.operand(2)});
}
Tensor share_of_beta_by(const Context& c, size_t shape) {
  const SpecialFunctionTable& table = special_functions();
  return plait::apply(shape == 0 ? table.betainc_grad_a : table.betainc_grad_b,
                      {c.operand(0), c.operand(1), c.operand(2)});
}

}  // namespace

Tensor erfcx(const Operand& x) {
  const Call call("erfcx", x);
  return apply_inexactly(special_functions().erfcx, x);
}
Tensor ndtr(const Operand& x) {
  const Call call("ndtr", x);
  return apply_inexactly(special_functions().ndtr, x);
}
Tensor log_ndtr(const Operand& x) {
  const Call call("log_ndtr", x);
  return apply_inexactly(special_functions().log_ndtr, x);
}
Tensor i0(const Operand& x) {
  const Call call("i0", x);
  return apply_inexactly(special_functions().i0, x);
}
Tensor i0e(const Operand& x) {
  const Call call("i0e", x);
  return apply_inexactly(special_functions().i0e, x);
}
Tensor i1(const Operand& x) {
  const Call call("i1", x);
  return apply_inexactly(special_functions().i1, x);
}
Tensor i1e(const Operand& x) {
  const Call call("i1e", x);
  return apply_inexactly(special_functions().i1e, x);
}
Tensor ndtri(const Operand& p) {
  const Call call("ndtri", p);
  return apply_inexactly(special_functions().ndtri, p);
}
Tensor zeta(const Operand& x, const Operand& q) {
  const Call call("zeta", x, q);
  return apply_inexactly(special_functions().zeta, x, q);
}
Tensor betaln(const Operand& a, const Operand& b) {
  const Call call("betaln", a, b);
  return apply_inexactly(special_functions().betaln, a, b);
}
Tensor gammainc(const Operand& a, const Operand& x) {
  const Call call("gammainc", a, x);
  return apply_inexactly(special_functions().gammainc, a, x);
}
Tensor gammaincc(const Operand& a, const Operand& x) {
  const Call call("gammaincc", a, x);
  return apply_inexactly(special_functions().gammaincc, a, x);
}
Tensor gammainc_grad_a(const Operand& a, const Operand& x) {
  const Call call("gammainc_grad_a", a, x);
  return apply_inexactly(special_functions().gammainc_grad_a, a, x);
}
Tensor random_gamma_grad(const Operand& a, const Operand& x) {
  const Call call("random_gamma_grad", a, x);
  return apply_inexactly(special_functions().random_gamma_grad, a, x);
}
Tensor betainc(const Operand& a, const Operand& b, const Operand& x) {
  const Call call("betainc", a, b, x);
  return apply_inexactly(special_functions().betainc, a, b, x);
}

Tensor multigammaln(const Operand& a, int64_t order) {
  const Call call("multigammaln", a);
  if (order < 1) {
    throw ValueError("multigammaln: the order is {}, expected 1 or more", order)
        .at(Location::of_caller());
  }
  const Tensor tensor = tensor_from(a);
  const DType dtype = inexact(tensor.dtype());
  const Tensor x = astype(tensor, computed(dtype));
  const auto d = static_cast<double>(order);
  const Tensor places = expand_dims(x, -1) - iota(order, x.dtype()) / 2;
  const Tensor sum = plait::sum(lgamma(places), -1) + d * (d - 1) / 4 * std::log(std::numbers::pi);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return astype(where(greater(x, (d - 1) / 2), sum, kNan), dtype);
}

void register_special_functions() { special_functions(); }

}  // namespace plait
