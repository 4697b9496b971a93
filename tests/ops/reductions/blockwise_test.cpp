#include "plait/ops/inside/blockwise.h"

#include <cmath>
#include <functional>
#include <limits>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"

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
    {"softplus", [](const auto& x, const auto&, const auto&) { return softplus(x); }},
    {"kl_div", [](const auto& x, const auto& y, const auto&) { return kl_div(x, y); }},
    {"an operand as it is",
     [](const auto& x, const auto& y, const auto&) {
       return blockwise({x, y}, [](std::span<const Tensor> both) { return both[1]; });
     }},
    {"a result that is used again",
     [](const auto& x, const auto& y, const auto&) {
       return blockwise({x, y}, [](std::span<const Tensor> both) {
         const Tensor sum = both[0] + both[1];
         const Tensor unused = sum * sum;
         return (sum - both[0] * both[0]) * sum;
       });
     }},
    {"an earlier result",
     [](const auto& x, const auto&, const auto&) {
       return blockwise({x}, [](std::span<const Tensor> operands) {
         const Tensor square = operands[0] * operands[0];
         const Tensor unused = square + 1;
         return square;
       });
     }},
    {"not a row",
     [](const auto& x, const auto&, const auto&) {
       return blockwise({x}, [](std::span<const Tensor> operands) {
         const Tensor& y = operands[0];
         return reshape(reshape(y, {y.shape(0), 1}) * 2 + 1, {y.shape(0)});
       });
     }},
    {"a truth value that repeats",
     [](const auto& x, const auto& y, const auto&) {
       return blockwise({x, y}, [](std::span<const Tensor> both) {
         return where(ones_like(equal(both[0], 0)), both[0] + both[1], both[1]);
       });
     }},
    {"another dtype between",
     [](const auto& x, const auto& y, const auto&) {
       return blockwise({x, y}, [](std::span<const Tensor> both) {
         return where(greater(both[0], both[1]), astype(astype(both[0], DType::i32), DType::f16),
                      2);
       });
     }},
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

TEST(Blockwise, ATensorWithoutDimensionsGoesWithAll) {
  const Tensor x = wave({kLarge}, 0.7), y = wave({kLarge}, 0.3), weight = wave({}, 1.1);
  expect_same_bits(lerp(x, y, weight), lerp(x, y, broadcast_to(weight, {kLarge}) + 0));
  expect_same_bits(lerp(weight, y, x), lerp(broadcast_to(weight, {kLarge}) + 0, y, x));
}

// Infinities and NaN do not affect other elements.
TEST(Blockwise, FunctionsDoNotDependOnNeighbours) {
  const auto check = [](const Composite& f, DType dtype) {
    const Tensor x = wave({kLarge}, 0.7, dtype);
    const Tensor holes = equal(remainder(arange(kLarge), 7), 0);
    const Tensor without = f(where(holes, 0, x), x, x);
    for (const double special : {std::numeric_limits<double>::infinity(), std::nan(""), 1e30}) {
      const Tensor with = f(where(holes, special, x), x, x);
      expect_same_bits(where(holes, 0, with), where(holes, 0, without));
    }
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    check([](const auto& x, const auto&, const auto&) { return sin(x); }, dtype);
    check([](const auto& x, const auto&, const auto&) { return cos(x); }, dtype);
    check([](const auto& x, const auto&, const auto&) { return tan(x); }, dtype);
    check([](const auto& x, const auto&, const auto&) { return sinc(x); }, dtype);
  }
}

// Operands with different layouts are not divided into blocks.
TEST(Blockwise, ViewsAndStretchedTensors) {
  const Tensor x = wave({160, 130}, 0.7), y = wave({160, 130}, 0.3), row = wave({130}, 1.1);
  const Tensor broadcasted = broadcast_to(row, {160, 130}) + 0;
  expect_same_bits(lerp(x, y, row), lerp(x, y, broadcasted));
  const Tensor turned = matrix_transpose(wave({130, 160}, 0.7));
  expect_same_bits(lerp(turned, y, row), lerp(turned + 0, y, broadcasted));
  expect_same_bits(gelu(turned), gelu(turned + 0));
  expect_same_bits(gelu(broadcast_to(row, {160, 130})), gelu(broadcasted));
}

TEST(Blockwise, ReportsAnErrorOnce) {
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

using Reduction = std::function<Tensor(const Tensor& x, const Axes& axes, bool keepdims)>;
const std::vector<std::pair<const char*, Reduction>> kReductions = {
    {"sum", [](const auto& x, const auto& axes, bool keep) { return sum(x, axes, keep); }},
    {"mean", [](const auto& x, const auto& axes, bool keep) { return mean(x, axes, keep); }},
    {"var", [](const auto& x, const auto& axes, bool keep) { return var(x, axes, 1, keep); }},
    {"norm", [](const auto& x, const auto& axes, bool keep) { return norm(x, 2, axes, keep); }},
    {"logsumexp",
     [](const auto& x, const auto& axes, bool keep) { return logsumexp(x, axes, keep); }},
    {"count_nonzero",
     [](const auto& x, const auto& axes, bool keep) { return count_nonzero(x, axes, keep); }},
    {"nansum", [](const auto& x, const auto& axes, bool keep) { return nansum(x, axes, keep); }},
};

// A view of every other column is not divided into blocks, a copy of it is.
TEST(Blockwise, ReductionsInBlocksAreThoseOfTheWhole) {
  const std::vector<Axes> all_axes = {{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8}) {
    const bool is_count = is_integer(dtype);
    const Tensor wide = astype(wave({37, 41, 58}, 0.7) * (is_count ? 9 : 1) + 2, dtype);
    const Tensor uncut = wide[{ellipsis, Slice{0, 58, 2}}], x = uncut + 0;
    for (const auto& [name, f] : kReductions) {
      for (const Axes& axes : all_axes) {
        for (const bool keepdims : {false, true}) {
          SCOPED_TRACE(fmt::format("{} of {} along {}", name, name_of(dtype),
                                   fmt::join(axes.within(3), ", ")));
          const Tensor result = f(x, axes, keepdims), wanted = f(uncut, axes, keepdims);
          ASSERT_EQ(result.type().text(), wanted.type().text());
          expect_values(result, values_of(wanted), dtype == DType::bf16 ? 1e-2 : 2e-3);
        }
      }
    }
  }
}

TEST(Blockwise, ReductionsKeepWhatIsSpecial) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = wave({300, 100}, 0.7);
  const auto with = [&](double number) { return x.at({7, 5}).set(number); };
  EXPECT_TRUE(std::isnan(values_of(logsumexp(with(std::nan(""))))[0]));
  EXPECT_EQ(values_of(logsumexp(with(infinity)))[0], infinity);
  EXPECT_EQ(values_of(logsumexp(full({300, 100}, -infinity)))[0], -infinity);
  expect_values(logsumexp(with(-infinity), 1), values_of(logsumexp(with(-1e30), 1)), 1e-6);
  EXPECT_EQ(values_of(count_nonzero(with(std::nan(""))))[0], values_of(count_nonzero(x))[0]);
  expect_values(nansum(with(std::nan(""))), values_of(sum(with(0))), 1e-3);
  // The sum overflows f16, the mean does not.
  expect_values(mean(full({300, 100}, 1000, DType::f16) + 0), {1000}, 0);
}

}  // namespace
}  // namespace plait
