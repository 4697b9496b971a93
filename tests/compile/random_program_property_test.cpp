// Random programs, compiled: they give what the evaluator gives, whichever passes are left out.
// RC_PARAMS="seed=…" or the "reproduce=…" that a failure prints brings one back; "max_success=…"
// tries more of them.
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/compile/compare.h"
#include "plait/compile/compiler.h"
#include "plait/compile/kernel_compiler.h"
#include "plait/compile/pass.h"
#include "plait/core/error.h"
#include "plait/ir/verify.h"
#include "plait/tensor/machine.h"
#include "plait/transform/programs.h"

#include "tests/compile/passes_left_out.h"
#include "tests/support/drawn_program.h"

namespace plait::compile {
namespace {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 100;
#else
constexpr int kPrograms = 1000;
#endif

// All passes, or all but one or two of them.
std::string left_out(uint32_t seed) {
  const auto count = static_cast<uint32_t>(passes().size());
  std::string list;
  for (uint32_t draw : {seed % (count + 2), seed / 7 % (count + 3)}) {
    if (draw >= count) continue;
    list += fmt::format("{}-{}", list.empty() ? "" : ",", passes()[draw].name);
  }
  return list;
}

// Sums are taken in another order, and some computations on f32.
double tolerance_for(const RandomProgram& program) {
  return program.block().uses(kNarrow) ? 2e-4 : 1e-10;
}

void expect_compiled(const char* what, const ir::Program& program, const Tensors& arguments,
                     const std::string& passes, double tolerance) {
  std::optional<Tensors> wanted;
  std::string refused;
  try {
    wanted = evaluate(program, arguments);
  } catch (const Error& error) {
    refused = error.message();
  }
  const PassesLeftOut out(passes);
  try {
    const Tensors given = Compiled(program)(arguments);
    if (!wanted) throw Disagreement(fmt::format("{}: ran, where it fails: {}", what, refused));
    expect_as_good_as_same(what, given, *wanted, tolerance);
  } catch (const Disagreement& disagreement) {
    const auto difference = compare(program, arguments, {.tolerance = tolerance});
    throw Disagreement(fmt::format("{}\n{}", disagreement.what(),
                                   difference ? difference->text() : "each step is right"));
  } catch (const Error& error) {
    if (!wanted) return;  // it fails in both
    throw Disagreement(fmt::format("{}: {}", what, error.message()));
  }
}

void check_compiled(const RandomProgram& program, uint32_t seed) {
  const std::string passes = left_out(seed);
  const double tolerance = tolerance_for(program);
  const ir::Program traced =
      program.traced([&](std::span<const Tensor> given) { return program(given); });
  const Tensors arguments = program.arguments();
  expect_compiled("compiled", traced, arguments, passes, tolerance);
  const Compiled compiled(traced);
  for (const int64_t more : {0, 1, 0}) {
    const Tensors others = program.arguments(more);
    expect_as_good_as_same("compiled once for other sizes", compiled(others),
                           evaluate(traced, others), tolerance);
  }
  const ForwardAndBackward both = vjp(traced);
  expect_compiled("the forward part compiled", both.forward, arguments, passes, tolerance);
  Tensors given = evaluate(both.forward, arguments), cotangents;
  for (size_t i = 0; i < both.results; ++i) {
    if (is_inexact(given[i].dtype())) cotangents.push_back(given[i]);
  }
  cotangents.insert(cotangents.end(), given.begin() + static_cast<ptrdiff_t>(both.results),
                    given.end());
  expect_compiled("the way back compiled", both.backward, cotangents, passes, 10 * tolerance);
}

TEST(RandomPrograms, GiveTheSameCompiled) {
  const std::string failure = failure_of("CompiledPrograms", kPrograms, [&] {
    const ProgramDescription description = *drawn_program(step_kinds());
    std::optional<RandomProgram> program;
    try {
      program.emplace(description);
      check_compiled(*program, description.seed);
    } catch (const std::exception& error) {
      RC_FAIL(fmt::format("{}\npasses {}\n{}", error.what(), left_out(description.seed),
                          program ? text_of(*program) : ""));
    }
  });
  EXPECT_TRUE(failure.empty()) << failure;
}

}  // namespace
}  // namespace plait::compile
