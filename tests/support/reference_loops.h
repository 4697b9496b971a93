// The loops that an index signature describes, one point after another: what an operation means,
// with nothing in it that could be fast or clever.
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

// One result. An element outside a guarded operand counts as 0.
LoopArray run_loops(const IndexSignature& signature, std::string_view operation,
                    std::span<const LoopArray> operands, const LoopBody& body);

}  // namespace plait::ir
