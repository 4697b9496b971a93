// Declaration of a primitive: all its properties in one place.
#pragma once

#include <variant>

#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/rules.h"

namespace plait {

class Operand;

// The function that users call, of the same name as its elementwise primitive.
using UnaryFunction = Tensor (*)(const Operand&);
using BinaryFunction = Tensor (*)(const Operand&, const Operand&);
using PublicFunction = std::variant<std::monostate, UnaryFunction, BinaryFunction>;

struct Declaration {
  ir::Primitive primitive;
  Rules rules = {};
  // Computes the primitive if it has no index signature and body. Backends may register faster
  // kernels.
  void (*evaluator)(KernelCall& call, const void* data) = nullptr;
  // True if the evaluator checks its operands and determines the sizes of its results itself.
  bool finds_types = false;
  // True if the evaluator makes views and copies of arrays only, so that it serves every device.
  bool serves_devices = false;
  PublicFunction function = {};
};

const ir::Primitive& declare(Declaration declaration);
PublicFunction function_of(const ir::Primitive& primitive);  // std::monostate if there is none

// Values that a derivative rule reads.
inline constexpr Reads kFirst = Reads::operand(0), kSecond = Reads::operand(1);
inline constexpr Reads kThird = Reads::operand(2), kResult = Reads::result();

}  // namespace plait
