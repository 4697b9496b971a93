// The sizes that a callee is given, where the types of its parameters show them.
#pragma once

#include "plait/ir/builder.h"

namespace plait::ir {

// What @callee is given in `instruction`, whose operands have these types. Sizes that the
// instruction provides itself (unwind) are left out, as in the text. TypeError for a size that is
// no whole dimension of a parameter.
std::vector<Dim> sizes_shown_to(size_t callee, const NewInstruction& instruction,
                                std::span<const Type> operands, const Declarations& declarations);

}  // namespace plait::ir
