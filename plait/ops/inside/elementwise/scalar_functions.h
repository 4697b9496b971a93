// Declaration and application of elementwise functions that are given as scalar functions of real
// numbers.
#pragma once

#include <initializer_list>

#include "plait/ops/declare.h"
#include "plait/ops/operand.h"

namespace plait {

// One row of a table of functions.
struct ScalarFunction {
  const char* name;
  PublicFunction function;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::ScalarBody body;
  Rules rules;
  ir::Numerics numerics = {.accuracy = ir::Accuracy::special};
  ir::Elementwise result = ir::Elementwise::same;
};

const ir::Primitive& declare_function(uint32_t operands, ScalarFunction declared);

// Converts the operands to the dtype, broadcasts them, and applies the primitive.
Tensor apply_function(const ir::Primitive& primitive, std::initializer_list<Operand> operands,
                      DType dtype);
// Applies the primitive in the promoted dtype of the operands, or in f32 for integers and bool.
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& x);
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b);
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b,
                       const Operand& c);

}  // namespace plait
