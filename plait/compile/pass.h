// The passes: each reads a program and writes another that does the same. The setting `passes`
// leaves some out, `dump` prints the program behind one, `verify` checks what each has made.
//
//   PLAIT_PASSES=-fuse PLAIT_DUMP=after:simplify program
#pragma once

#include <span>
#include <string_view>

#include "plait/ir/program.h"

namespace plait::compile {

struct Pass {
  std::string_view name;
  std::string_view summary;
  ir::Program (*run)(const ir::Program& program);  // null for a stage that makes no program
  bool is_for_kernels = false;  // idle where no kernels are made
};

// In their order. The last ones are stages of planning (plan.h).
std::span<const Pass> passes();

// ValueError where the setting names a pass that is none.
bool is_on(std::string_view pass);
// Whether the setting `dump` asks for what is there behind a pass: after:NAME, or after:all.
bool is_dumped(std::string_view pass);
// Prints it to the standard error, with the pass's name.
void dump(std::string_view pass, std::string_view text);

// All of them that are on.
ir::Program optimized(ir::Program program, bool makes_kernels = true);

// What `passes()` lists.
ir::Program inlined(const ir::Program& program);
ir::Program simplified(const ir::Program& program);
ir::Program expanded(const ir::Program& program);
ir::Program fused(const ir::Program& program);
ir::Program scheduled(const ir::Program& program);

}  // namespace plait::compile
