// Texts that print() writes, when, and where to.
#include "plait/ops/effects/print.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/trace_function.h"

namespace plait {
namespace {

using Lines = std::vector<std::string>;

// Captures printed text during its lifetime.
class Captured {
 public:
  Captured()
      : former_(set_print_sink([this](std::string_view text) { lines.emplace_back(text); })) {}
  ~Captured() { set_print_sink(std::move(former_)); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  Lines lines;

 private:
  PrintSink former_;
};

Tensor two_numbers() {
  const double numbers[] = {1, 2.5};
  return Tensor(Array::of(std::span<const double>(numbers), {2}));
}

TEST(Print, GivesTheLabelAndTheText) {
  const Captured captured;
  const Tensor x = two_numbers();
  const Tensor same = print(x, "x");
  EXPECT_EQ(same.identity(), x.identity());
  print(x);
  print(zeros({2, 2}, DType::i32), "a b");
  print(zeros({0, 3}, DType::boolean), "nothing");
  EXPECT_EQ(captured.lines,
            (Lines{"x: [1.  2.5] : f64[2]", "[1.  2.5] : f64[2]",
                   "a b: [[0 0]\n [0 0]] : i32[2, 2]", "nothing: [] : bool[0, 3]"}));
}

TEST(Print, WritesToStandardOutputImmediately) {
  testing::internal::CaptureStdout();
  print(two_numbers(), "x");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "x: [1.  2.5] : f64[2]\n");
}

TEST(Print, IsAnInstructionOfATrace) {
  const Captured captured;
  const auto traced = trace([](const Tensor& x) {
    const Tensor y = print(x * 2, "twice \"x\"");
    print(sum(y));
    return y + 1;
  })(two_numbers());
  EXPECT_EQ(captured.lines, Lines());
  EXPECT_NE(
      ir::print(traced.program, {.locations = false}).find(R"(print %2 {label = "twice \"x\""})"),
      std::string::npos)
      << traced.program.text();
  const Tensor result = evaluate(traced.program, std::vector<Tensor>{two_numbers()}).at(0);
  EXPECT_EQ(result.text(), "[3. 6.] : f64[2]");
  EXPECT_EQ(captured.lines, (Lines{"twice \"x\": [2. 5.] : f64[2]", "7. : f64[]"}));
  EXPECT_EQ(ir::Program::from_bytes(traced.program.bytes()).text(), traced.program.text());
}

TEST(Print, IsNeitherRemovedNorMoved) {
  const ir::Program program = ir::Program::parse(R"(
func @main(%x: f64[], %n: i64[]) -> () {
  %zero = literal {value = i64[](0)}
  %last, %y = while @more, @step(%n, %x)
  return
}
func @more(%n: i64[], %x: f64[]) -> (bool[]) {
  %zero = literal {value = i64[](0)}
  %0 = less %zero, %n
  return %0
}
func @step(%n: i64[], %x: f64[]) -> (i64[], f64[]) {
  %one = literal {value = i64[](1)}
  print %n {label = "left"}
  %x2 = add %x, %x
  print %x2
  %n2 = subtract %n, %one
  return %n2, %x2
}
)");
  EXPECT_TRUE(ir::EffectAnalysis(program).of(0).observable);
  const Captured captured;
  const std::vector<Tensor> arguments{Tensor(Array::of(1.5)), Tensor(Array::of(int64_t{2}))};
  evaluate(ir::prune(program), arguments);
  EXPECT_EQ(captured.lines,
            (Lines{"left: 2 : i64[]", "3. : f64[]", "left: 1 : i64[]", "6. : f64[]"}));
}

TEST(Print, OfABatchIsOneAfterTheOther) {
  const Captured captured;
  const ir::Primitive& primitive = ir::primitive("print");
  const std::vector<Tensor> batch{zeros({3, 1}, DType::u8)};
  const auto results = find_rules(primitive)->batching.of(
      ir::Attributes::of(PrintAttributes{.label = "x"}), batch, {true});
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(captured.lines, Lines(3, "x: [0] : u8[1]"));
}

TEST(Print, ASinkMayPrintAndFail) {
  PrintSink former = set_print_sink([](std::string_view text) {
    print(Tensor(Array::of(int64_t{1})), "inside");
    throw ValueError("no more of {}", text);
  });
  for (int i = 0; i < 2; ++i) {
    testing::internal::CaptureStdout();
    EXPECT_THROW(print(two_numbers()), ValueError);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "inside: 1 : i64[]\n");
  }
  set_print_sink(std::move(former));
}

TEST(Print, ASinkMayReplaceItself) {
  Lines first, second;
  PrintSink former = set_print_sink([&](std::string_view text) {
    set_print_sink([&second](std::string_view later) { second.emplace_back(later); });
    first.emplace_back(text);
  });
  for (const int64_t number : {1, 2}) print(Tensor(Array::of(number)));
  set_print_sink(std::move(former));
  EXPECT_EQ(first, Lines{"1 : i64[]"});
  EXPECT_EQ(second, Lines{"2 : i64[]"});
}

}  // namespace
}  // namespace plait
