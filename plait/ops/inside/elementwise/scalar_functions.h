// How functions of real numbers are declared and called, one number after the other.
#pragma once

#include <initializer_list>

#include "plait/ops/declare.h"
#include "plait/ops/operand.h"

namespace plait {

// A row of a table of them.
struct ScalarFunction {
  const char* name;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::ScalarBody body;
  Rules rules;
  ir::Elementwise result = ir::Elementwise::same;
};

const ir::Primitive& declare_function(uint32_t operands, ScalarFunction declared);

// Of operands in that dtype, stretched.
Tensor apply_function(const ir::Primitive& primitive, std::initializer_list<Operand> operands,
                      DType dtype);
// In the dtype that holds all of them, f32 for integers and bool.
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& x);
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b);
Tensor apply_inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b,
                       const Operand& c);

}  // namespace plait
