// Elementwise functions of one operand: one entry of the table each, and one line below it.
#include <cmath>
#include <complex>
#include <numbers>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {
namespace {

using Reals = std::span<const double>;
using Integers = std::span<const int64_t>;
using Naturals = std::span<const uint64_t>;
using Complexes = std::span<const std::complex<double>>;
using Number = std::complex<double>;

struct Unary {
  const char* name;
  PublicFunction function;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::ScalarBody body;
  Partial partial;
  ir::Elementwise result = ir::Elementwise::same;
};

const ir::Primitive& unary(const Unary& declared, ir::Numerics numerics = {}) {
  const bool gives_truth = declared.result == ir::Elementwise::truth;
  if (gives_truth) numerics.accuracy = ir::Accuracy::exact;
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .operands = ir::exactly(1),
                                .takes = declared.takes,
                                .elementwise = declared.result,
                                .numerics = numerics,
                                .body = declared.body},
                  .rules = {.partials = {declared.partial},
                            .not_differentiable = gives_truth ? "returns booleans" : ""},
                  .function = declared.function});
}

using Context = RuleContext;

// The absolute value as a divisor: 1 instead of 0.
Tensor length_of(const Tensor& x) {
  const Tensor length = absolute(x);
  return where(length == 0, 1, length);
}

// d|z| = Re(conj(z)·dz)/|z|, and 0 at 0.
std::vector<Tensor> tangent_of_absolute(const Context& c, std::span<const Tensor> tangents) {
  const Tensor &x = c.operand(0), &dx = tangents[0];
  if (!dx) return {Tensor()};
  if (!is_complex(x.dtype())) return {sign(x) * dx};
  return {real(conj(x) * dx) / length_of(x)};
}

// For complex numbers only the part of dz perpendicular to z changes the sign: (dz −
// s·Re(conj(s)·dz))/|z|.
std::vector<Tensor> tangent_of_sign(const Context& c, std::span<const Tensor> tangents) {
  const Tensor &x = c.operand(0), &sign = c.result(), &dx = tangents[0];
  if (!dx || !is_complex(x.dtype())) return {Tensor()};
  return {(dx - sign * real(conj(sign) * dx)) / length_of(x)};
}

// The C library's own is off by up to 4 ulp.
double cube_root(Reals x) { return static_cast<double>(std::cbrt(static_cast<long double>(x[0]))); }

// e^x cos y − 1 without cancellation; for numbers that are not finite as exp.
Number expm1_of(const Number& z) {
  if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) return std::exp(z) - 1.0;
  const double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half + 0.0,  // no -0
          std::exp(z.real()) * std::sin(z.imag())};
}

// log |1 + z| from |1 + z|² − 1 where that is small.
Number log1p_of(const Number& z) {
  const double x = z.real(), y = z.imag();
  const double length = std::abs(x) < 0.5 && std::abs(y) < 0.5
                            ? 0.5 * std::log1p(x * (2 + x) + y * y)
                            : std::log(std::hypot(1 + x, y));
  return {length, std::atan2(y, 1 + x)};
}

struct ElementwiseUnaryTable {
  const ir::Primitive& negative =
      unary({"negative",
             plait::negative,
             "−x; integers wrap.",
             "numpy.negative",
             kNumbers,
             {.real = [](Reals x) { return -x[0]; },
              .integer = [](Integers x) { return wrapped(0 - bits(x[0])); },
              .complex = [](Complexes x) { return -x[0]; }},
             Partial::minus_one()},
            {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& absolute = declare(
      {.primitive = {.name = "absolute",
                     .summary = "|x|; real for complex numbers too.",
                     .oracle = "numpy.absolute",
                     .operands = ir::exactly(1),
                     .takes = kNumbers,
                     .elementwise = ir::Elementwise::real,
                     .numerics = {.accuracy = ir::Accuracy::twice},
                     .body = {
                         .real = [](Reals x) { return std::abs(x[0]); },
                         .integer =
                             [](Integers x) { return x[0] < 0 ? wrapped(0 - bits(x[0])) : x[0]; },
                         .natural = [](Naturals x) { return x[0]; },
                         .complex = [](Complexes x) { return Number(std::abs(x[0])); }}},
       .rules = {.tangents = {kFirst, tangent_of_absolute}},
       .function = plait::absolute});
  const ir::Primitive& sign = declare(
      {.primitive = {.name = "sign",
                     .summary = "−1, 0 or 1, the sign of x; x/|x| for complex numbers.",
                     .oracle = "numpy.sign",
                     .operands = ir::exactly(1),
                     .takes = kNumbers,
                     .elementwise = ir::Elementwise::same,
                     .numerics = {.accuracy = ir::Accuracy::twice},
                     .body = {.real = [](Reals x) { return x[0] > 0   ? 1
                                                           : x[0] < 0 ? -1
                                                                      : x[0]; },
                              .integer = [](Integers x) { return int64_t{x[0] > 0} - (x[0] < 0); },
                              .natural = [](Naturals x) { return uint64_t{x[0] > 0}; },
                              .complex =
                                  [](Complexes x) {
                                    return x[0] == 0.0 ? Number() : x[0] / std::abs(x[0]);
                                  }}},
       .rules = {.tangents = {kFirst | kResult, tangent_of_sign}},
       .function = plait::sign});
  const ir::Primitive& square =
      unary({"square",
             plait::square,
             "x².",
             "numpy.square",
             kNumbers,
             {.real = [](Reals x) { return x[0] * x[0]; },
              .integer = [](Integers x) { return wrapped(bits(x[0]) * bits(x[0])); },
              .complex = [](Complexes x) { return x[0] * x[0]; }},
             Partial::of(kFirst, [](const Context& c) { return 2 * c.operand(0); })},
            {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& reciprocal =
      unary({"reciprocal",
             plait::reciprocal,
             "1/x.",
             "1 / x of NumPy's arrays",
             kInexacts,
             {.real = [](Reals x) { return 1 / x[0]; },
              .complex = [](Complexes x) { return 1.0 / x[0]; }},
             Partial::of(kResult, [](const Context& c) { return -plait::square(c.result()); })},
            {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::rounded});
  const ir::Primitive& sqrt =
      unary({"sqrt",
             plait::sqrt,
             "The square root; NaN for negative numbers.",
             "numpy.sqrt",
             kInexacts,
             {.real = [](Reals x) { return std::sqrt(x[0]); },
              .complex = [](Complexes x) { return std::sqrt(x[0]); }},
             Partial::of(kResult, [](const Context& c) { return 0.5 / c.result(); })},
            {.accuracy = ir::Accuracy::rounded, .domain = {{0.0, 9.0}}});
  const ir::Primitive& rsqrt = unary(
      {"rsqrt",
       plait::rsqrt,
       "1/√x.",
       "1 / numpy.sqrt",
       kInexacts,
       {.real = [](Reals x) { return 1 / std::sqrt(x[0]); },
        .complex = [](Complexes x) { return 1.0 / std::sqrt(x[0]); }},
       Partial::of(kFirst | kResult,
                   [](const Context& c) { return -0.5 * (c.result() / c.operand(0)); })},
      {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::twice, .domain = {{0.1, 9.0}}});
  const ir::Primitive& exp =
      unary({"exp",
             plait::exp,
             "e to the power of x.",
             "numpy.exp",
             kInexacts,
             {.real = [](Reals x) { return std::exp(x[0]); },
              .complex = [](Complexes x) { return std::exp(x[0]); }},
             Partial::of(kResult, [](const Context& c) { return c.result(); })},
            {.precision = ir::Precision::wide});
  const ir::Primitive& exp2 =
      unary({"exp2",
             plait::exp2,
             "2 to the power of x.",
             "numpy.exp2",
             kInexacts,
             {.real = [](Reals x) { return std::exp2(x[0]); },
              .complex = [](Complexes x) { return std::exp(x[0] * std::numbers::ln2); }},
             Partial::of(kResult, [](const Context& c) { return std::numbers::ln2 * c.result(); })},
            {.precision = ir::Precision::wide});
  const ir::Primitive& expm1 =
      unary({"expm1",
             plait::expm1,
             "e^x − 1, accurate near 0.",
             "numpy.expm1",
             kInexacts,
             {.real = [](Reals x) { return std::expm1(x[0]); },
              .complex = [](Complexes x) { return expm1_of(x[0]); }},
             Partial::of(kResult, [](const Context& c) { return c.result() + 1; })},
            {.precision = ir::Precision::wide});
  const ir::Primitive& cbrt = unary(
      {"cbrt",
       plait::cbrt,
       "The cube root, real also for negative numbers.",
       "numpy.cbrt",
       kFloatings,
       {.real = cube_root},
       Partial::of(
           kResult,
           [](const Context& c) { return plait::reciprocal(3 * plait::square(c.result())); })},
      {.domain = {{0.1, 9.0}}});
  const ir::Primitive& log =
      unary({"log",
             plait::log,
             "The natural logarithm.",
             "numpy.log",
             kInexacts,
             {.real = [](Reals x) { return std::log(x[0]); },
              .complex = [](Complexes x) { return std::log(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return plait::reciprocal(c.operand(0)); })},
            {.precision = ir::Precision::wide, .domain = {{0.1, 9.0}}});
  const ir::Primitive& log2 =
      unary({"log2",
             plait::log2,
             "The logarithm to base 2.",
             "numpy.log2",
             kInexacts,
             {.real = [](Reals x) { return std::log2(x[0]); },
              .complex = [](Complexes x) { return std::log(x[0]) / std::numbers::ln2; }},
             Partial::of(kFirst,
                         [](const Context& c) { return 1 / (std::numbers::ln2 * c.operand(0)); })},
            {.precision = ir::Precision::wide, .domain = {{0.1, 9.0}}});
  const ir::Primitive& log10 =
      unary({"log10",
             plait::log10,
             "The logarithm to base 10.",
             "numpy.log10",
             kInexacts,
             {.real = [](Reals x) { return std::log10(x[0]); },
              .complex = [](Complexes x) { return std::log10(x[0]); }},
             Partial::of(kFirst,
                         [](const Context& c) { return 1 / (std::numbers::ln10 * c.operand(0)); })},
            {.precision = ir::Precision::wide, .domain = {{0.1, 9.0}}});
  const ir::Primitive& log1p =
      unary({"log1p",
             plait::log1p,
             "log(1 + x), accurate near 0.",
             "numpy.log1p",
             kInexacts,
             {.real = [](Reals x) { return std::log1p(x[0]); },
              .complex = [](Complexes x) { return log1p_of(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return 1 / (c.operand(0) + 1); })},
            {.precision = ir::Precision::wide, .domain = {{-0.9, 9.0}}});
  const ir::Primitive& sin =
      unary({"sin",
             plait::sin,
             "The sine.",
             "numpy.sin",
             kInexacts,
             {.real = [](Reals x) { return std::sin(x[0]); },
              .complex = [](Complexes x) { return std::sin(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return plait::cos(c.operand(0)); })});
  const ir::Primitive& cos =
      unary({"cos",
             plait::cos,
             "The cosine.",
             "numpy.cos",
             kInexacts,
             {.real = [](Reals x) { return std::cos(x[0]); },
              .complex = [](Complexes x) { return std::cos(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return -plait::sin(c.operand(0)); })});
  const ir::Primitive& tan =
      unary({"tan",
             plait::tan,
             "The tangent.",
             "numpy.tan",
             kInexacts,
             {.real = [](Reals x) { return std::tan(x[0]); },
              .complex = [](Complexes x) { return std::tan(x[0]); }},
             Partial::of(kResult, [](const Context& c) { return plait::square(c.result()) + 1; })},
            {.precision = ir::Precision::wide, .domain = {{-1.5, 1.5}}});
  const ir::Primitive& asin = unary(
      {"asin",
       plait::asin,
       "The inverse sine, in radians.",
       "numpy.arcsin",
       kInexacts,
       {.real = [](Reals x) { return std::asin(x[0]); },
        .complex = [](Complexes x) { return std::asin(x[0]); }},
       Partial::of(kFirst,
                   [](const Context& c) { return plait::rsqrt(1 - plait::square(c.operand(0))); })},
      {.precision = ir::Precision::wide, .domain = {{-0.99, 0.99}}});
  const ir::Primitive& acos =
      unary({"acos",
             plait::acos,
             "The inverse cosine, in radians.",
             "numpy.arccos",
             kInexacts,
             {.real = [](Reals x) { return std::acos(x[0]); },
              .complex = [](Complexes x) { return std::acos(x[0]); }},
             Partial::of(
                 kFirst,
                 [](const Context& c) { return -plait::rsqrt(1 - plait::square(c.operand(0))); })},
            {.precision = ir::Precision::wide, .domain = {{-0.99, 0.99}}});
  const ir::Primitive& atan = unary({"atan",
                                     plait::atan,
                                     "The inverse tangent, in radians.",
                                     "numpy.arctan",
                                     kInexacts,
                                     {.real = [](Reals x) { return std::atan(x[0]); },
                                      .complex = [](Complexes x) { return std::atan(x[0]); }},
                                     Partial::of(kFirst, [](const Context& c) {
                                       return plait::reciprocal(plait::square(c.operand(0)) + 1);
                                     })});
  const ir::Primitive& sinh =
      unary({"sinh",
             plait::sinh,
             "The hyperbolic sine.",
             "numpy.sinh",
             kInexacts,
             {.real = [](Reals x) { return std::sinh(x[0]); },
              .complex = [](Complexes x) { return std::sinh(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return plait::cosh(c.operand(0)); })},
            {.precision = ir::Precision::wide});
  const ir::Primitive& cosh =
      unary({"cosh",
             plait::cosh,
             "The hyperbolic cosine.",
             "numpy.cosh",
             kInexacts,
             {.real = [](Reals x) { return std::cosh(x[0]); },
              .complex = [](Complexes x) { return std::cosh(x[0]); }},
             Partial::of(kFirst, [](const Context& c) { return plait::sinh(c.operand(0)); })},
            {.precision = ir::Precision::wide});
  const ir::Primitive& tanh =
      unary({"tanh",
             plait::tanh,
             "The hyperbolic tangent.",
             "numpy.tanh",
             kInexacts,
             {.real = [](Reals x) { return std::tanh(x[0]); },
              .complex = [](Complexes x) { return std::tanh(x[0]); }},
             Partial::of(kResult, [](const Context& c) { return 1 - plait::square(c.result()); })});
  const ir::Primitive& asinh = unary({"asinh",
                                      plait::asinh,
                                      "The inverse of sinh.",
                                      "numpy.arcsinh",
                                      kInexacts,
                                      {.real = [](Reals x) { return std::asinh(x[0]); },
                                       .complex = [](Complexes x) { return std::asinh(x[0]); }},
                                      Partial::of(kFirst, [](const Context& c) {
                                        return plait::rsqrt(plait::square(c.operand(0)) + 1);
                                      })});
  const ir::Primitive& acosh =
      unary({"acosh",
             plait::acosh,
             "The inverse of cosh; NaN below 1.",
             "numpy.arccosh",
             kInexacts,
             {.real = [](Reals x) { return std::acosh(x[0]); },
              .complex = [](Complexes x) { return std::acosh(x[0]); }},
             Partial::of(kFirst,
                         [](const Context& c) {
                           return plait::rsqrt(c.operand(0) - 1) * plait::rsqrt(c.operand(0) + 1);
                         })},
            {.domain = {{1.1, 9.0}}});
  const ir::Primitive& atanh = unary(
      {"atanh",
       plait::atanh,
       "The inverse of tanh.",
       "numpy.arctanh",
       kInexacts,
       {.real = [](Reals x) { return std::atanh(x[0]); },
        .complex = [](Complexes x) { return std::atanh(x[0]); }},
       Partial::of(
           kFirst,
           [](const Context& c) { return plait::reciprocal(1 - plait::square(c.operand(0))); })},
      {.domain = {{-0.95, 0.95}}});
  const ir::Primitive& sigmoid =
      unary({"sigmoid",
             plait::sigmoid,
             "1/(1 + e^−x).",
             "scipy.special.expit",
             kFloatings,
             {.real =
                  [](Reals x) {
                    const double e = std::exp(-std::abs(x[0]));
                    return (x[0] < 0 ? e : 1) / (1 + e);
                  }},
             Partial::of(kResult, [](const Context& c) { return c.result() * (1 - c.result()); })});
  const ir::Primitive& erf =
      unary({"erf",
             plait::erf,
             "The error function.",
             "scipy.special.erf",
             kFloatings,
             {.real = [](Reals x) { return std::erf(x[0]); }},
             Partial::of(kFirst, [](const Context& c) {
               return 2 * std::numbers::inv_sqrtpi * plait::exp(-plait::square(c.operand(0)));
             })});
  const ir::Primitive& floor = unary({"floor",
                                      plait::floor,
                                      "The greatest integer that is not above x.",
                                      "numpy.floor",
                                      kFloatings,
                                      {.real = [](Reals x) { return std::floor(x[0]); }},
                                      Partial::zero()},
                                     {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& ceil = unary({"ceil",
                                     plait::ceil,
                                     "The least integer that is not below x.",
                                     "numpy.ceil",
                                     kFloatings,
                                     {.real = [](Reals x) { return std::ceil(x[0]); }},
                                     Partial::zero()},
                                    {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& round =
      unary({"round",
             plait::round,
             "The nearest integer, halves to even.",
             "numpy.rint",
             kInexacts,
             {.real = [](Reals x) { return std::nearbyint(x[0]); },
              .complex =
                  [](Complexes x) {
                    return Number(std::nearbyint(x[0].real()), std::nearbyint(x[0].imag()));
                  }},
             Partial::zero()},
            {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& trunc = unary({"trunc",
                                      plait::trunc,
                                      "x rounded towards 0.",
                                      "numpy.trunc",
                                      kFloatings,
                                      {.real = [](Reals x) { return std::trunc(x[0]); }},
                                      Partial::zero()},
                                     {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& stop_gradient = declare(
      {.primitive = {.name = "stop_gradient",
                     .summary = "x, treated as a constant by derivatives.",
                     .oracle = "x itself",
                     .operands = ir::exactly(1),
                     .takes = kAllButKeys,
                     .elementwise = ir::Elementwise::same,
                     .numerics = {.accuracy = ir::Accuracy::exact},
                     .index_map = ir::identity_map},
       .rules = {.partials = {Partial::zero()}},
       .evaluator = [](KernelCall& call, const void*) { call.results[0] = call.operands[0]; },
       .serves_devices = true,
       .function = plait::stop_gradient});
  const ir::Primitive& is_nan =
      unary({"is_nan",
             {},
             "Whether x is NaN.",
             "numpy.isnan",
             kInexacts,
             {.real = [](Reals x) { return std::isnan(x[0]) ? 1. : 0.; },
              .complex =
                  [](Complexes x) {
                    return Number(std::isnan(x[0].real()) || std::isnan(x[0].imag()) ? 1 : 0);
                  }},
             Partial::zero(),
             ir::Elementwise::truth});
  const ir::Primitive& is_infinite =
      unary({"is_infinite",
             {},
             "Whether x is ∞ or −∞.",
             "numpy.isinf",
             kInexacts,
             {.real = [](Reals x) { return std::isinf(x[0]) ? 1. : 0.; },
              .complex =
                  [](Complexes x) {
                    return Number(std::isinf(x[0].real()) || std::isinf(x[0].imag()) ? 1 : 0);
                  }},
             Partial::zero(),
             ir::Elementwise::truth});
  const ir::Primitive& is_finite =
      unary({"is_finite",
             {},
             "Whether x is neither infinite nor NaN.",
             "numpy.isfinite",
             kInexacts,
             {.real = [](Reals x) { return std::isfinite(x[0]) ? 1. : 0.; },
              .complex =
                  [](Complexes x) {
                    return Number(std::isfinite(x[0].real()) && std::isfinite(x[0].imag()) ? 1 : 0);
                  }},
             Partial::zero(),
             ir::Elementwise::truth});
  const ir::Primitive& bitwise_not = unary({"bitwise_not",
                                            plait::bitwise_not,
                                            "All bits inverted; for bool, not x.",
                                            "numpy.invert",
                                            kIntegers,
                                            {.integer = [](Integers x) { return ~x[0]; }},
                                            Partial::zero()},
                                           {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& logical_not =
      unary({"logical_not",
             plait::logical_not,
             "Whether x is false.",
             "numpy.logical_not",
             kBoolean,
             {.integer = [](Integers x) { return int64_t{x[0] == 0}; }},
             Partial::zero(),
             ir::Elementwise::truth});
};
const ElementwiseUnaryTable& elementwise_unary_ops() {
  static const ElementwiseUnaryTable table;
  return table;
}

Tensor apply_to(const ir::Primitive& primitive, const Tensor& x, DType dtype) {
  const RowOperand row{.tensor = &x};
  if (Tensor result = apply_to_rows(primitive, dtype, {&row, 1})) return result;
  return apply(primitive, {astype(x, dtype)});
}

// Inlined, so that the return address of the Call is the user's code.
[[gnu::always_inline]] inline Tensor of_any(const ir::Primitive& primitive, const Operand& x) {
  const Call call(primitive.name, x);
  const Tensor tensor = tensor_from(x);
  return apply_to(primitive, tensor, tensor.dtype());
}

[[gnu::always_inline]] inline Tensor of_inexact(const ir::Primitive& primitive, const Operand& x) {
  const Call call(primitive.name, x);
  const Tensor tensor = tensor_from(x);
  return apply_to(primitive, tensor, inexact(tensor.dtype()));
}

bool is_whole(DType dtype) { return is_integer(dtype) || is_boolean(dtype); }

// Integers are returned unchanged.
[[gnu::always_inline]] inline Tensor rounded(const ir::Primitive& primitive, const Operand& x) {
  const Call call(primitive.name, x);
  const Tensor tensor = tensor_from(x);
  return is_whole(tensor.dtype()) ? tensor : apply(primitive, {tensor});
}

// Integers are finite.
Tensor classified(const ir::Primitive& primitive, const Operand& x, bool for_integers) {
  const Tensor tensor = tensor_from(x);
  if (!is_whole(tensor.dtype())) return apply(primitive, {tensor});
  return broadcast_to(on_default_device(scalar_tensor(for_integers, DType::boolean)),
                      tensor.shape());
}

}  // namespace

Tensor negative(const Operand& x) { return of_any(elementwise_unary_ops().negative, x); }
Tensor absolute(const Operand& x) { return of_any(elementwise_unary_ops().absolute, x); }
Tensor sign(const Operand& x) { return of_any(elementwise_unary_ops().sign, x); }
Tensor square(const Operand& x) { return of_any(elementwise_unary_ops().square, x); }
Tensor reciprocal(const Operand& x) { return of_inexact(elementwise_unary_ops().reciprocal, x); }
Tensor sqrt(const Operand& x) { return of_inexact(elementwise_unary_ops().sqrt, x); }
Tensor rsqrt(const Operand& x) { return of_inexact(elementwise_unary_ops().rsqrt, x); }
Tensor exp(const Operand& x) { return of_inexact(elementwise_unary_ops().exp, x); }
Tensor exp2(const Operand& x) { return of_inexact(elementwise_unary_ops().exp2, x); }
Tensor expm1(const Operand& x) { return of_inexact(elementwise_unary_ops().expm1, x); }
Tensor cbrt(const Operand& x) { return of_inexact(elementwise_unary_ops().cbrt, x); }
Tensor log(const Operand& x) { return of_inexact(elementwise_unary_ops().log, x); }
Tensor log2(const Operand& x) { return of_inexact(elementwise_unary_ops().log2, x); }
Tensor log10(const Operand& x) { return of_inexact(elementwise_unary_ops().log10, x); }
Tensor log1p(const Operand& x) { return of_inexact(elementwise_unary_ops().log1p, x); }
Tensor sin(const Operand& x) { return of_inexact(elementwise_unary_ops().sin, x); }
Tensor cos(const Operand& x) { return of_inexact(elementwise_unary_ops().cos, x); }
Tensor tan(const Operand& x) { return of_inexact(elementwise_unary_ops().tan, x); }
Tensor asin(const Operand& x) { return of_inexact(elementwise_unary_ops().asin, x); }
Tensor acos(const Operand& x) { return of_inexact(elementwise_unary_ops().acos, x); }
Tensor atan(const Operand& x) { return of_inexact(elementwise_unary_ops().atan, x); }
Tensor sinh(const Operand& x) { return of_inexact(elementwise_unary_ops().sinh, x); }
Tensor cosh(const Operand& x) { return of_inexact(elementwise_unary_ops().cosh, x); }
Tensor tanh(const Operand& x) { return of_inexact(elementwise_unary_ops().tanh, x); }
Tensor asinh(const Operand& x) { return of_inexact(elementwise_unary_ops().asinh, x); }
Tensor acosh(const Operand& x) { return of_inexact(elementwise_unary_ops().acosh, x); }
Tensor atanh(const Operand& x) { return of_inexact(elementwise_unary_ops().atanh, x); }
Tensor sigmoid(const Operand& x) { return of_inexact(elementwise_unary_ops().sigmoid, x); }
Tensor erf(const Operand& x) { return of_inexact(elementwise_unary_ops().erf, x); }
Tensor floor(const Operand& x) { return rounded(elementwise_unary_ops().floor, x); }
Tensor ceil(const Operand& x) { return rounded(elementwise_unary_ops().ceil, x); }
Tensor round(const Operand& x) { return rounded(elementwise_unary_ops().round, x); }
Tensor trunc(const Operand& x) { return rounded(elementwise_unary_ops().trunc, x); }
Tensor stop_gradient(const Operand& x) {
  const Call call("stop_gradient", x);
  const bool is_concrete = x.is_tensor() && !x.tensor().is_traced() && Trace::current() == nullptr;
  const bool is_number = is_concrete && !is_key(x.tensor().dtype());
  return is_number ? underived(x.tensor()) : of_any(elementwise_unary_ops().stop_gradient, x);
}
Tensor isnan(const Operand& x) {
  const Call call("isnan", x);
  return classified(elementwise_unary_ops().is_nan, x, false);
}
Tensor isinf(const Operand& x) {
  const Call call("isinf", x);
  return classified(elementwise_unary_ops().is_infinite, x, false);
}
Tensor isfinite(const Operand& x) {
  const Call call("isfinite", x);
  return classified(elementwise_unary_ops().is_finite, x, true);
}
Tensor bitwise_not(const Operand& x) {
  const Call call("bitwise_not", x);
  return is_boolean(tensor_from(x).dtype()) ? logical_not(x)
                                            : of_any(elementwise_unary_ops().bitwise_not, x);
}
Tensor logical_not(const Operand& x) {
  const Call call("logical_not", x);
  return apply(elementwise_unary_ops().logical_not, {astype(tensor_from(x), DType::boolean)});
}

const ir::Primitive& exp_primitive() { return elementwise_unary_ops().exp; }
const ir::Primitive& negative_primitive() { return elementwise_unary_ops().negative; }
const ir::Primitive& stop_gradient_primitive() { return elementwise_unary_ops().stop_gradient; }

void register_unary_ops() { elementwise_unary_ops(); }

}  // namespace plait
