// The loop nest that an index signature describes, around a scalar body.
#pragma once

#include <span>
#include <string_view>

#include "plait/ir/primitive.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// TypeError if the body does not take the dtype of the last operand.
Array run_loops(const ir::IndexSignature& signature, const ir::ScalarBody& body,
                std::span<const Array> operands, DType result, std::string_view operation);

}  // namespace plait
