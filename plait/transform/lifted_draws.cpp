#include "plait/transform/lifted_draws.h"

#include "plait/ops/random.h"
#include "plait/transform/tensor_lists.h"

namespace plait {

bool draws_keys(const ir::Program& program) {
  return any_instruction(program, [](const ir::Instruction& instruction) {
    return instruction.primitive().name == "draw_key";
  });
}

TensorFunction with_key(const StagedFunction& function) {
  return [function](std::span<const Tensor> given) {
    const Tensor key = given.back();
    int64_t drawn = 0;
    const RunOptions options{.draw_key = [&] { return random::fold_in(key, drawn++); }};
    return function(joined({given.first(given.size() - 1), function.captures}), options);
  };
}

}  // namespace plait
