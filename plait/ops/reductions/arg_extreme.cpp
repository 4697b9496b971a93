// argmax and argmin.
#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

void infer_arg_extreme(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const int64_t axis = in.attributes_as<ArgExtremeAttributes>().axis;
  expect_axis(in, axis);
  const Shape& from = in.operands[0].shape();
  Shape to;
  for (int64_t i = 0; i < static_cast<int64_t>(from.rank()); ++i) {
    if (i != axis) to.append(from.at(i));
  }
  if (same(from.at(axis), Dim(0))) {
    throw ValueError("{}: {} is empty along axis {}", in.primitive.name, in.operands[0].text(),
                     axis)
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding().with_shape(to).with_dtype(DType::i64));
}

ir::Effects effects_of_arg_extreme(const ir::Instruction& instruction) {
  const int64_t axis = instruction.attributes_as<ArgExtremeAttributes>().axis;
  return {.may_fail = !instruction.operand_type(0).shape().at(axis).is_number()};
}

struct ArgExtremeTable;
const ArgExtremeTable& arg_extreme_ops();

const ir::Primitive& arg_extreme(const char* name, const char* summary, const char* oracle,
                                 Batching batching) {
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<ArgExtremeAttributes>(),
                                .operands = ir::exactly(1),
                                .takes = kOrdered,
                                .infer = infer_arg_extreme,
                                .effects = effects_of_arg_extreme},
                  .rules = {.not_differentiable = "returns indices", .batching = batching}});
}

struct ArgExtremeTable {
  const ir::Primitive& argmax = arg_extreme(
      "argmax",
      "The index of the maximum along an axis, the first of several; that of a NaN if any.",
      "numpy.argmax", {[](const auto& a, auto operands, const auto& batched) {
        return batch_along<ArgExtremeAttributes>(arg_extreme_ops().argmax, a, operands, batched);
      }});
  const ir::Primitive& argmin = arg_extreme(
      "argmin",
      "The index of the minimum along an axis, the first of several; that of a NaN if any.",
      "numpy.argmin", {[](const auto& a, auto operands, const auto& batched) {
        return batch_along<ArgExtremeAttributes>(arg_extreme_ops().argmin, a, operands, batched);
      }});
};
const ArgExtremeTable& arg_extreme_ops() {
  static const ArgExtremeTable table;
  return table;
}

Tensor find(const ir::Primitive& primitive, const Tensor& x, std::optional<int64_t> axis,
            bool keepdims) {
  const Tensor searched = axis ? x : flatten(x);
  const int64_t at = axis ? normal_axis(*axis, x.rank()) : 0;
  const Tensor place = apply(primitive, {searched}, ir::Attributes::of(ArgExtremeAttributes{at}));
  if (!keepdims) return place;
  if (axis) return expand_dims(place, at);
  return reshape(place, Shape::of_sizes(Sizes(x.rank(), 1)));
}

}  // namespace

Tensor argmax(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const Call call("argmax", x);
  return find(arg_extreme_ops().argmax, x, axis, keepdims);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const Call call("argmin", x);
  return find(arg_extreme_ops().argmin, x, axis, keepdims);
}

const ir::Primitive& argmax_primitive() { return arg_extreme_ops().argmax; }
const ir::Primitive& argmin_primitive() { return arg_extreme_ops().argmin; }

void register_arg_extreme_ops() { arg_extreme_ops(); }

}  // namespace plait
