// Random host code, jitted: programs that read values and sizes between their steps, and branch on
// them. RC_PARAMS as in random_derivatives_property_test.cpp.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/jit.h"

#include "tests/support/programs/drawn_program.h"
#include "tests/transform/properties/derivative_checks.h"

namespace plait {
namespace {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kHostPrograms = 50;
#else
constexpr int kHostPrograms = 300;
#endif

bool is_plain(const Tensor& x) { return x.is_array() && is_floating(x.dtype()); }

// Reaction of host code to a value.
enum class Habit : uint8_t { nothing, decides, reads, repeats, counts, asks, prefers, tells, size };

// The observable effects so far.
std::vector<std::string> told;

void tell(const Tensor& x, size_t number) {
  static const int64_t teller = keep_callback([](std::span<const Tensor> given) {
    told.push_back(fmt::format("{}: {}", given[1].item<int64_t>(), given[0].type().text()));
    return Tensors();
  });
  const Tensor operands[] = {x, full({}, static_cast<int64_t>(number), DType::i64)};
  call_back(teller, operands);
}

class HostProgram {
 public:
  HostProgram(const RandomProgram& program, uint32_t seed, bool may_read)
      : program_(program), seed_(seed), may_read_(may_read) {}

  Tensors operator()(const Tensors& arguments) const {
    const Block& block = program_.block();
    Tensors values = arguments;
    for (const Block::Step& step : block.steps) {
      Tensors operands;
      for (const size_t operand : step.operands) operands.push_back(values[operand]);
      const auto compute = [&, first = values.size()](const Tensors& given) {
        Tensors results = step.compute(given);
        for (size_t i = 0; i < results.size(); ++i) {
          if (is_plain(results[i])) results[i] = through_view(results[i], first + i);
        }
        return results;
      };
      const bool is_called = Trace::current() && hash_combine(seed_ + 1, values.size()) % 3 == 0;
      const Tensors results = is_called ? jit(frozen(compute))(operands) : compute(operands);
      values.insert(values.end(), results.begin(), results.end());
    }
    Tensors results;
    for (const size_t result : block.results) results.push_back(values[result]);
    return results;
  }

 private:
  Tensor through_view(const Tensor& x, size_t number) const {
    const auto habit =
        static_cast<Habit>(hash_combine(seed_, number) % static_cast<uint64_t>(Habit::size));
    switch (habit) {
      case Habit::decides: return (sum(x * x) > 1.23).item<bool>() ? x * 0.5 : x + 0.25;
      case Habit::reads:
        if (!may_read_) return x;
        return x * (1 / (1.5 + std::abs(sum(x).item<double>())));
      case Habit::repeats: {
        Tensor y = x;
        for (int i = 0; i < 8 && (sum(y * y) > 3.21).item<bool>(); ++i) y = y * 0.4;
        return y;
      }
      case Habit::counts: {
        Tensor y = x;
        const int64_t times = x.rank() == 0 ? 1 : x.shape(0).number() % 3;
        for (int64_t i = 0; i < times; ++i) y = sin(y) + 0.125;
        return y;
      }
      case Habit::asks: return x.rank() > 0 && x.shape(0) > 2 ? x * 2 : x - 1;
      case Habit::prefers: {
        const Tensor other = cos(x);
        return (sum(other) > sum(x)).item<bool>() ? other : x;
      }
      case Habit::tells: tell(x, number); return x;
      default: return x;
    }
  }

  const RandomProgram& program_;
  uint32_t seed_;
  bool may_read_;
};

struct Outcome {
  Tensors results;
  std::string failed;
  std::vector<std::string> told;
};
template <class F>
Outcome outcome_of(const F& f, const Tensors& arguments) {
  Outcome outcome;
  random::seed(5);
  told.clear();
  try {
    outcome.results = f(arguments);
  } catch (const Error&) {
    outcome.failed = "an error";  // errors for symbolic sizes may have other messages
  }
  outcome.told = std::move(told);
  return outcome;
}

// True if roundings decide the results: numbers that are 0 but for them are sorted.
bool is_decided_by_roundings(const HostProgram& plain, const Tensors& arguments,
                             const Tensors& results) {
  Tensors moved;
  for (const Tensor& x : arguments) {
    moved.push_back(is_inexact(x.dtype()) ? x * (1. + 0x1p-49 * cos(7. * x)) : x);
  }
  try {
    expect_as_good_as_same("moved", outcome_of(plain, moved).results, results);
    return false;
  } catch (const Disagreement&) {
    return true;
  }
}

void check_jitted(const HostProgram& plain, const RandomProgram& program) {
  const auto jitted = jit(frozen(plain), {.max_paths = 6});
  // A body of zero steps is an error only for sizes that are numbers.
  bool has_steps_within = false;
  program.block().for_each_step([&](const Block::Step& step) { has_steps_within |= !!step.block; });
  const auto check_call = [&](const auto& function, const Tensors& arguments) {
    const Outcome wanted = outcome_of(plain, arguments), found = outcome_of(function, arguments);
    if (!wanted.failed.empty() && has_steps_within) return;
    if (found.failed != wanted.failed || found.told != wanted.told) {
      throw Disagreement(fmt::format("jitted: {}; {}\nas it is: {}; {}", found.failed,
                                     fmt::join(found.told, ", "), wanted.failed,
                                     fmt::join(wanted.told, ", ")));
    }
    try {
      expect_as_good_as_same("jitted, and as it is", found.results, wanted.results);
    } catch (const Disagreement&) {
      if (!is_decided_by_roundings(plain, arguments, wanted.results)) throw;
    }
  };
  for (const int64_t more : {0, 0, 1, -1, -2, 0, 2, 1}) {
    check_call(jitted, program.arguments(more));
  }
  const auto small = program.small_sizes();
  for (const RandomProgram::SmallSizes sizes : small) check_call(jitted, program.arguments(sizes));
  // Recorded for small sizes first.
  const auto from_small = jit(frozen(plain), {.max_paths = 6});
  for (const Tensors& each : {program.arguments(small[1]), program.arguments(small[0]),
                              program.arguments(), program.arguments(small[1])}) {
    check_call(from_small, each);
  }
  // Tangents of the jitted function.
  const Tensors arguments = program.arguments();
  Tensors directions;
  for (const Tensor& x : arguments) {
    directions.push_back(is_inexact(x.dtype()) ? cos(5 * x + 1) : Tensor());
  }
  const auto tangents = [&](const auto& f) {
    random::seed(5);
    Tensors found;
    for (const Tensor& each : jvp(f, std::tuple(arguments), std::tuple(directions)).second) {
      if (each) found.push_back(each);
    }
    return found;
  };
  expect_as_good_as_same("tangents of what is jitted", tangents(jitted), tangents(plain));
}

TEST(RandomHostProgram, JittedIsAsItIs) {
  const std::string failure = failure_of("RandomHostProgram", kHostPrograms, [&] {
    const ProgramDescription description = *drawn_program(step_kinds());
    std::optional<RandomProgram> program;
    try {
      program.emplace(description);
      for (const bool may_read : {false, true}) {
        check_jitted(HostProgram(*program, description.seed, may_read), *program);
      }
    } catch (const std::exception& error) {
      RC_FAIL(fmt::format("{}\n{}", error.what(), program ? text_of(*program) : ""));
    }
  });
  EXPECT_TRUE(failure.empty()) << failure;
}

}  // namespace
}  // namespace plait
