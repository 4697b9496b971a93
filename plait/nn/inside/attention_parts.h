// Helpers of layers that attend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plait/nn/inside/sequence_parts.h"
#include "plait/ops/operand.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// True where query i attends to key j: offset + i ≥ j.
Tensor causal_mask(Dim queries, Dim keys, const Operand& offset = 0);

// TypeError unless a mask, if there is one, is boolean or of floating numbers.
void expect_mask(std::string_view name, const Tensor& mask);

struct Attending {
  // Each is true where attention goes, or a number to add to the scores.
  std::vector<Tensor> masks = {};
  bool is_causal = false;
  Drop drop = {};
  Tensor key = {};  // key of dropout
  bool needs_weights = false;
};
struct Attended {
  Tensor values;
  std::optional<Tensor> weights;  // after dropout, if they are needed
};
// Attends from each query [..., heads, queries, width] to the values. Keys and values may have
// fewer heads.
Attended attended(const Tensor& q, const Tensor& k, const Tensor& v, const Attending& how);

Tensor by_heads(const Tensor& x, int64_t heads);  // [..., length, heads · width] to [..., heads,
                                                  // length, width]
Tensor from_heads(const Tensor& x);               // the inverse

}  // namespace plait::nn
