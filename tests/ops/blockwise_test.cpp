#include "plait/ops/blockwise.h"

#include <functional>

#include "plait/core/error.h"
#include "plait/ops/activation.h"
#include "plait/ops/index.h"
#include "plait/ops/special.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

constexpr int64_t kLarge = 20'001, kSmall = 5'000;

using Composite = std::function<Tensor(const Tensor& x, const Tensor& y, const Tensor& z)>;
const std::vector<std::pair<const char*, Composite>> kComposites = {
    {"lerp", [](const auto& x, const auto& y, const auto& z) { return lerp(x, y, z); }},
    {"lerp by a number",
     [](const auto& x, const auto& y, const auto&) { return lerp(x, y, 0.25); }},
    {"addcmul", [](const auto& x, const auto& y, const auto& z) { return addcmul(x, y, z, 3); }},
    {"addcdiv", [](const auto& x, const auto& y, const auto& z) { return addcdiv(x, y, z, 3); }},
    {"isclose", [](const auto& x, const auto& y, const auto&) { return isclose(x, y, {.1, .1}); }},
    {"nan_to_num",
     [](const auto& x, const auto&, const auto&) { return nan_to_num(log(x), {.nan = 7}); }},
    {"xlogy", [](const auto& x, const auto& y, const auto&) { return xlogy(x, y); }},
    {"heaviside", [](const auto& x, const auto& y, const auto&) { return heaviside(x, y); }},
    {"sinc", [](const auto& x, const auto&, const auto&) { return sinc(x); }},
    {"gelu", [](const auto& x, const auto&, const auto&) { return gelu(x); }},
    {"hardswish", [](const auto& x, const auto&, const auto&) { return hardswish(x); }},
};

TEST(Blockwise, LargeTensorsAreAsTheirParts) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor x = wave({kLarge}, 0.7, dtype), y = wave({kLarge}, 0.3, dtype);
    const Tensor z = wave({kLarge}, 1.1, dtype);
    for (const auto& [name, f] : kComposites) {
      SCOPED_TRACE(name);
      std::vector<Tensor> parts;
      for (int64_t begin = 0; begin < kLarge; begin += kSmall) {
        const Slice part{begin, begin + kSmall};
        parts.push_back(f(x[part], y[part], z[part]));
      }
      expect_same_bits(f(x, y, z), concat(parts, 0));
    }
  }
}

// What does not lie alike is not cut.
TEST(Blockwise, ViewsAndStretchedTensors) {
  const Tensor x = wave({160, 130}, 0.7), y = wave({160, 130}, 0.3), row = wave({130}, 1.1);
  const Tensor stretched = broadcast_to(row, {160, 130}) + 0;
  expect_same_bits(lerp(x, y, row), lerp(x, y, stretched));
  const Tensor turned = matrix_transpose(wave({130, 160}, 0.7));
  expect_same_bits(lerp(turned, y, row), lerp(turned + 0, y, stretched));
  expect_same_bits(gelu(turned), gelu(turned + 0));
  expect_same_bits(gelu(broadcast_to(row, {160, 130})), gelu(stretched));
}

TEST(Blockwise, WhatRefusesRefusesOnce) {
  int calls = 0;
  const Tensor x = wave({kLarge});
  EXPECT_THROW(blockwise({x},
                         [&](std::span<const Tensor>) -> Tensor {
                           ++calls;
                           throw ValueError("not this");
                         }),
               ValueError);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace plait
