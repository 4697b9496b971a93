// Random programs, compiled: they return the same as the evaluator, whichever passes are disabled.
// RC_PARAMS="seed=…", or the "reproduce=…" that a failure prints, repeats a run; "max_success=…"
// tries more programs.
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/compile/compare.h"
#include "plait/compile/compiler.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/pass.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/tensor/array_machine.h"
#include "plait/transform/programs.h"

#include "tests/compile/passes_left_out.h"
#include "tests/support/programs/drawn_program.h"
#include "tests/support/threads.h"

namespace plait::compile {
namespace {

constexpr int kParts = 8;  // parts of a run; each is a test
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 160;
#else
constexpr int kPrograms = 3500;
#endif

// Guarded or not, with different offsets.
ArenaOptions arena_of(uint32_t seed) {
  return {.is_guarded = seed % 4 == 0, .shift = static_cast<int64_t>(seed % 3) * 16};
}

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

// Sums are reordered, and some computations are in f32.
double tolerance_for(const RandomProgram& program) {
  return program.block().uses(kNarrow) ? 2e-4 : 1e-10;
}

void expect_compiled(const char* what, const ir::Program& program, const Tensors& arguments,
                     uint32_t seed, double tolerance, ArenaOptions arena) {
  std::optional<Tensors> wanted;
  std::string refused;
  try {
    wanted = evaluate(program, arguments);
  } catch (const Error& error) {
    refused = error.message();
  }
  const PassesLeftOut out(left_out(seed));
  const Threads team(seed % 5 == 0 ? 1 : 2);
  try {
    const Tensors given = CompiledAccess::run(Compiled(program), arguments,
                                              {.first_rounds = seed % 3, .arena = arena});
    if (!wanted) throw Disagreement(fmt::format("{}: ran, where it fails: {}", what, refused));
    expect_as_good_as_same(what, given, *wanted, tolerance);
  } catch (const Disagreement& disagreement) {
    for (const bool is_guarded : {true, false}) {
      const auto difference = compare(
          program, arguments, {.tolerance = tolerance, .arena = {.is_guarded = is_guarded}});
      if (difference) {
        std::string of;
        for (const Tensor& argument : arguments) of += "\nfor " + argument.text();
        throw Disagreement(fmt::format("{}\n{}{}", disagreement.what(), difference->text(), of));
      }
    }
  } catch (const Error& error) {
    if (!wanted) return;  // both fail
    throw Disagreement(fmt::format("{}: {}", what, error.message()));
  }
}

// Skips programs that raise an error for these sizes.
void expect_for_small(const Compiled& compiled, const ir::Program& program,
                      const Tensors& arguments, double tolerance) {
  Tensors wanted;
  try {
    wanted = evaluate(program, arguments);
  } catch (const Error&) {
    return;
  }
  const Tensors given =
      CompiledAccess::run(compiled, arguments, {.arena = ArenaOptions{.is_guarded = true}});
  expect_as_good_as_same("compiled once for small sizes", given, wanted, tolerance);
}

void check_both_ways(const ir::Program& program, const Tensors& arguments, uint32_t seed,
                     double tolerance, ArenaOptions arena) {
  expect_compiled("compiled", program, arguments, seed, tolerance, arena);
  const ForwardAndBackward both = vjp(program);
  expect_compiled("the forward part compiled", both.forward, arguments, seed, tolerance, arena);
  Tensors given = evaluate(both.forward, arguments), cotangents;
  for (size_t i = 0; i < both.results; ++i) {
    if (is_inexact(given[i].dtype())) cotangents.push_back(given[i]);
  }
  cotangents.insert(cotangents.end(), given.begin() + static_cast<ptrdiff_t>(both.results),
                    given.end());
  expect_compiled("the backward pass compiled", both.backward, cotangents, seed, 10 * tolerance,
                  arena);
}

// Recorded for sizes 0 or 1, which compile to other code. Programs that raise an error for them, or
// whose derivative does, are skipped.
void check_small(const RandomProgram& program, uint32_t seed) {
  const RandomProgram::SmallSizes sizes = program.small_sizes()[seed % 2];
  const Tensors arguments = program.arguments(sizes);
  std::optional<ir::Program> traced;
  try {
    traced = program.traced([&](std::span<const Tensor> x) { return program(x); }, sizes);
    evaluate(vjp(*traced).forward, arguments);
  } catch (const Error&) {
    return;
  }
  check_both_ways(*traced, arguments, seed, tolerance_for(program), {.is_guarded = true});
}

void check_compiled(const RandomProgram& program, uint32_t seed) {
  const double tolerance = tolerance_for(program);
  const ir::Program traced =
      program.traced([&](std::span<const Tensor> given) { return program(given); });
  check_both_ways(traced, program.arguments(), seed, tolerance, arena_of(seed));
  const Compiled compiled(traced);
  for (const int64_t more : {0, 1, 0}) {
    const Tensors others = program.arguments(more);
    try {
      expect_as_good_as_same("compiled once for other sizes", compiled(others),
                             evaluate(traced, others), tolerance);
    } catch (const Disagreement&) {
      expect_compiled("compiled for other sizes", traced, others, seed, tolerance, arena_of(seed));
    }
  }
  for (const RandomProgram::SmallSizes sizes : program.small_sizes()) {
    expect_for_small(compiled, traced, program.arguments(sizes), tolerance);
  }
  check_small(program, seed);
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, GiveTheSameCompiled) {
  const auto check = [&] {
    const ProgramDescription description = *drawn_program(step_kinds());
    std::optional<RandomProgram> program;
    try {
      program.emplace(description);
      check_compiled(*program, description.seed);
    } catch (const std::exception& error) {
      RC_FAIL(fmt::format("{}\npasses {}\n{}", error.what(), left_out(description.seed),
                          program ? text_of(*program) : ""));
    }
  };
  const std::string failure =
      failure_of("CompiledPrograms", kPrograms / kParts, check, static_cast<uint64_t>(GetParam()));
  EXPECT_TRUE(failure.empty()) << failure;
}
INSTANTIATE_TEST_SUITE_P(Compiled, RandomPrograms, testing::Range(0, kParts));

}  // namespace
}  // namespace plait::compile
