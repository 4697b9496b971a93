#include "plait/ops/pick.h"

#include "plait/core/error.h"
#include "plait/ops/along.h"
#include "plait/ops/declare.h"
#include "plait/ops/shape.h"

namespace plait {
namespace {

// Whole numbers, whose sizes are those of the other operand, but perhaps along the axis.
void expect_indices(const ir::Inference& in, int64_t axis, bool same_size) {
  expect_axis(in, axis);
  in.expect_array(1, DType::i64);
  Shape values = in.operands[0].shape(), indices = in.operands[1].shape();
  if (!same_size && indices.rank() == values.rank()) values.set(axis, indices.at(axis));
  if (values == indices) return;
  throw ShapeError("{}: the sizes of the indices {} must be those of {} {} axis {}",
                   in.primitive.name, in.operands[1].text(), in.operands[0].text(),
                   same_size ? "also along" : "but along", axis)
      .at(in.location);
}

void infer_pick(ir::Inference& in) {
  in.expect_array(0, kAllDTypes);
  expect_indices(in, in.attributes_as<PickAttributes>().axis, false);
  in.give(in.operands[0].without_sharding().with_shape(in.operands[1].shape()));
}

void infer_add(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const auto& a = in.attributes_as<AddAlongAttributes>();
  expect_indices(in, a.axis, true);
  if (a.size.is_number() && a.size.number() < 0) in.fail("a size of {}", a.size);
  Shape to = in.operands[0].shape();
  to.set(a.axis, a.size);
  in.give(in.operands[0].without_sharding().with_shape(to));
}

struct Table;
const Table& ops();

struct Table {
  const ir::Primitive& pick = declare(
      {.primitive = {.name = "pick_along",
                     .summary = "The elements at the places along an axis that an array names.",
                     .attributes = &ir::schema_of<PickAttributes>(),
                     .operands = ir::exactly(2),
                     .infer = infer_pick},
       .rules = {.transposes = {{Reads::operand(1),
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   const int64_t axis = c.attributes.as<PickAttributes>().axis;
                                   return add_along(cotangent, c.operand(1), axis,
                                                    c.operand_types[0].shape().at(axis));
                                 }},
                                {}},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<PickAttributes>(ops().pick, a, operands, batched);
                 }}}});
  const ir::Primitive& add = declare(
      {.primitive = {.name = "add_along",
                     .summary = "Zeros, with values added at the places along an axis that an "
                                "array names.",
                     .attributes = &ir::schema_of<AddAlongAttributes>(),
                     .operands = ir::exactly(2),
                     .takes = kNumbers,
                     .infer = infer_add},
       .rules = {.transposes = {{Reads::operand(1),
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   const auto& a = c.attributes.as<AddAlongAttributes>();
                                   return pick_along(cotangent, c.operand(1), a.axis);
                                 }},
                                {}},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<AddAlongAttributes>(ops().add, a, operands, batched);
                 }}}});
};
const Table& ops() {
  static const Table table;
  return table;
}

Tensor as_indices(std::string_view function, const Tensor& indices) {
  if (is_integer(indices.dtype())) return astype(indices, DType::i64);
  throw TypeError("{}: the indices are {}, not whole numbers", function, indices.type().text())
      .at(Location::of_caller());
}

}  // namespace

Tensor pick_along(const Tensor& x, const Tensor& indices, int64_t axis) {
  return apply(ops().pick, {x, as_indices("pick_along", indices)},
               ir::Attributes::of(PickAttributes{normal_axis(axis, x.rank())}));
}

Tensor add_along(const Tensor& values, const Tensor& indices, int64_t axis, Dim size) {
  return apply(ops().add, {values, as_indices("add_along", indices)},
               ir::Attributes::of(AddAlongAttributes{normal_axis(axis, values.rank()), size}));
}

void register_pick_ops() { ops(); }

}  // namespace plait
