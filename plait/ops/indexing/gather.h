// Rows of an array that integers name: read (gather) or written (scatter.h).
//
// Of x[B…, …] and arrays of integers [B…, P…], all alike, one for each of some axes of x: the first
// `batch` dimensions B… go together, and at each of the points B…, P… the integers name places
// along the axes. What the other dimensions hold there is a row; rows are [B…, P…, others…]. A
// negative integer counts from the end.
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

// What happens at an integer for which there is no place.
enum class Outside : uint8_t {
  fails,    // IndexError
  ignored,  // zeros are read there, and what is written there is lost
};
std::span<const std::string_view> enumerator_names(Outside);

// Of gather and of scatter.
struct GatherAttributes {
  std::vector<int64_t> axes = {};  // ascending, none of them among the batch
  int64_t batch = 0;
  Outside outside = Outside::fails;
  bool unique = false;  // whoever made the integers promises that they name each row once at most
  static constexpr std::string_view kRequired[] = {"axes"};
};

Tensor gather_rows(const Tensor& x, std::span<const Tensor> indices,
                   const GatherAttributes& attributes);
// Where x is not 0, in row-major order: coordinates i64[rank of x, k] for a size k that is found.
Tensor nonzero_places(const Tensor& x);

// ---- For what declares scatter.

// Checks the operands from `first` on and the attributes against operand 0; the shape of the rows.
Shape rows_shape(const ir::Inference& in, size_t first);
ir::Effects effects_of_places(const ir::Instruction& instruction);
// The batching of operands in which each has the batch in front: those that lack it repeat.
std::vector<Tensor> with_batch_in_front(std::span<const Tensor> operands,
                                        const std::vector<bool>& batched);
// Of the operands with one more dimension of batch in front.
GatherAttributes batched_once_more(GatherAttributes attributes);
// What `compute` gives; its errors name the user's line where they name none.
Tensor located(FunctionRef<Tensor()> compute);

void register_gather_ops();

}  // namespace plait
