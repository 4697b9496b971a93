// Refusals of special.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/elementwise/special.h"

#include "refusals.h"

namespace plait {
namespace {

Tensor mantissa_of(const Operand& x) { return frexp(x).mantissa; }

}  // namespace

Refusals refusals_of_special() {
  Refusals rows = {
      {"nan_to_num", [] { nan_to_num(keys(2)); }, kType, {"key[2]"}},
      {"lerp", [] { lerp(f32(2), f32(3), .5); }, kShape, {"f32[2]", "f32[3]"}},
      {"lerp", [] { lerp(f32(2), f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"lerp", [] { lerp(keys(2), f32(2), .5); }, kType, {"key[2]"}},
      {"addcmul", [] { addcmul(f32(2), f32(3), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"addcmul", [] { addcmul(f32(2), f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"addcmul", [] { addcmul(f32(2), truths(2), truths(2)); }, kType, {"bool[2]"}},
      {"addcmul", [] { addcmul(keys(2), f32(2), f32(2)); }, kType, {"key[2]"}},
      {"addcdiv", [] { addcdiv(f32(2), f32(3), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"addcdiv", [] { addcdiv(f32(2), f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"addcdiv", [] { addcdiv(keys(2), f32(2), f32(2)); }, kType, {"key[2]"}},
      {"isclose", [] { isclose(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"isclose", [] { isclose(keys(2), keys(2)); }, kType, {"key[2]"}},
      {"isclose", [] { isclose(f32(2), 1, {.rtol = -1}); }, kValue, {"rtol", "-1"}},
      {"isclose", [] { isclose(f32(2), 1, {.atol = NAN}); }, kValue, {"atol", "nan"}},
      {"allclose", [] { allclose(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"allclose", [] { allclose(keys(2), keys(2)); }, kType, {"key[2]"}},
      {"allclose", [] { allclose(f32(2), 1, {.rtol = NAN}); }, kValue, {"rtol", "nan"}},
      {"betainc", [] { betainc(f32(2), f32(3), .5); }, kShape, {"f32[2]", "f32[3]"}},
      {"betainc", [] { betainc(f32(2), f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"betainc", [] { betainc(f32(2), c64(2), .5); }, kType, {"c64[2]"}},
      {"betainc", [] { betainc(keys(2), f32(2), .5); }, kType, {"key[2]"}},
      {"betainc", [] { betainc(1., Tensor(), .5); }, kValue, {"never given"}},
      {"multigammaln", [] { multigammaln(f32(2), 0); }, kValue, {"order is 0", "1 or more"}},
      {"multigammaln", [] { multigammaln(c64(2), 1); }, kType, {"c64[2]"}},
      {"multigammaln", [] { multigammaln(keys(2), 1); }, kType, {"key[2]"}},
      {"multigammaln", [] { multigammaln(Tensor(), 1); }, kValue, {"never given"}},
      {"ldexp", [] { ldexp(f32(2), i64(3)); }, kShape, {"f32[2]", "i64[3]"}},
      {"ldexp", [] { ldexp(f32(2), f32(2)); }, kType, {"f32", "not an integer"}},
      {"ldexp", [] { ldexp(f32(2), .5); }, kType, {"not an integer"}},
      {"ldexp", [] { ldexp(c64(2), 1); }, kType, {"c64[2]"}},
      {"ldexp", [] { ldexp(keys(2), 1); }, kType, {"key[2]"}},
      {"ldexp", [] { ldexp(f32(2), keys(2)); }, kType, {"key[2]"}},
      {"ldexp", [] { ldexp(Tensor(), 1); }, kValue, {"never given"}},
      {"sinc", [] { sinc(keys(2)); }, kType, {"key[2]"}},
      {"sinc", [] { sinc(Tensor()); }, kValue, {"never given"}},
      {"deg2rad", [] { deg2rad(keys(2)); }, kType, {"key[2]"}},
      {"deg2rad", [] { deg2rad(Tensor()); }, kValue, {"never given"}},
      {"rad2deg", [] { rad2deg(keys(2)); }, kType, {"key[2]"}},
      {"rad2deg", [] { rad2deg(Tensor()); }, kValue, {"never given"}},
      {"float_power", [] { float_power(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"float_power", [] { float_power(keys(2), f32(2)); }, kType, {"key[2]", "f32[2]"}},
      {"float_power", [] { float_power(f32(2), Tensor()); }, kValue, {"never given"}},
      {"array_equal", [] { array_equal(keys(2), keys(2)); }, kType, {"key[2]"}},
      {"array_equal", [] { array_equal(f32(2), Tensor()); }, kValue, {"never given"}},
  };
  // Those that are primitives too have their rows by the table.
  for (const auto& [name, f] :
       Unaries{{"logit", logit}, {"frexp", mantissa_of}, {"frac", frac}, {"signbit", signbit}}) {
    refuse_operands(rows, name, f, kFloatings);
  }
  for (const auto& [name, f] : Binaries{{"xlog1py", xlog1py},
                                        {"rel_entr", rel_entr},
                                        {"kl_div", kl_div},
                                        {"heaviside", heaviside},
                                        {"xlogy", xlogy}}) {
    refuse_operands(rows, name, f, kFloatings);
  }
  for (const auto& [name, f] : Binaries{{"gcd", gcd}, {"lcm", lcm}}) {
    rows.push_back({name, [f] { f(truths(2), truths(2)); }, kType, {"bool[2]"}});
  }
  return rows;
}

TEST(Refusals, Special) { expect_refused(refusals_of_special()); }

}  // namespace plait
