// The example of docs/architecture.md, verbatim.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/support/files.h"

namespace plait::example {  // hides plait::softsign there
namespace {

// The example begins.
const ir::Primitive& softsign_primitive() {
  static const ir::Primitive& primitive = declare(
      {.primitive = {.name = "softsign",
                     .summary = "x / (1 + |x|).",
                     .oracle = "x / (1 + |x|) of NumPy's arrays",
                     .operands = ir::exactly(1),
                     .takes = kFloatings,
                     .elementwise = ir::Elementwise::same,
                     .body = {.real =
                                  [](std::span<const double> x) {
                                    return x[0] / (1 + std::abs(x[0]));
                                  }}},
       .rules = {.partials = {Partial::of(Reads::operand(0), [](const RuleContext& context) {
                   return reciprocal(square(absolute(context.operand(0)) + 1));
                 })}}});
  return primitive;
}

Tensor softsign(const Tensor& x) { return apply(softsign_primitive(), {x}); }
// The example ends.

TEST(NewOp, ComputesAndTraces) {
  const Tensor x = tensor<float>({-3, 0, 1});
  EXPECT_EQ(example::softsign(x).text(), "[-0.75  0.    0.5 ] : f32[3]");
  const std::string program = trace(softsign)(x).program.text();
  EXPECT_NE(program.find("softsign %arg0 : f32[3]"), std::string::npos) << program;
}

TEST(NewOp, IsTheExampleOfTheManual) {
  const std::string source =
      text_of_file(PLAIT_SOURCE_DIR "/tests/ops/elementwise/new_op_test.cpp");
  const std::string begin = "// The example begins.\n", end = "// The example ends.\n";
  const size_t from = source.find(begin) + begin.size();
  const std::string example = source.substr(from, source.find("\n" + end) + 1 - from);
  EXPECT_NE(
      text_of_file(PLAIT_SOURCE_DIR "/docs/architecture.md").find("```cpp\n" + example + "```"),
      std::string::npos)
      << "docs/architecture.md must show:\n"
      << example;
}

}  // namespace
}  // namespace plait::example
