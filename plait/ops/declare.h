// How a primitive is declared: everything about it in one place.
#pragma once

#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/rules.h"

namespace plait {

struct Declaration {
  ir::Primitive primitive;
  Rules rules = {};
  // Computes it where index signature and body do not say how; backends may register better ones.
  void (*evaluator)(KernelCall& call, const void* data) = nullptr;
  // The evaluator checks its operands and finds its results' sizes itself.
  bool finds_types = false;
};

const ir::Primitive& declare(Declaration declaration);

// What its rules read.
inline constexpr Reads kFirst = Reads::operand(0), kSecond = Reads::operand(1);
inline constexpr Reads kThird = Reads::operand(2), kResult = Reads::result();

}  // namespace plait
