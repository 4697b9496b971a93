#include "plait/transform/inside/running/run_instruction.h"

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/forms/form.h"

namespace plait {

Dim as_size(const Tensor& count, bool at_least) {
  Trace* const trace = Trace::current();
  return count.is_traced() ? trace->as_size(count, at_least) : Dim(count.item<int64_t>());
}

std::vector<Tensor> run_instruction(const ir::Instruction& instruction,
                                    std::span<const Tensor> operands, const SymbolMap<Dim>& sizes) {
  if (instruction.primitive().structure == ir::Structure::machine) {
    const auto here = [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); };
    return apply_all(instruction.primitive(), operands, instruction.attributes().map_sizes(here));
  }
  if (instruction.callees().empty()) return run_form({instruction, operands, sizes});
  throw TypeError("{} cannot be run on tensors yet", ir::print(instruction))
      .at(instruction.location());
}

}  // namespace plait
