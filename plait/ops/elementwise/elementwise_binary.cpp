// Elementwise functions of two and three operands: one entry of the table each, and one line below
// it.
#include <cmath>
#include <complex>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/fits.h"

namespace plait {
namespace {

using Reals = std::span<const double>;
using Integers = std::span<const int64_t>;
using Naturals = std::span<const uint64_t>;
using Complexes = std::span<const std::complex<double>>;
using Number = std::complex<double>;
using Context = RuleContext;

struct Binary {
  const char* name;
  BinaryFunction function;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::ScalarBody body;
  Partial by_first = Partial::zero();
  Partial by_second = Partial::zero();
};

const ir::Primitive& binary(const Binary& declared, const ir::Numerics& numerics = {},
                            Rules rules = {}) {
  if (rules.not_differentiable.empty()) rules.partials = {declared.by_first, declared.by_second};
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .operands = ir::exactly(2),
                                .takes = declared.takes,
                                .elementwise = ir::Elementwise::same,
                                .numerics = numerics,
                                .body = declared.body},
                  .rules = std::move(rules),
                  .function = declared.function});
}

const ir::Primitive& bits_of(const char* name, BinaryFunction function, const char* summary,
                             const char* oracle, DTypeSet takes, const ir::ScalarBody& body,
                             const ir::Domain& domain = {}) {
  return binary({name, function, summary, oracle, takes, body},
                {.accuracy = ir::Accuracy::exact, .domain = domain},
                {.not_differentiable = "does not accept real numbers"});
}

const ir::Primitive& comparison(const char* name, BinaryFunction function, const char* summary,
                                const char* oracle, DTypeSet takes, const ir::ScalarBody& body) {
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .operands = ir::exactly(2),
                                .takes = takes,
                                .elementwise = ir::Elementwise::truth,
                                .numerics = {.accuracy = ir::Accuracy::exact},
                                .body = body},
                  .rules = {.not_differentiable = "returns booleans"},
                  .function = function});
}

int64_t floor_quotient(Integers x) {
  if (x[1] == 0) return 0;
  if (x[1] == -1) return wrapped(0 - bits(x[0]));
  const int64_t quotient = x[0] / x[1];
  return quotient - (x[0] % x[1] != 0 && (x[0] < 0) != (x[1] < 0));
}

int64_t remainder_of(Integers x) {
  if (x[1] == 0 || x[1] == -1) return 0;
  const int64_t rest = x[0] % x[1];
  return rest != 0 && (rest < 0) != (x[1] < 0) ? rest + x[1] : rest;
}

double remainder_of(Reals x) {
  const double rest = std::fmod(x[0], x[1]);
  if (rest == 0) return std::copysign(0.0, x[1]);
  return (rest < 0) != (x[1] < 0) ? rest + x[1] : rest;
}

double floor_quotient(Reals x) {
  if (x[1] == 0) return x[0] / x[1];
  const double quotient = (x[0] - remainder_of(x)) / x[1];
  return quotient == 0 ? std::copysign(0.0, x[0] / x[1]) : std::round(quotient);
}

int64_t power_of(Integers x) {
  if (x[1] < 0) return x[0] == 1 ? 1 : x[0] == -1 ? (x[1] % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, base = bits(x[0]);
  for (uint64_t exponent = bits(x[1]); exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return wrapped(result);
}

// If both are equal, each gets half of the derivative.
Tensor share_of_greater(const Tensor& a, const Tensor& b) {
  return where(equal(a, b), 0.5, where(greater(a, b), 1.0, 0.0));
}

void infer_select(ir::Inference& in) {
  in.expect_array(0, kBoolean);
  in.expect_array(1, kAllDTypes);
  in.expect_array(2, kAllDTypes);
  in.expect_alike(in.operands[1], in.operands[2]);
  in.expect_alike(in.operands[0].with_dtype(in.operands[1].dtype()), in.operands[1]);
  in.give(in.operands[1].without_sharding());
}

struct ElementwiseBinaryTable {
  const ir::Primitive& add =
      binary({"add",
              plait::add,
              "a + b; integers wrap.",
              "numpy.add",
              kNumbers,
              {.real = [](Reals x) { return x[0] + x[1]; },
               .integer = [](Integers x) { return wrapped(bits(x[0]) + bits(x[1])); },
               .complex = [](Complexes x) { return x[0] + x[1]; }},
              Partial::one(),
              Partial::one()},
             {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& subtract =
      binary({"subtract",
              plait::subtract,
              "a − b; integers wrap.",
              "numpy.subtract",
              kNumbers,
              {.real = [](Reals x) { return x[0] - x[1]; },
               .integer = [](Integers x) { return wrapped(bits(x[0]) - bits(x[1])); },
               .complex = [](Complexes x) { return x[0] - x[1]; }},
              Partial::one(),
              Partial::minus_one()},
             {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& multiply =
      binary({"multiply",
              plait::multiply,
              "a · b; integers wrap.",
              "numpy.multiply",
              kNumbers,
              {.real = [](Reals x) { return x[0] * x[1]; },
               .integer = [](Integers x) { return wrapped(bits(x[0]) * bits(x[1])); },
               .complex = [](Complexes x) { return x[0] * x[1]; }},
              Partial::of(kSecond, [](const Context& c) { return c.operand(1); }),
              Partial::of(kFirst, [](const Context& c) { return c.operand(0); })},
             {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& divide =
      binary({"divide",
              plait::divide,
              "a / b.",
              "numpy.divide",
              kInexacts,
              {.real = [](Reals x) { return x[0] / x[1]; },
               .complex = [](Complexes x) { return x[0] / x[1]; }},
              Partial::of(kSecond, [](const Context& c) { return reciprocal(c.operand(1)); }),
              Partial::of(kSecond | kResult,
                          [](const Context& c) { return -(c.result() / c.operand(1)); })},
             {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& floor_divide =
      binary({"floor_divide",
              plait::floor_divide,
              "The greatest integer not above a / b; integers by 0 give 0.",
              "numpy.floor_divide",
              kReals,
              {.real = [](Reals x) { return floor_quotient(x); },
               .integer = [](Integers x) { return floor_quotient(x); },
               .natural = [](Naturals x) { return x[1] == 0 ? 0 : x[0] / x[1]; }}},
             {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& remainder = binary(
      {"remainder",
       plait::remainder,
       "The remainder of floor_divide, with the sign of b; integers by 0 give 0.",
       "numpy.remainder",
       kReals,
       {.real = [](Reals x) { return remainder_of(x); },
        .integer = [](Integers x) { return remainder_of(x); },
        .natural = [](Naturals x) { return x[1] == 0 ? 0 : x[0] % x[1]; }},
       Partial::one(),
       Partial::of(
           kFirst | kSecond,
           [](const Context& c) { return -plait::floor_divide(c.operand(0), c.operand(1)); })},
      {.accuracy = ir::Accuracy::rounded});
  const ir::Primitive& power = binary(
      {"power",
       plait::power,
       "a to the power of b; for integers and b < 0, 1/a^−b rounded towards 0, and 0 for a = 0.",
       "numpy.power; for integers to negative powers 1 / aⁿ, rounded towards 0",
       kNumbers,
       {.real = [](Reals x) { return std::pow(x[0], x[1]); },
        .integer = power_of,
        .complex = [](Complexes x) { return x[1] == 0.0 ? Number(1) : std::pow(x[0], x[1]); }},
       Partial::of(kFirst | kSecond,
                   [](const Context& c) {
                     // d/da a^1 = 1 is constant, but its derivative by b is not 0.
                     const Tensor& b = c.operand(1);
                     const Tensor is_limit = plait::equal(c.operand(0), 0) & plait::equal(b, 0);
                     const Tensor a = where(is_limit, 1, c.operand(0));
                     return where(is_limit, 0, b * plait::power(a, b - 1));
                   }),
       Partial::of(kFirst | kSecond | kResult,
                   [](const Context& c) {
                     const Tensor base = where(plait::equal(c.operand(0), 0), 1, c.operand(0));
                     return c.result() * log(base);
                   })},
      {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::power});
  const ir::Primitive& maximum = binary(
      {"maximum",
       plait::maximum,
       "The greater of a and b; NaN if either is NaN.",
       "numpy.maximum",
       kOrdered,
       {.real = [](Reals x) { return std::isnan(x[0]) || x[0] >= x[1] ? x[0] : x[1]; },
        .integer = [](Integers x) { return std::max(x[0], x[1]); },
        .natural = [](Naturals x) { return std::max(x[0], x[1]); }},
       Partial::of(kFirst | kSecond,
                   [](const Context& c) { return share_of_greater(c.operand(0), c.operand(1)); }),
       Partial::of(kFirst | kSecond,
                   [](const Context& c) { return share_of_greater(c.operand(1), c.operand(0)); })},
      {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& minimum = binary(
      {"minimum",
       plait::minimum,
       "The lesser of a and b; NaN if either is NaN.",
       "numpy.minimum",
       kOrdered,
       {.real = [](Reals x) { return std::isnan(x[0]) || x[0] <= x[1] ? x[0] : x[1]; },
        .integer = [](Integers x) { return std::min(x[0], x[1]); },
        .natural = [](Naturals x) { return std::min(x[0], x[1]); }},
       Partial::of(kFirst | kSecond,
                   [](const Context& c) { return share_of_greater(c.operand(1), c.operand(0)); }),
       Partial::of(kFirst | kSecond,
                   [](const Context& c) { return share_of_greater(c.operand(0), c.operand(1)); })},
      {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& atan2 =
      binary({"atan2",
              plait::atan2,
              "The angle of the point (x, y); operands y, x.",
              "numpy.arctan2",
              kFloatings,
              {.real = [](Reals x) { return std::atan2(x[0], x[1]); }},
              Partial::of(kFirst | kSecond,
                          [](const Context& c) {
                            return c.operand(1) / (square(c.operand(0)) + square(c.operand(1)));
                          }),
              Partial::of(kFirst | kSecond, [](const Context& c) {
                return -(c.operand(0) / (square(c.operand(0)) + square(c.operand(1))));
              })});
  const ir::Primitive& hypot = binary(
      {"hypot",
       plait::hypot,
       "√(a² + b²), without overflow.",
       "numpy.hypot",
       kFloatings,
       {.real = [](Reals x) { return std::hypot(x[0], x[1]); }},
       Partial::of(kFirst | kResult, [](const Context& c) { return c.operand(0) / c.result(); }),
       Partial::of(kSecond | kResult, [](const Context& c) { return c.operand(1) / c.result(); })});
  const ir::Primitive& copysign =
      binary({"copysign",
              plait::copysign,
              "The magnitude of the first operand with the sign of the second.",
              "numpy.copysign",
              kFloatings,
              {.real = [](Reals x) { return std::copysign(x[0], x[1]); }},
              Partial::of(kFirst | kSecond,
                          [](const Context& c) {
                            return sign(c.operand(0)) * plait::copysign(1.0, c.operand(1));
                          })},
             {.accuracy = ir::Accuracy::exact});
  const ir::Primitive& equal =
      comparison("equal", plait::equal, "Whether a = b.", "numpy.equal", kAllButKeys,
                 {.real = [](Reals x) { return x[0] == x[1] ? 1. : 0.; },
                  .integer = [](Integers x) { return int64_t{x[0] == x[1]}; },
                  .complex = [](Complexes x) { return Number(x[0] == x[1] ? 1 : 0); }});
  const ir::Primitive& not_equal =
      comparison("not_equal", plait::not_equal, "Whether a ≠ b.", "numpy.not_equal", kAllButKeys,
                 {.real = [](Reals x) { return x[0] != x[1] ? 1. : 0.; },
                  .integer = [](Integers x) { return int64_t{x[0] != x[1]}; },
                  .complex = [](Complexes x) { return Number(x[0] != x[1] ? 1 : 0); }});
  const ir::Primitive& less =
      comparison("less", plait::less, "Whether a < b.", "numpy.less", kOrdered,
                 {.real = [](Reals x) { return x[0] < x[1] ? 1. : 0.; },
                  .integer = [](Integers x) { return int64_t{x[0] < x[1]}; },
                  .natural = [](Naturals x) { return uint64_t{x[0] < x[1]}; }});
  const ir::Primitive& less_equal =
      comparison("less_equal", plait::less_equal, "Whether a ≤ b.", "numpy.less_equal", kOrdered,
                 {.real = [](Reals x) { return x[0] <= x[1] ? 1. : 0.; },
                  .integer = [](Integers x) { return int64_t{x[0] <= x[1]}; },
                  .natural = [](Naturals x) { return uint64_t{x[0] <= x[1]}; }});
  const ir::Primitive& bitwise_and =
      bits_of("bitwise_and", plait::bitwise_and, "a & b, bit by bit; for bool, logical and.",
              "numpy.bitwise_and", kIntegers | kBoolean,
              {.integer = [](Integers x) { return x[0] & x[1]; }});
  const ir::Primitive& bitwise_or =
      bits_of("bitwise_or", plait::bitwise_or, "a | b, bit by bit; for bool, logical or.",
              "numpy.bitwise_or", kIntegers | kBoolean,
              {.integer = [](Integers x) { return x[0] | x[1]; }});
  const ir::Primitive& bitwise_xor =
      bits_of("bitwise_xor", plait::bitwise_xor,
              "a ^ b, bit by bit; for bool, logical exclusive or.", "numpy.bitwise_xor",
              kIntegers | kBoolean, {.integer = [](Integers x) { return x[0] ^ x[1]; }});
  const ir::Primitive& left_shift = bits_of(
      "left_shift", plait::left_shift, "a · 2^b; 0 if b is below 0, or the width or more.",
      "numpy.left_shift", kIntegers,
      {.integer =
           [](Integers x) { return x[1] < 0 || x[1] > 63 ? 0 : wrapped(bits(x[0]) << x[1]); },
       .natural = [](Naturals x) { return x[1] > 63 ? 0 : x[0] << x[1]; }},
      {{0.0, 7.0}});
  const ir::Primitive& right_shift = bits_of(
      "right_shift", plait::right_shift,
      "a / 2^b rounded towards −∞; the sign alone (0 or −1) if b is below 0, or the width or more.",
      "numpy.right_shift", kIntegers,
      {.integer = [](Integers x) { return x[0] >> (x[1] < 0 || x[1] > 63 ? 63 : x[1]); },
       .natural = [](Naturals x) { return x[1] > 63 ? 0 : x[0] >> x[1]; }},
      {{0.0, 7.0}});
  const ir::Primitive& select = declare(
      {.primitive = {.name = "select",
                     .summary = "The second operand where the first is true, the third elsewhere.",
                     .oracle = "numpy.where",
                     .operands = ir::exactly(3),
                     .elementwise = ir::Elementwise::same,
                     .numerics = {.accuracy = ir::Accuracy::exact, .domain = {{-9, 9}}},
                     .infer = infer_select,
                     .body = {.real = [](Reals x) { return x[0] != 0 ? x[1] : x[2]; },
                              .integer = [](Integers x) { return x[0] != 0 ? x[1] : x[2]; },
                              .natural = [](Naturals x) { return x[0] != 0 ? x[1] : x[2]; },
                              .complex = [](Complexes x) { return x[0] != 0.0 ? x[1] : x[2]; }}},
       .rules = {.transposes = {{},
                                {kFirst, [](const Context& c, const Tensor& cotangent,
                                            size_t) { return where(c.operand(0), cotangent, 0); }},
                                {kFirst, [](const Context& c, const Tensor& cotangent, size_t) {
                                   return where(c.operand(0), 0, cotangent);
                                 }}}}});
  const ir::Primitive& clamp = declare(
      {.primitive =
           {.name = "clamp",
            .summary = "x limited to the range from low to high; operands low, x, high.",
            .oracle = "numpy.minimum of numpy.maximum",
            .operands = ir::exactly(3),
            .takes = kReals,
            .elementwise = ir::Elementwise::same,
            .numerics = {.accuracy = ir::Accuracy::exact, .domain = {{-2, 0}, {-4, 4}, {1, 2}}},
            .body = {.real =
                         [](Reals x) {
                           const double above = x[1] < x[0] ? x[0] : x[1];
                           return above > x[2] ? x[2] : above;
                         },
                     .integer = [](Integers x) { return std::min(std::max(x[1], x[0]), x[2]); },
                     .natural = [](Naturals x) { return std::min(std::max(x[1], x[0]), x[2]); }}},
       .rules = {.partials = {
                     Partial::of(kFirst | kSecond | kThird,
                                 [](const Context& c) {
                                   return where(plait::less(c.operand(1), c.operand(0)) &
                                                    plait::less_equal(c.operand(0), c.operand(2)),
                                                1.0, 0.0);
                                 }),
                     Partial::of(kFirst | kSecond | kThird,
                                 [](const Context& c) {
                                   return where(plait::less_equal(c.operand(0), c.operand(1)) &
                                                    plait::less_equal(c.operand(1), c.operand(2)),
                                                1.0, 0.0);
                                 }),
                     Partial::of(kFirst | kSecond | kThird, [](const Context& c) {
                       return where(
                           plait::less(c.operand(2), plait::maximum(c.operand(0), c.operand(1))),
                           1.0, 0.0);
                     })}}});
};
const ElementwiseBinaryTable& elementwise_binary_ops() {
  static const ElementwiseBinaryTable table;
  return table;
}

Tensor apply_to(const ir::Primitive& primitive, const Operand& a, const Operand& b, DType dtype) {
  const RowOperand rows[] = {a.row(), b.row()};
  if (Tensor result = apply_to_rows(primitive, dtype, rows)) return result;
  const Tensor both[] = {a.as(dtype), b.as(dtype)};
  if (have_same_type(both[0], both[1])) return plait::apply(primitive, both);
  return plait::apply(primitive, broadcast_together(primitive.name, {both[0], both[1]}));
}

// Inlined, so that the return address of the Call is the user's code.
[[gnu::always_inline]] inline Tensor promoted(const ir::Primitive& primitive, const Operand& a,
                                              const Operand& b) {
  const Call call(primitive.name, a, b);
  return apply_to(primitive, a, b, common_dtype(a, b));
}

// Compares u64 with a signed dtype, since their common dtype rounds. A negative number compares
// with 0 as with any number of u64.
Tensor compared_exactly(const ir::Primitive& primitive, const Operand& a, const Operand& b) {
  const bool is_first = is_signed(a.tensor().dtype());
  const Tensor of_signed = is_first ? a.tensor() : b.tensor();
  const Tensor whole = astype(of_signed, DType::u64);
  const Tensor by_sign = is_first ? apply_to(primitive, of_signed, 0, of_signed.dtype())
                                  : apply_to(primitive, 0, of_signed, of_signed.dtype());
  const Tensor by_value = is_first ? apply_to(primitive, whole, b, DType::u64)
                                   : apply_to(primitive, a, whole, DType::u64);
  return where(less(of_signed, 0), by_sign, by_value);
}

// True for u64 beside a signed dtype.
bool need_exact_comparison(const Operand& a, const Operand& b) {
  if (!a.is_tensor() || !b.is_tensor()) return false;
  const DType first = a.tensor().dtype(), second = b.tensor().dtype();
  if (!is_integer(first) || !is_integer(second)) return false;
  return (first == DType::u64 && is_signed(second)) || (second == DType::u64 && is_signed(first));
}

// Numbers are compared by value: a tensor of u8 may be compared with 300, which no u8 can hold.
[[gnu::always_inline]] inline Tensor compared(const ir::Primitive& primitive, const Operand& a,
                                              const Operand& b) {
  const Call call(primitive.name, a, b);
  if (need_exact_comparison(a, b)) return compared_exactly(primitive, a, b);
  const DType dtype = common_dtype(a, b);
  const auto has = [&](const Operand& x) { return x.is_tensor() || fits(x.scalar(), dtype); };
  if (has(a) && has(b)) return apply_to(primitive, a, b, dtype);
  return apply_to(primitive, a, b, dtype == DType::u64 ? DType::f64 : DType::i64);
}

[[gnu::always_inline]] inline Tensor inexactly_of_two(const ir::Primitive& primitive,
                                                      const Operand& a, const Operand& b) {
  const Call call(primitive.name, a, b);
  return apply_to(primitive, a, b, inexact(common_dtype(a, b)));
}

// Rounded towards 0, a power that is written with a negative exponent would be 0, and a slip.
void expect_power(const Operand& a, const Operand& b) {
  if (b.is_tensor() || b.scalar().is_symbolic() || b.scalar().kind() != ScalarKind::integer) return;
  if (number_of(b.scalar()) >= 0 || !is_integer(common_dtype(a, b))) return;
  const auto exponent = static_cast<int64_t>(number_of(b.scalar()));
  throw ValueError("power: integers cannot be raised to the negative power {}", exponent)
      .at(Location::of_caller())
      .hint(fmt::format("use a float: {}.0 as the exponent", exponent));
}

// The square of a float is rounded once, and takes a fraction of the time.
bool is_square(const Operand& a, const Operand& b) {
  if (!a.is_tensor() || !is_inexact(a.tensor().dtype()) || b.is_tensor()) return false;
  const Scalar& exponent = b.scalar();
  return !exponent.is_symbolic() && exponent.kind() != ScalarKind::complex &&
         number_of(exponent) == 2;
}

Tensor of_truth(const ir::Primitive& primitive, const Operand& a, const Operand& b) {
  return apply_to(primitive, a, b, DType::boolean);
}

}  // namespace

Tensor add(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().add, a, b);
}
Tensor subtract(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().subtract, a, b);
}
Tensor multiply(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().multiply, a, b);
}
Tensor divide(const Operand& a, const Operand& b) {
  return inexactly_of_two(elementwise_binary_ops().divide, a, b);
}
Tensor floor_divide(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().floor_divide, a, b);
}
Tensor remainder(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().remainder, a, b);
}
Tensor power(const Operand& a, const Operand& b) {
  const Call call("power", a, b);
  expect_power(a, b);
  if (is_square(a, b)) return square(a);
  return promoted(elementwise_binary_ops().power, a, b);
}
Tensor maximum(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().maximum, a, b);
}
Tensor minimum(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().minimum, a, b);
}
Tensor atan2(const Operand& y, const Operand& x) {
  return inexactly_of_two(elementwise_binary_ops().atan2, y, x);
}
Tensor hypot(const Operand& a, const Operand& b) {
  return inexactly_of_two(elementwise_binary_ops().hypot, a, b);
}
Tensor copysign(const Operand& magnitude, const Operand& sign) {
  return inexactly_of_two(elementwise_binary_ops().copysign, magnitude, sign);
}
Tensor equal(const Operand& a, const Operand& b) {
  return compared(elementwise_binary_ops().equal, a, b);
}
Tensor not_equal(const Operand& a, const Operand& b) {
  return compared(elementwise_binary_ops().not_equal, a, b);
}
Tensor less(const Operand& a, const Operand& b) {
  return compared(elementwise_binary_ops().less, a, b);
}
Tensor less_equal(const Operand& a, const Operand& b) {
  return compared(elementwise_binary_ops().less_equal, a, b);
}
Tensor greater(const Operand& a, const Operand& b) {
  const Call call("greater", a, b);
  return compared(elementwise_binary_ops().less, b, a);
}
Tensor greater_equal(const Operand& a, const Operand& b) {
  const Call call("greater_equal", a, b);
  return compared(elementwise_binary_ops().less_equal, b, a);
}
Tensor bitwise_and(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().bitwise_and, a, b);
}
Tensor bitwise_or(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().bitwise_or, a, b);
}
Tensor bitwise_xor(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().bitwise_xor, a, b);
}
Tensor left_shift(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().left_shift, a, b);
}
Tensor right_shift(const Operand& a, const Operand& b) {
  return promoted(elementwise_binary_ops().right_shift, a, b);
}
Tensor logical_and(const Operand& a, const Operand& b) {
  const Call call("logical_and", a, b);
  return of_truth(elementwise_binary_ops().bitwise_and, a, b);
}
Tensor logical_or(const Operand& a, const Operand& b) {
  const Call call("logical_or", a, b);
  return of_truth(elementwise_binary_ops().bitwise_or, a, b);
}
Tensor logical_xor(const Operand& a, const Operand& b) {
  const Call call("logical_xor", a, b);
  return of_truth(elementwise_binary_ops().bitwise_xor, a, b);
}

Tensor where(const Tensor& condition, const Operand& yes, const Operand& no) {
  const Call call("where", condition, yes, no);
  const DType dtype = common_dtype(yes, no);
  const ir::Primitive& select = elementwise_binary_ops().select;
  const RowOperand rows[] = {{&condition}, yes.row(), no.row()};
  if (Tensor result = apply_to_rows(select, dtype, rows, DType::boolean)) return result;
  return plait::apply(select, broadcast_together("where", {astype(condition, DType::boolean),
                                                           yes.as(dtype), no.as(dtype)}));
}

Tensor clip(const Operand& x, const Operand& low, const Operand& high) {
  const Call call("clip", x, low, high);
  const DType dtype = common_dtype({&x, &low, &high});
  const RowOperand rows[] = {low.row(), x.row(), high.row()};
  if (Tensor result = apply_to_rows(elementwise_binary_ops().clamp, dtype, rows)) return result;
  return plait::apply(elementwise_binary_ops().clamp,
                      broadcast_together("clip", {low.as(dtype), x.as(dtype), high.as(dtype)}));
}

const ir::Primitive& add_primitive() { return elementwise_binary_ops().add; }
const ir::Primitive& subtract_primitive() { return elementwise_binary_ops().subtract; }
const ir::Primitive& multiply_primitive() { return elementwise_binary_ops().multiply; }
const ir::Primitive& divide_primitive() { return elementwise_binary_ops().divide; }
const ir::Primitive& maximum_primitive() { return elementwise_binary_ops().maximum; }
const ir::Primitive& minimum_primitive() { return elementwise_binary_ops().minimum; }
const ir::Primitive& bitwise_and_primitive() { return elementwise_binary_ops().bitwise_and; }
const ir::Primitive& bitwise_or_primitive() { return elementwise_binary_ops().bitwise_or; }
const ir::Primitive& bitwise_xor_primitive() { return elementwise_binary_ops().bitwise_xor; }
const ir::Primitive& equal_primitive() { return elementwise_binary_ops().equal; }
const ir::Primitive& select_primitive() { return elementwise_binary_ops().select; }
const ir::Primitive& clamp_primitive() { return elementwise_binary_ops().clamp; }

void register_binary_ops() { elementwise_binary_ops(); }

}  // namespace plait
