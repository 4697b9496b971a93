// The passes: each reads a program and writes another that does the same. The setting `passes`
// leaves some out, `dump` prints the program behind one, `verify` checks what each has made.
//
//   PLAIT_PASSES=-fuse PLAIT_DUMP=after:simplify program
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "plait/ir/program.h"

namespace plait::compile {

struct Pass {
  std::string_view name;
  std::string_view summary;
  ir::Program (*run)(const ir::Program& program);  // null for a stage that makes no program
  bool is_for_kernels = false;                     // idle where no kernels are made
};

// In their order. The last ones are stages of planning (plan.h).
std::span<const Pass> passes();

// ValueError where a list as the setting `passes` takes it, -NAME,-NAME, names what is no pass.
void check_passes(std::string_view list);
bool is_on(std::string_view pass);
// Whether the setting `dump` asks for what is there behind a pass: after:NAME, or after:all.
bool is_dumped(std::string_view pass);
// What is dumped, below the pass's name; of a program large constants in part.
std::string dump_text(std::string_view pass, std::string_view text);
std::string dump_text(std::string_view pass, const ir::Program& program);
// Prints it to the standard error.
void dump(std::string_view text);

// Told the program behind each pass.
using PassObserver = std::function<void(const Pass& pass, const ir::Program& program)>;

// All of them that are on.
ir::Program optimized(ir::Program program, bool makes_kernels = true,
                      const PassObserver& observer = {});

// What `passes()` lists.
ir::Program inlined(const ir::Program& program);
ir::Program simplified(const ir::Program& program);
ir::Program with_libraries(const ir::Program& program);
ir::Program expanded(const ir::Program& program);
ir::Program fused(const ir::Program& program);
ir::Program scheduled(const ir::Program& program);

}  // namespace plait::compile
