// Arguments and refusals of check(), and calls by callback().
#include "plait/ops/effects/check.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/source_line.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

const ir::Type kPair = ir::Type::array(DType::f64, {2});

Tensor pair_of(double a, double b) {
  const double both[] = {a, b};
  return Tensor(Array::of(std::span<const double>(both), {2}));
}

TEST(Check, SaysWhatIsFalse) {
  check(pair_of(1, 2) > 0, "positive");
  check(zeros({0}, DType::boolean));
  const std::string text =
      what_of<CheckError>([] { check(pair_of(1, -2) > 0, "must be positive"); });
  EXPECT_NE(text.find("must be positive: 1 of 2 are false, the first at [1]"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("check_test.cpp") != std::string::npos, can_read_source_lines()) << text;
  EXPECT_THROW(check(sum(pair_of(1, 2)) < 0), CheckError);
  EXPECT_THROW(check(pair_of(1, 2)), TypeError);
}

TEST(Check, IsAnInstructionThatStays) {
  const auto traced = trace([](const Tensor& x) {
    check(x > 0, "positive");
    return x * 2;
  })(pair_of(1, 2));
  EXPECT_TRUE(ir::EffectAnalysis(traced.program).of(0).observable);
  const ir::Program pruned = ir::prune(traced.program);
  EXPECT_EQ(evaluate(pruned, std::vector{pair_of(1, 2)}).at(0).text(), "[2. 4.] : f64[2]");
  const std::string text =
      message_of<CheckError>([&] { evaluate(pruned, std::vector{pair_of(1, -2)}); });
  EXPECT_NE(text.find("positive: 1 of 2 are false"), std::string::npos) << text;
}

TEST(CheckFinite, CountsNonFiniteElements) {
  const double nan = std::nan(""), inf = HUGE_VAL;
  EXPECT_EQ(check_finite(pair_of(1, 2), "x").text(), "[1. 2.] : f64[2]");
  check_finite(arange(3));
  check_finite(zeros({0}));
  EXPECT_NE(message_of<CheckError>([&] {
              check_finite(pair_of(nan, -inf), "loss");
            }).find("loss has 1 nan and 1 inf among 2 elements, the first at [0]"),
            std::string::npos);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e5m2, DType::f32, DType::c128}) {
    const std::string text =
        what_of<CheckError>([&] { check_finite(astype(pair_of(1, inf), dtype)); });
    EXPECT_NE(text.find("x has 1 inf among 2 elements, the first at [1]"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("check_test.cpp") != std::string::npos, can_read_source_lines()) << text;
  }
  EXPECT_NE(message_of<CheckError>([&] {
              check_finite(sum(pair_of(1, nan)), "total");
            }).find("total has 1 nan"),
            std::string::npos);
}

TEST(CheckFinite, NamesThePathInATree) {
  struct Layer {
    Tensor weight, bias;
  };
  const std::vector<Layer> layers{{pair_of(1, 2), pair_of(3, 4)},
                                  {pair_of(1, 2), pair_of(1, HUGE_VAL)}};
  EXPECT_NE(message_of<CheckError>([&] {
              check_finite(layers, "gradient");
            }).find("gradient.1.bias has 1 inf"),
            std::string::npos);
}

TEST(CheckFinite, IsAnInstructionThatStays) {
  const auto traced =
      trace([](const Tensor& x) { return check_finite(x * 2, "twice"); })(pair_of(1, 2));
  const ir::Program pruned = ir::prune(traced.program);
  EXPECT_EQ(evaluate(pruned, std::vector{pair_of(1, 2)}).at(0).text(), "[2. 4.] : f64[2]");
  EXPECT_THROW(evaluate(pruned, std::vector{pair_of(1, HUGE_VAL)}), CheckError);
}

TEST(Callback, IsCalledEagerlyAndInPrograms) {
  std::vector<std::string> seen;
  const auto twice = [&](std::span<const Tensor> given) {
    seen.push_back(given[0].text());
    return std::vector<Tensor>{given[0] * 2};
  };
  const std::vector<Tensor> operands{pair_of(1, 2)};
  EXPECT_EQ(callback(twice, operands, {{kPair}}).at(0).text(), "[2. 4.] : f64[2]");
  const auto traced = trace([&](const Tensor& x) {
    return callback(twice, {{x + 1}}, {{kPair}}).at(0) + 1;
  })(pair_of(1, 2));
  EXPECT_EQ(seen.size(), 1U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(evaluate(traced.program, operands).at(0).text(), "[5. 7.] : f64[2]");
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"[1. 2.] : f64[2]", "[2. 3.] : f64[2]", "[2. 3.] : f64[2]"}));
}

TEST(Callback, MayGiveNothing) {
  int calls = 0;
  const auto count = [&](auto) {
    ++calls;
    return std::vector<Tensor>();
  };
  const auto traced = trace([&](const Tensor& x) {
    callback(count, {{x}});
    return x;
  })(pair_of(1, 2));
  evaluate(ir::prune(traced.program), std::vector{pair_of(1, 2)});
  callback(count, {});
  EXPECT_EQ(calls, 2);
}

TEST(Callback, MustGiveWhatItSays) {
  const auto give = [](std::vector<Tensor> results) { return [results](auto) { return results; }; };
  const std::vector<Tensor> operands{pair_of(1, 2)};
  EXPECT_THROW(callback(give({}), operands, {{kPair}}), ValueError);
  EXPECT_THROW(callback(give({zeros({3}, DType::f64)}), operands, {{kPair}}), ShapeError);
  EXPECT_THROW(callback(give({zeros({2}, DType::f32)}), operands, {{kPair}}), ShapeError);
  EXPECT_THROW(call_back(-1, operands), KeyError);
  EXPECT_THROW(callback([](auto) -> std::vector<Tensor> { throw IoError("no file"); }, operands),
               IoError);
}

}  // namespace
}  // namespace plait
