// Random programs and their derivatives, in every mode. RC_PARAMS="seed=…", or the "reproduce=…"
// that a failure prints, repeats a run; "max_success=…" tries more programs.
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/rules.h"

#include "tests/support/programs/drawn_program.h"
#include "tests/transform/properties/derivative_checks.h"

namespace plait {
namespace {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 100;
constexpr size_t kWrongRules = 1;  // shrinking a program takes minutes here
#else
constexpr int kPrograms = 2000;
constexpr size_t kWrongRules = 5;
#endif

TEST(RandomProgram, DerivativesAgree) {
  int tried = 0, known = 0;
  std::map<std::string, int> used;
  const std::string failure = failure_of("RandomProgram", kPrograms, [&] {
    const ProgramDescription description = *drawn_program(step_kinds());
    std::optional<RandomProgram> program;
    try {
      program.emplace(description);
      known += check_derivatives(*program) ? 1 : 0;
    } catch (const std::exception& error) {
      RC_FAIL(fmt::format("{}\n{}", error.what(), program ? text_of(*program) : ""));
    }
    ++tried;
    program->block().for_each_step([&](const Block::Step& step) { ++used[step.kind]; });
  });
  EXPECT_TRUE(failure.empty()) << failure;
  // Finite differences must work for most programs.
  EXPECT_GT(known, tried * 0.8) << known << " of " << tried;
  if (tried < 1000) return;
  std::string unused;
  int count = 0;
  for (const StepKind& kind : step_kinds()) {
    if (used[kind.name] > 0) continue;
    unused += kind.name + std::string(" ");
    ++count;
  }
  EXPECT_LE(count, 2) << unused;  // the rarest may be missed by chance
}

// ---- Wrong rules are detected, and the program shrinks to little more than the wrong step.

Tensor three_squares(const RuleContext& context) { return square(context.operand(0)) * 3.; }

struct WrongRule {
  const char* name;
  double (*body)(std::span<const double> x);
  Rules rules;
};
// Each is x³ or 2 x, with right values and one wrong rule.
std::vector<WrongRule> wrong_rules() {
  const auto cube = [](std::span<const double> x) { return x[0] * x[0] * x[0]; };
  const auto twice = [](std::span<const double> x) { return 2 * x[0]; };
  const Reads x = Reads::operand(0);
  return {{"off_by_a_thousandth",
           cube,
           {.partials = {Partial::of(
                x, [](const RuleContext& c) { return three_squares(c) * 1.001; })}}},
          {"wrong_below_zero",
           cube,
           {.partials = {Partial::of(x,
                                     [](const RuleContext& c) {
                                       return where(c.operand(0) < 0., three_squares(c) * 2.,
                                                    three_squares(c));
                                     })}}},
          {"wrong_in_second_order",
           cube,
           {.partials = {Partial::of(
                x, [](const RuleContext& c) { return stop_gradient(three_squares(c)); })}}},
          {"wrong_transpose",
           twice,
           {.transposes = {{{}, [](const RuleContext&, const Tensor& c, size_t) { return c; }}}}},
          {"wrong_tangents",
           cube,
           {.tangents = {x, [](const RuleContext& c, std::span<const Tensor> t) {
                           return t[0] ? Tensors{t[0] * three_squares(c) * 1.01}
                                       : Tensors{Tensor()};
                         }}}}};
}

StepKind kind_of(const WrongRule& wrong) {
  const ir::Primitive& primitive = declare({.primitive = {.name = wrong.name,
                                                          .summary = "x³ or 2 x.",
                                                          .operands = ir::exactly(1),
                                                          .takes = kFloatings,
                                                          .elementwise = ir::Elementwise::same,
                                                          .body = {.real = wrong.body}},
                                            .rules = wrong.rules});
  return {wrong.name, [&primitive](Chooser& choose) {
            return ChosenStep{{choose.real()}, [&primitive](std::span<const Tensor> x) {
                                return Tensors{apply(primitive, {x[0]})};
                              }};
          }};
}

TEST(RandomProgram, WrongRulesAreNoticed) {
  const std::vector<WrongRule> rules = wrong_rules();
  for (const WrongRule& wrong : std::span(rules).first(kWrongRules)) {
    std::vector<StepKind> kinds = step_kinds();
    kinds.insert(kinds.begin() + kinds.size() / 2, kind_of(wrong));
    Block smallest;
    const auto property = [&] {
      const RandomProgram program(*drawn_program(kinds), kinds);
      try {
        check_derivatives(program);
      } catch (const Disagreement& disagreement) {
        smallest = program.block();
        RC_FAIL(disagreement.what());
      }
    };
    // All cases, since the first that fails is the last.
    const std::string failure = failure_of(wrong.name, 2000, property, 0, false);
    EXPECT_FALSE(failure.empty()) << wrong.name;
    EXPECT_TRUE(smallest.uses(wrong.name)) << smallest.text();
    EXPECT_LE(smallest.steps.size(), 2u) << smallest.text();
  }
}

}  // namespace
}  // namespace plait
