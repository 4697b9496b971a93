#include "plait/ops/elementwise/assign.h"

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

Tensor& assign(const ir::Primitive& primitive, std::string_view sign, Tensor& x, const Operand& y) {
  const Call call(sign, x, y);
  const Tensor value = broadcast_to_shape(sign, value_like(sign, x, y), x.shape());
  x = apply_donating(primitive, {Tensor(), value}, x, 0);
  return x;
}

}  // namespace

Tensor& operator+=(Tensor& x, const Operand& y) { return assign(add_primitive(), "+=", x, y); }

Tensor& operator-=(Tensor& x, const Operand& y) { return assign(subtract_primitive(), "-=", x, y); }

Tensor& operator*=(Tensor& x, const Operand& y) { return assign(multiply_primitive(), "*=", x, y); }

Tensor& operator/=(Tensor& x, const Operand& y) {
  if (!is_inexact(x.dtype())) {
    throw TypeError("/=: the quotients of {} are f32, which do not fit into it", x.type().text())
        .at(Location::of_caller())
        .hint("x = floor_divide(x, y) stays with integers, x = x / y makes it f32");
  }
  return assign(divide_primitive(), "/=", x, y);
}

Tensor& operator&=(Tensor& x, const Operand& y) {
  return assign(bitwise_and_primitive(), "&=", x, y);
}

Tensor& operator|=(Tensor& x, const Operand& y) {
  return assign(bitwise_or_primitive(), "|=", x, y);
}

Tensor& operator^=(Tensor& x, const Operand& y) {
  return assign(bitwise_xor_primitive(), "^=", x, y);
}

}  // namespace plait
