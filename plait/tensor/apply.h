// The one gateway: every operation on tensors goes through here. While a trace is open on this
// thread, the operation becomes an instruction of it; otherwise it runs now.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

std::vector<Tensor> apply_all(const ir::Primitive& primitive, std::span<const Tensor> operands,
                              const ir::Attributes& attributes = {});
// The same, where what derivatives the operands are wanted for does not matter.
std::vector<Tensor> apply_unfollowed(const ir::Primitive& primitive,
                                     std::span<const Tensor> operands,
                                     const ir::Attributes& attributes = {});
// Of a primitive with one result.
Tensor apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
             const ir::Attributes& attributes = {});
inline Tensor apply(const ir::Primitive& primitive, std::initializer_list<Tensor> operands,
                    const ir::Attributes& attributes = {}) {
  return apply(primitive, std::span(operands.begin(), operands.size()), attributes);
}

// What an elementwise operation meets: a tensor, or a number that stands for each of its elements.
struct RowOperand {
  const Tensor* tensor = nullptr;
  const Scalar* number = nullptr;  // where there is no tensor
};
// The short way of an elementwise operation, where the tensors are concrete, of this dtype, alike
// and without gaps: they are neither copied nor looked at by a type rule. Nothing (an empty tensor)
// where it cannot be gone. The first operand may be of another dtype, as that of select is.
Tensor apply_to_rows(const ir::Primitive& primitive, DType dtype,
                     std::span<const RowOperand> operands, std::optional<DType> first = {});

// As apply, with x as the operand number `place`, where memory of x that nobody else has may become
// the result's. x is given away, unless it fails.
Tensor apply_giving_away(const ir::Primitive& primitive, std::vector<Tensor> operands, Tensor& x,
                         size_t place, const ir::Attributes& attributes = {});

// A number as a tensor without dimensions; an instruction inside a trace.
Tensor scalar_tensor(const Scalar& value, DType dtype);

}  // namespace plait
