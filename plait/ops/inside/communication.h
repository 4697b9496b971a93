// Helpers of primitives that communicate along named axes.
#pragma once

#include <string>
#include <string_view>

#include "plait/ir/inference.h"
#include "plait/ir/structure.h"
#include "plait/ops/declare.h"
#include "plait/tensor/communicator.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/tensor.h"

namespace plait {

// For type rules: fails unless the operand varies along these axes, which the function has.
void expect_varying(const ir::Inference& in, const ir::AxisSet& axes);
// The type of a value that is the same at each place of the axes.
ir::Type without_axes(const ir::Type& type, const ir::AxisSet& axes);

// For attributes with a member `along`, the label of one axis.
template <class Attributes>
ir::AxisSet axis_in(const ir::Attributes& attributes) {
  return {std::string_view(attributes.as<Attributes>().along)};
}

// The value of this rank along an axis.
using OnRanks = Tensor (*)(const ir::Attributes& attributes, const Tensor& x);
// A kernel of primitives that communicate: `data` is the OnRanks.
void run_on_ranks(KernelCall& call, const void* data);

// Declares a primitive of one operand that communicates along the axes that its attributes name.
template <class Attributes>
const ir::Primitive& declare_collective(const char* name, const char* summary, const char* oracle,
                                        DTypeSet takes, ir::AxisSet (*axes)(const ir::Attributes&),
                                        void (*infer)(ir::Inference&), OnRanks on_ranks,
                                        const Rules& rules) {
  const ir::Primitive& declared = declare(
      {.primitive = {.name = name,
                     .summary = summary,
                     .oracle = oracle,
                     .attributes = &ir::schema_of<Attributes>(),
                     .operands = ir::exactly(1),
                     .takes = takes,
                     .infer = infer,
                     .infers_axes = true,
                     .communicates = axes,
                     .effects =
                         [](const ir::Instruction& instruction) {
                           return ir::Effects{.collective = instruction.primitive().communicates(
                                                  instruction.attributes())};
                         }},
       .rules = rules});
  register_kernel(declared, {.run = run_on_ranks, .data = reinterpret_cast<const void*>(on_ranks)});
  return declared;
}
// The same along one axis.
template <class Attributes>
const ir::Primitive& declare_along(const char* name, const char* summary, const char* oracle,
                                   DTypeSet takes, void (*infer)(ir::Inference&), OnRanks on_ranks,
                                   const Rules& rules) {
  return declare_collective<Attributes>(name, summary, oracle, takes, axis_in<Attributes>, infer,
                                        on_ranks, rules);
}

// The sum or the product of rows, one for each place. Of few places in their order, in which ranks
// are reduced, so that lanes give the same bits.
Tensor sum_of_places(const Tensor& rows);
Tensor product_of_places(const Tensor& rows);

// The values of all places, stacked along a new dimension.
Tensor gather_along(const Tensor& x, const std::string& axis, int64_t dimension);

void register_axis_movements();

}  // namespace plait
