#include "plait/transform/inside/running/key_draws.h"

#include "plait/ir/analysis/call_graph.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {

bool draws_keys(const ir::Program& program) {
  return any_instruction(program, [](const ir::Instruction& instruction) {
    return &instruction.primitive() == &random_primitives().draw_key;
  });
}

bool draws_keys(const ir::Program& program, const ir::Function& function) {
  const ir::CallGraph graph(program);
  for (const uint32_t i : graph.reachable_from(program.index_of(function.name()))) {
    for (const ir::Instruction instruction : program.functions()[i]->instructions()) {
      if (&instruction.primitive() == &random_primitives().draw_key) return true;
    }
  }
  return false;
}

}  // namespace plait
