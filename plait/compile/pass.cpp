#include "plait/compile/pass.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/text/printer.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kPasses(
    {.name = "passes",
     .standard = "",
     .description = "passes of the compiler to leave out, for example -fuse,-inline"});
constinit Setting<std::string> kDump(
    {.name = "dump",
     .standard = "",
     .description = "stages of the compiler that print the program, for example after:fuse"});
}  // namespace setting

namespace {
const ListedSettings pass_settings{&setting::kPasses, &setting::kDump};
}

}  // namespace plait

namespace plait::compile {
namespace {

constexpr Pass kPasses[] = {
    {"inline", "replaces calls by the bodies of the callees", inlined},
    {"simplify", "folds constants, and removes repeated and unused instructions", simplified},
    {"hoist", "computes before a loop what is the same in all its rounds", hoisted},
    {"fission", "computes products of few rows outside of loops, as one for all rounds",
     with_fission},
    {"libraries", "replaces equivalent instructions by those that libraries compute fastest",
     with_libraries},
    {"rows",
     "adds what few rows change to an array, instead of computing a gradient of all its rows",
     with_row_updates},
    {"expand", "decomposes operations on rows into instructions that kernels can fuse", expanded,
     true},
    {"recompute", "computes again what is cheaper than keeping it for the backward pass",
     recomputed, true},
    {"fuse", "fuses what one kernel computes into one instruction", fused, true},
    {"schedule", "computes what takes memory shortly before it is needed", scheduled},
    {"plan", "lets values that do not live at the same time share memory", nullptr},
    {"emit", "compiles fused instructions to machine code", nullptr},
};

constexpr std::string_view kFirstOfSecondPart = "recompute";

struct PassRun {
  const Target* target;
  bool makes_kernels;
  const PassObserver& observer;
  Segments segments = {};
  bool is_trial = false;
  Turns turns = {};

  // The passes that make kernels run for a target.
  ir::Program behind(const Pass& pass, const ir::Program& program) {
    if (pass.name == "expand") return expanded(program, target);
    if (pass.name == "recompute") return recomputed(program, target, turns, segments);
    if (pass.name == "fuse") return fused(program, target, turns);
    return pass.run(program);
  }

  ir::Program run(std::span<const Pass> all, ir::Program program) {
    for (const Pass& pass : all) {
      if (pass.run == nullptr || !is_on(pass.name)) continue;
      if (pass.is_for_kernels && !makes_kernels) continue;
      program = behind(pass, program);
      ir::verify_pass(program, pass.name);
      if (!is_trial && is_dumped(pass.name)) dump(dump_text(pass.name, program));
      if (observer) observer(pass, program);
    }
    return program;
  }
};

std::span<const Pass> first_part() {
  const auto end = std::ranges::find(kPasses, kFirstOfSecondPart, &Pass::name);
  return {std::begin(kPasses), end};
}
std::span<const Pass> second_part() { return std::span(kPasses).subspan(first_part().size()); }

// Calls `visit` with each part of a comma-separated list.
template <class Visit>
void for_each_part(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) visit(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

bool is_pass(std::string_view name) {
  for (const Pass& pass : kPasses) {
    if (pass.name == name) return true;
  }
  return false;
}

[[noreturn]] void refuse_part(std::string_view setting, std::string_view part,
                              std::string_view form) {
  std::string names;
  for (const Pass& pass : kPasses) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
  }
  throw ValueError("the setting {} has `{}`, expected {}", setting, part, form)
      .hint(fmt::format("the passes are {}", names));
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void check_passes(std::string_view list) {
  for_each_part(list, [](std::string_view part) {
    const bool is_known = part[0] == '-' && is_pass(part.substr(1));
    if (!is_known) refuse_part("passes", part, "-NAME of a pass to leave out");
  });
}

bool is_on(std::string_view pass) {
  const std::string& list = setting::kPasses.get();
  check_passes(list);
  bool on = true;
  for_each_part(list, [&](std::string_view part) { on = on && part.substr(1) != pass; });
  return on;
}

bool is_dumped(std::string_view pass) {
  constexpr std::string_view kAfter = "after:";
  bool dumped = false;
  for_each_part(setting::kDump.get(), [&](std::string_view part) {
    if (!part.starts_with(kAfter)) return;  // for the code generator
    const std::string_view name = part.substr(kAfter.size());
    if (name != "all" && !is_pass(name)) refuse_part("dump", part, "after:NAME or after:all");
    dumped = dumped || name == "all" || name == pass;
  });
  return dumped;
}

std::string dump_text(std::string_view pass, std::string_view text) {
  return fmt::format("; ==== after {}\n{}\n", pass, text);
}
std::string dump_text(std::string_view pass, const ir::Program& program) {
  return dump_text(pass, ir::print(program, {.literal_elements = 8}));
}
void dump(std::string_view text) { fmt::print(stderr, "{}", text); }

ir::Program expanded(const ir::Program& program) {
  return expanded(program, find_target(Device::Kind::cpu));
}
ir::Program recomputed(const ir::Program& program) {
  Turns turns;
  return recomputed(program, find_target(Device::Kind::cpu), turns);
}
ir::Program fused(const ir::Program& program) {
  return fused(program, find_target(Device::Kind::cpu), {});
}

ir::Program optimized(ir::Program program, bool makes_kernels, const PassObserver& observer) {
  return optimized_for(find_target(Device::Kind::cpu), std::move(program), makes_kernels, observer);
}

ir::Program optimized_for(const Target* target, ir::Program program, bool makes_kernels,
                          const PassObserver& observer) {
  program = prepared_for(target, std::move(program), makes_kernels, observer);
  return finished_for(target, std::move(program), makes_kernels, observer);
}

ir::Program prepared_for(const Target* target, ir::Program program, bool makes_kernels,
                         const PassObserver& observer) {
  return PassRun{target, makes_kernels, observer}.run(first_part(), std::move(program));
}

ir::Program finished_for(const Target* target, ir::Program program, bool makes_kernels,
                         const PassObserver& observer, const Segments& segments, bool is_trial) {
  PassRun run{target, makes_kernels, observer, segments, is_trial};
  return run.run(second_part(), std::move(program));
}

}  // namespace plait::compile
