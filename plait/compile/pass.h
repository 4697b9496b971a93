// The passes: each reads a program and returns an equivalent one. The setting `passes` disables
// some, `dump` prints the program after one, `verify` checks the result of each.
//
//   PLAIT_PASSES=-fuse PLAIT_DUMP=after:simplify program
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "plait/core/settings.h"
#include "plait/ir/program.h"

namespace plait::setting {
extern Setting<std::string> kPasses, kDump;
}

namespace plait::compile {

struct Pass {
  std::string_view name;
  std::string_view summary;
  ir::Program (*run)(const ir::Program& program);  // null for a stage of planning
  bool is_for_kernels = false;                     // skipped if no kernels are generated
};

// In order. The last ones are stages of planning (plan.h).
std::span<const Pass> passes();

// ValueError if a list -NAME,-NAME for the setting `passes` names an unknown pass.
void check_passes(std::string_view list);
bool is_on(std::string_view pass);
// True if the setting `dump`, after:NAME or after:all, requests output after this pass.
bool is_dumped(std::string_view pass);
// Text of a dump, under the pass's name; large constants are abbreviated.
std::string dump_text(std::string_view pass, std::string_view text);
std::string dump_text(std::string_view pass, const ir::Program& program);
// Prints to stderr.
void dump(std::string_view text);

// Called with the program after each pass.
using PassObserver = std::function<void(const Pass& pass, const ir::Program& program)>;

// Runs all enabled passes.
ir::Program optimized(ir::Program program, bool makes_kernels = true,
                      const PassObserver& observer = {});

// The passes listed by `passes()`.
ir::Program inlined(const ir::Program& program);
ir::Program simplified(const ir::Program& program);
ir::Program hoisted(const ir::Program& program);
ir::Program with_fission(const ir::Program& program);
ir::Program with_libraries(const ir::Program& program);
ir::Program with_row_updates(const ir::Program& program);
ir::Program expanded(const ir::Program& program);
ir::Program recomputed(const ir::Program& program);
ir::Program fused(const ir::Program& program);
ir::Program scheduled(const ir::Program& program);

}  // namespace plait::compile
