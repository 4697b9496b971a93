// Descriptions of random programs, drawn and shrunk by rapidcheck.
#pragma once

#include <cstdlib>
#include <sstream>

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include "tests/support/programs/tensor_program.h"

namespace plait {

// All values are possible from the first program on, whatever the current size of rapidcheck.
inline rc::Gen<uint32_t> drawn_below(uint32_t count) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint32_t>(0, count));
}

inline rc::Gen<std::vector<uint32_t>> drawn_numbers(uint32_t most) {
  return rc::gen::mapcat(drawn_below(most + 1), [](uint32_t count) {
    return rc::gen::container<std::vector<uint32_t>>(count, drawn_below(60));
  });
}

inline rc::Gen<StepDescription> drawn_step(std::span<const StepKind> kinds, int blocks_within) {
  const auto count = static_cast<uint32_t>(kinds.size());
  return rc::gen::mapcat(drawn_below(count), [=](uint32_t kind) {
    const bool has_block = blocks_within > 0 && kinds[kind].has_block;
    const auto inside =
        has_block
            ? rc::gen::container<std::vector<StepDescription>>(drawn_step(kinds, blocks_within - 1))
            : rc::gen::just(std::vector<StepDescription>());
    return rc::gen::build<StepDescription>(
        rc::gen::set(&StepDescription::kind, rc::gen::just(kind)),
        rc::gen::set(&StepDescription::choices, drawn_numbers(4)),
        rc::gen::set(&StepDescription::inside, rc::gen::scale(0.3, inside)));
  });
}

inline rc::Gen<ProgramDescription> drawn_program(std::span<const StepKind> kinds) {
  const auto steps = rc::gen::container<std::vector<StepDescription>>(drawn_step(kinds, 2));
  return rc::gen::build<ProgramDescription>(
      rc::gen::set(&ProgramDescription::parameters, drawn_numbers(4)),
      rc::gen::set(&ProgramDescription::steps, rc::gen::scale(0.25, steps)),
      rc::gen::set(&ProgramDescription::sizes, drawn_numbers(2)),
      rc::gen::set(&ProgramDescription::seed, drawn_below(1000)));
}

// The whole program as text, with the functions that it calls.
inline std::string text_of(const RandomProgram& program) {
  std::string text = fmt::format("{}\n", program.block().text());
  for (const Tensor& argument : program.arguments()) text += argument.text() + "\n";
  return text + program.traced([&](std::span<const Tensor> x) { return program(x); }).text();
}

// rapidcheck's report of a property, tried on `count` cases, or PLAIT_SHARE times as many; empty if
// it holds. The parts of a run, which may be concurrent, use consecutive seeds.
inline std::string failure_of(const char* id, int count, const std::function<void()>& property,
                              uint64_t part = 0, bool takes_share = true) {
  auto params = rc::detail::configuration().testParams;
  params.seed += part;
  const char* given = std::getenv("RC_PARAMS");
  if (given == nullptr || std::string_view(given).find("max_success") == std::string_view::npos) {
    const char* share = takes_share ? std::getenv("PLAIT_SHARE") : nullptr;
    const double cases = share == nullptr ? count : count * std::atof(share);
    params.maxSuccess = std::max(1, static_cast<int>(cases));
  }
  rc::detail::TestMetadata metadata;
  metadata.id = id;
  metadata.description = id;
  rc::detail::TestListenerAdapter listener;
  const auto result = rc::detail::checkTestable(property, metadata, params, listener,
                                                rc::detail::configuration().reproduce);
  if (result.is<rc::detail::SuccessResult>()) return {};
  std::ostringstream words;
  rc::detail::printResultMessage(result, words);
  words << "\nRC_PARAMS=\"seed=" << params.seed << "\"";
  return words.str();
}

}  // namespace plait
