// Rows of an array that integer arrays select: read by gather, written by scatter.h.
//
// The operands are x[B…, …] and, for each of some axes of x, an array of integers [B…, P…], all of
// the same shape. B… are the first `batch` dimensions, which x and the integers share. At each
// point (B…, P…) the integers are the indices along these axes. The elements of x along its other
// dimensions at these indices are a row; all rows together have shape [B…, P…, others…]. A negative
// integer counts from the end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/ir/effects.h"
#include "plait/tensor/tensor.h"

namespace plait {

namespace ir {
class Inference;
class Instruction;
}  // namespace ir

// Handling of integers that are out of range.
enum class Outside : uint8_t {
  fails,    // IndexError
  ignored,  // reads zeros there, and drops updates
};
std::span<const std::string_view> enumerator_names(Outside);

// Attributes of gather and scatter.
struct GatherAttributes {
  std::vector<int64_t> axes = {};  // ascending, none of them a batch dimension
  int64_t batch = 0;
  Outside outside = Outside::fails;
  bool unique = false;  // promise of the caller that no two points name the same row
  static constexpr std::string_view kRequired[] = {"axes"};
};

Tensor gather_rows(const Tensor& x, std::span<const Tensor> indices,
                   const GatherAttributes& attributes);
// The indices of the nonzero elements in row-major order: i64[rank of x, k], where k is a
// data-dependent size.
Tensor nonzero_places(const Tensor& x);

// ---- For the declaration of scatter.

// Checks the attributes and the operands from `first` on against operand 0, and returns the shape
// of the rows.
Shape rows_shape(const ir::Inference& in, size_t first);
ir::Effects effects_of_places(const ir::Instruction& instruction);
// Operands with the batch dimension in front; those that are not batched are repeated along it.
std::vector<Tensor> with_batch_in_front(std::span<const Tensor> operands,
                                        const std::vector<bool>& batched);
// The attributes after one more batch dimension in front of the operands.
GatherAttributes batched_once_more(GatherAttributes attributes);
// Calls `compute`; errors without a location get the location of the user's call.
Tensor located(FunctionRef<Tensor()> compute);

void register_gather_ops();

}  // namespace plait
