#include "plait/ops/inside/elementwise/scalar_functions.h"

#include <utility>
#include <vector>

#include "plait/ops/arrays/reshape.h"
#include "plait/tensor/apply.h"

namespace plait {

const ir::Primitive& declare_function(uint32_t operands, ScalarFunction declared) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .operands = ir::exactly(operands),
                                .takes = declared.takes,
                                .elementwise = declared.result,
                                .numerics = declared.numerics,
                                .body = declared.body},
                  .rules = std::move(declared.rules),
                  .function = declared.function});
}

Tensor apply_function(const ir::Primitive& primitive, std::initializer_list<Operand> operands,
                      DType dtype) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.as(dtype));
  return plait::apply(primitive, broadcast_together(primitive.name, std::move(tensors)));
}

Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& x) {
  const Tensor tensor = tensor_from(x);
  return plait::apply(primitive, {astype(tensor, inexact(tensor.dtype()))});
}
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b) {
  return apply_function(primitive, {a, b}, inexact(common_dtype(a, b)));
}
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b,
                       const Operand& c) {
  return apply_function(primitive, {a, b, c}, inexact(common_dtype({&a, &b, &c})));
}

}  // namespace plait
