// Operations of loop nests as CUDA C++: the functions of the prelude (kernels/prelude.h), and those
// of kernels/special_text.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/ir/index_signature.h"
#include "plait/ir/primitive.h"

namespace plait::cuda {

// True if there is a function for the elementwise primitive, or the conversion, for these dtypes.
bool computes(const ir::Primitive& primitive, std::span<const DType> operands, DType result);
// True if it takes much longer than an addition.
bool is_costly_operation(std::string_view operation, DType dtype);

// The type in which numbers are computed: "f32" for f16, "bool" for bool.
std::string_view value_type(DType dtype);
int64_t value_size(DType dtype);
// Elements in memory: "f16", "boolean".
std::string_view memory_type(DType dtype);
// A constant of the value type.
std::string constant_text(DType dtype, const Element& element);
// "op::add(v1, v2)".
std::string operation_text(const ir::Primitive& primitive, DType result,
                           std::span<const std::string> operands,
                           std::span<const DType> operand_dtypes);
// The prelude's name of a reduction, and its result for no elements.
std::string_view reduction_type(ir::Reduction reduction);
std::string identity_text(ir::Reduction reduction, DType dtype);

}  // namespace plait::cuda
