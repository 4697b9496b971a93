// Executes the loop nest of an index signature point by point, without any optimisation: the
// definition of an operation.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/ir/index_signature.h"

namespace plait::ir {

struct LoopArray {
  std::vector<int64_t> sizes;
  std::vector<double> elements;  // row-major
};

struct LoopBody {
  FunctionRef<double(std::span<const double>)> at_point;  // from one element of each operand
  FunctionRef<double(double)> rounded;  // to the result's dtype, after each step of a reduction
};

// One result. Outside of a guarded operand the value is 0.
LoopArray run_loops(const IndexSignature& signature, std::string_view operation,
                    std::span<const LoopArray> operands, const LoopBody& body);

}  // namespace plait::ir
