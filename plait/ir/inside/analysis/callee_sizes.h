// Infers the size arguments of a callee from the types of its arguments.
#pragma once

#include "plait/ir/builder.h"

namespace plait::ir {

// The size arguments of @callee in `instruction`, whose operands have these types. Sizes that the
// instruction provides itself (unwind) are omitted, as in the text. TypeError for a size that is
// not a whole dimension of a parameter.
std::vector<Dim> infer_size_arguments(size_t callee, const NewInstruction& instruction,
                                      std::span<const Type> operands,
                                      const Declarations& declarations);

}  // namespace plait::ir
