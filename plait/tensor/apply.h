// Dispatch: every operation on tensors goes through here. While a trace is open on this thread, the
// operation is recorded as an instruction of it; otherwise it runs eagerly.
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
// As apply_all, but without derivatives, autocast and named axes.
std::vector<Tensor> apply_undifferentiated(const ir::Primitive& primitive,
                                           std::span<const Tensor> operands,
                                           const ir::Attributes& attributes = {});
// For a primitive with one result.
Tensor apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
             const ir::Attributes& attributes = {});
inline Tensor apply(const ir::Primitive& primitive, std::initializer_list<Tensor> operands,
                    const ir::Attributes& attributes = {}) {
  return apply(primitive, std::span(operands.begin(), operands.size()), attributes);
}

// An operand of an elementwise operation: a tensor, or a number that is broadcast.
struct RowOperand {
  const Tensor* tensor = nullptr;
  const Scalar* number = nullptr;  // used if `tensor` is null
};
// Fast path of an elementwise operation on concrete tensors of this dtype with equal sizes,
// contiguous or broadcast from one element. It skips the type rule and copies no handles. Returns
// an empty tensor if the path does not apply. The first operand may have another dtype (the
// condition of select).
Tensor apply_to_rows(const ir::Primitive& primitive, DType dtype,
                     std::span<const RowOperand> operands, std::optional<DType> first = {});

// As apply, with x as operand number `place`. If x is the only owner of its memory, the result may
// be written there. x is donated, unless the operation throws.
Tensor apply_donating(const ir::Primitive& primitive, std::vector<Tensor> operands, Tensor& x,
                      size_t place, const ir::Attributes& attributes = {});

// A number as a tensor of rank 0; an instruction while a trace is open.
Tensor scalar_tensor(const Scalar& value, DType dtype);

}  // namespace plait
