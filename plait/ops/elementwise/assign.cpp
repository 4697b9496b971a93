#include "plait/ops/elementwise/assign.h"

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

const ir::Primitive& binary(const char* name) {
  register_binary_ops();
  return ir::primitive(name);
}

Tensor& assign(const ir::Primitive& primitive, std::string_view sign, Tensor& x, const Operand& y) {
  const Call call(sign, x, y);
  const Tensor value = broadcast_to_shape(sign, value_like(sign, x, y), x.shape());
  x = apply_donating(primitive, {Tensor(), value}, x, 0);
  return x;
}

}  // namespace

Tensor& operator+=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("add");
  return assign(primitive, "+=", x, y);
}

Tensor& operator-=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("subtract");
  return assign(primitive, "-=", x, y);
}

Tensor& operator*=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("multiply");
  return assign(primitive, "*=", x, y);
}

Tensor& operator/=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("divide");
  if (!is_inexact(x.dtype())) {
    throw TypeError("/=: the quotients of {} are f32, which do not fit into it", x.type().text())
        .at(Location::of_caller())
        .hint("x = floor_divide(x, y) stays with integers, x = x / y makes it f32");
  }
  return assign(primitive, "/=", x, y);
}

Tensor& operator&=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("bitwise_and");
  return assign(primitive, "&=", x, y);
}

Tensor& operator|=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("bitwise_or");
  return assign(primitive, "|=", x, y);
}

Tensor& operator^=(Tensor& x, const Operand& y) {
  static const ir::Primitive& primitive = binary("bitwise_xor");
  return assign(primitive, "^=", x, y);
}

}  // namespace plait
