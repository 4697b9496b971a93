// Refusals of special.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/special.h"

#include "refusals.h"

namespace plait {

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
      {"isclose", [] { isclose(f32(2), 1, {.relative = -1}); }, kValue, {"relative", "-1"}},
      {"isclose", [] { isclose(f32(2), 1, {.absolute = NAN}); }, kValue, {"absolute", "nan"}},
      {"allclose", [] { allclose(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"allclose", [] { allclose(keys(2), keys(2)); }, kType, {"key[2]"}},
      {"allclose", [] { allclose(f32(2), 1, {.relative = NAN}); }, kValue, {"relative", "nan"}},
      {"array_equal", [] { array_equal(keys(2), keys(2)); }, kType, {"key[2]"}},
      {"array_equal", [] { array_equal(f32(2), Tensor()); }, kValue, {"never given"}},
  };
  for (const auto& [name, f] : std::vector<Named<Unary>>{{"erfc", erfc},
                                                         {"erfinv", erfinv},
                                                         {"lgamma", lgamma},
                                                         {"digamma", digamma},
                                                         {"frac", frac},
                                                         {"signbit", signbit}}) {
    rows.push_back({name, [f] { f(c64(2)); }, kType, {"c64[2]"}});
    rows.push_back({name, [f] { f(keys(2)); }, kType, {"key[2]"}});
    rows.push_back({name, [f] { f(Tensor()); }, kValue, {"never given"}});
  }
  for (const auto& [name, f] : std::vector<Named<Binary>>{{"polygamma", polygamma},
                                                          {"logaddexp", logaddexp},
                                                          {"fmod", fmod},
                                                          {"nextafter", nextafter},
                                                          {"xlogy", xlogy}}) {
    rows.push_back({name, [f] { f(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}});
    rows.push_back({name, [f] { f(c64(2), f32(2)); }, kType, {"c64[2]", "f32[2]"}});
    rows.push_back({name, [f] { f(keys(2), f32(2)); }, kType, {"key[2]", "f32[2]"}});
    rows.push_back({name, [f] { f(f32(2), Tensor()); }, kValue, {"never given"}});
  }
  return rows;
}

TEST(Refusals, Special) { expect_refused(refusals_of_special()); }

}  // namespace plait
