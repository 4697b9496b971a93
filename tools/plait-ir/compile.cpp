#include "compile.h"

#include <fmt/format.h>

#include "plait/compile/compare.h"
#include "plait/compile/compiler.h"
#include "plait/compile/inside/plans/plan.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/pass.h"
#include "plait/core/error.h"

using namespace plait;
using compile::Pass;

namespace {

constexpr std::string_view kPlan = "plan", kAll = "all";

bool makes_something_to_print(const Pass& pass) {
  return pass.run != nullptr || pass.name == kPlan;
}

}  // namespace

std::string passes_text() {
  std::string out;
  for (const Pass& pass : compile::passes()) {
    out += fmt::format("{:12}{}\n", pass.name, pass.summary);
  }
  return out;
}

std::vector<std::string> names_to_print_after() {
  std::vector<std::string> names;
  for (const Pass& pass : compile::passes()) {
    if (makes_something_to_print(pass)) names.emplace_back(pass.name);
  }
  names.emplace_back(kAll);
  return names;
}

std::string problem_with_passes(const std::string& list) {
  try {
    compile::check_passes(list);
    return {};
  } catch (const ValueError& error) {
    return fmt::format("{}; {}", error.message(), error.hint());
  }
}

void leave_out(const std::string& passes) {
  if (!passes.empty()) setting::kPasses.set(passes);
}

std::string compiled_text(const ir::Program& program, const std::string& after) {
  std::string out;
  const bool prints_all = after == kAll;
  const compile::Compiled compiled(program,
                                   {.observer = [&](const Pass& pass, const ir::Program& behind) {
                                     if (prints_all) out += compile::dump_text(pass.name, behind);
                                     if (after == pass.name) out = behind.text();
                                   }});
  const std::string plan = compile::CompiledAccess::plan(compiled).text();
  if (prints_all) return out + compile::dump_text(kPlan, plan);
  if (after.empty() || after == kPlan) return plan;
  return out;
}

std::string compare(const ir::Program& program, const RunOptions& run,
                    const ComparisonOptions& options) {
  const Run what = read_run(program, run);
  const auto difference = compile::compare(what.program, what.arguments,
                                           {.tolerance = options.tolerance,
                                            .arena = {.is_guarded = true, .shift = options.shift},
                                            .sizes = what.sizes});
  if (difference) throw CheckError("{}", difference->text());
  return "no differences\n";
}
