// Functions that call themselves: at once, in traces, differentiated, and done for many samples.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/index.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/tensor/machine.h"
#include "plait/tensor/trace_function.h"
#include "plait/transform/grad.h"
#include "plait/transform/programs.h"
#include "plait/transform/recursive.h"
#include "plait/transform/vmap.h"

namespace plait {
namespace {

Tensor number(double value) { return asarray(value, DType::f64); }

const auto factorial = recursive("factorial", [](auto self, Tensor n) {
  return cond(
      n <= 1., [](Tensor n) { return ones_like(n); }, [&](Tensor n) { return n * self(n - 1.); },
      n);
});

TEST(Recursion, AtOnceAndInATrace) {
  EXPECT_EQ(factorial(number(5)).item<double>(), 120);
  const TracedProgram traced = trace([](Tensor n) { return factorial(n); }, "main")(number(3));
  const std::string text = traced.program.text();
  EXPECT_NE(text.find("call @factorial"), std::string::npos) << text;
  EXPECT_EQ(evaluate(traced.program, std::vector{number(5)})[0].item<double>(), 120);
  EXPECT_EQ(evaluate(traced.program, std::vector{number(10)})[0].item<double>(), 3628800);
}

}  // namespace
}  // namespace plait
