#include "plait/ops/collective.h"

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {

struct AllReduceAttributes {
  ir::AxisSet axes = {};
  static constexpr std::string_view kRequired[] = {"axes"};
};
struct AllGatherAttributes {
  std::string along = {};
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"along"};
};
struct AxisShiftAttributes {
  std::string along = {};
  int64_t by = 0;
  static constexpr std::string_view kRequired[] = {"along", "by"};
};

namespace {

void expect_varying(const ir::Inference& in, const ir::AxisSet& axes) {
  in.expect_array(0, in.primitive.takes);
  for (const std::string& axis : axes) {
    if (in.axes.find(axis) == nullptr) in.fail("the function has no axis `{}`", axis);
  }
  if (axes.empty()) in.fail("no axis is named");
  if (in.operands[0].varying().contains(axes)) return;
  in.fail("{} does not vary along {}", in.operands[0].text(), axes.text());
}

ir::Type without(const ir::Type& type, const ir::AxisSet& axes) {
  ir::AxisSet rest = type.varying();
  for (const std::string& axis : axes) rest.erase(axis);
  return type.without_sharding().with_varying(rest);
}

template <class Attributes>
ir::AxisSet axis_in(const ir::Attributes& attributes) {
  return {std::string_view(attributes.as<Attributes>().along)};
}

// ---- Reductions

ir::AxisSet axes_in(const ir::Attributes& attributes) {
  return attributes.as<AllReduceAttributes>().axes;
}

void infer_all_reduce(ir::Inference& in) {
  const ir::AxisSet& axes = in.attributes_as<AllReduceAttributes>().axes;
  expect_varying(in, axes);
  in.give(without(in.operands[0], axes));
}

Tensor reduced(const ir::Primitive& primitive, const Tensor& x, const ir::AxisSet& axes) {
  return apply(primitive, {x}, ir::Attributes::of(AllReduceAttributes{axes}));
}

// Reduces one named axis as the first dimension, then the others.
Tensor reduce_first(const ir::Primitive& primitive, const ir::Attributes& attributes,
                    std::string_view axis, const Tensor& along_first) {
  ir::AxisSet others = axes_in(attributes);
  others.erase(axis);
  return others.empty() ? along_first : reduced(primitive, along_first, others);
}

const ir::Primitive& all_reduction(const char* name, const char* summary, const char* oracle,
                                   DTypeSet takes, const Rules& rules) {
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<AllReduceAttributes>(),
                                .operands = ir::exactly(1),
                                .takes = takes,
                                .infer = infer_all_reduce,
                                .infers_axes = true,
                                .communicates = axes_in,
                                .effects =
                                    [](const ir::Instruction& instruction) {
                                      return ir::Effects{.collective =
                                                             axes_in(instruction.attributes())};
                                    }},
                  .rules = rules});
}

struct CollectiveTable;
const CollectiveTable& collective_ops();

// The tangent is the mean over all that are equal to the extreme.
std::vector<Tensor> tangent_of_greatest(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  const ir::AxisSet axes = axes_in(c.attributes);
  const Tensor is_extreme = c.operand(0) == c.result();
  const Tensor count = sum_along(astype(is_extreme, tangents[0].dtype()), axes);
  return {sum_along(where(is_extreme, tangents[0], 0), axes) / count};
}

// ---- Gathering and shifting

void infer_all_gather(ir::Inference& in) {
  const auto& attributes = in.attributes_as<AllGatherAttributes>();
  const ir::AxisSet axes = axis_in<AllGatherAttributes>(in.attributes);
  expect_varying(in, axes);
  const ir::Type& x = in.operands[0];
  if (attributes.axis < 0 || attributes.axis > x.rank()) {
    throw IndexError("all_gather: axis {} is out of range for a new dimension of {}",
                     attributes.axis, x.text())
        .at(in.location);
  }
  Shape shape;
  for (int64_t i = 0; i <= x.rank(); ++i) {
    if (i == attributes.axis) shape.append(in.axes.find(attributes.along)->size);
    if (i < x.rank()) shape.append(x.shape()[static_cast<size_t>(i)]);
  }
  in.give(without(x, axes).with_shape(shape));
}

// Each index receives the cotangent of its own part.
Tensor transpose_all_gather(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& attributes = c.attributes.as<AllGatherAttributes>();
  return take(cotangent, axis_labelled(attributes.along).index, attributes.axis);
}

void infer_shift(ir::Inference& in) {
  expect_varying(in, axis_in<AxisShiftAttributes>(in.attributes));
  in.give(in.operands[0].without_sharding());
}

Tensor shifted_along(const Tensor& x, const std::string& axis, int64_t by);

Tensor transpose_shift(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& attributes = c.attributes.as<AxisShiftAttributes>();
  return shifted_along(cotangent, attributes.along, -attributes.by);
}

template <class Attributes>
const ir::Primitive& movement(const char* name, const char* summary, const char* oracle,
                              void (*infer)(ir::Inference&), const Rules& rules) {
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<Attributes>(),
                                .operands = ir::exactly(1),
                                .infer = infer,
                                .infers_axes = true,
                                .communicates = axis_in<Attributes>,
                                .effects =
                                    [](const ir::Instruction& instruction) {
                                      return ir::Effects{.collective = axis_in<Attributes>(
                                                             instruction.attributes())};
                                    }},
                  .rules = rules});
}

struct CollectiveTable {
  const ir::Primitive& sum =
      all_reduction("all_reduce_sum", "The sum along named axes.", "jax.lax.psum", kNumbers,
                    {.transposes = {{{},
                                     [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                       return vary_along(cotangent, axes_in(c.attributes));
                                     }}},
                     .batching = {[](const auto& a, auto x, const auto&) {
                       return apply_all(collective_ops().sum, x, a);
                     }},
                     .collective = {[](const auto& a, const Tensor& x, auto axis) {
                       return reduce_first(collective_ops().sum, a, axis, plait::sum(x, 0));
                     }}});
  const ir::Primitive& maximum =
      all_reduction("all_reduce_maximum", "The maximum along named axes; NaN if any is NaN.",
                    "jax.lax.pmax", kOrdered,
                    {.tangents = {kFirst | kResult, tangent_of_greatest},
                     .batching = {[](const auto& a, auto x, const auto&) {
                       return apply_all(collective_ops().maximum, x, a);
                     }},
                     .collective = {[](const auto& a, const Tensor& x, auto axis) {
                       return reduce_first(collective_ops().maximum, a, axis, plait::max(x, 0));
                     }}});
  const ir::Primitive& minimum =
      all_reduction("all_reduce_minimum", "The minimum along named axes; NaN if any is NaN.",
                    "jax.lax.pmin", kOrdered,
                    {.tangents = {kFirst | kResult, tangent_of_greatest},
                     .batching = {[](const auto& a, auto x, const auto&) {
                       return apply_all(collective_ops().minimum, x, a);
                     }},
                     .collective = {[](const auto& a, const Tensor& x, auto axis) {
                       return reduce_first(collective_ops().minimum, a, axis, plait::min(x, 0));
                     }}});
  const ir::Primitive& gather = movement<AllGatherAttributes>(
      "all_gather", "The values of all samples along a named axis, along a new dimension.",
      "jax.lax.all_gather", infer_all_gather,
      {.transposes = {{{}, transpose_all_gather}},
       .batching = {[](const auto& a, auto x, const auto& batched) {
         return batch_along<AllGatherAttributes>(collective_ops().gather, a, x, batched);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return moveaxis(x, 0, a.template as<AllGatherAttributes>().axis);
       }}});
  const ir::Primitive& shift = movement<AxisShiftAttributes>(
      "axis_shift",
      "The value of the sample that is a given number of positions before, cyclically.",
      "jax.lax.ppermute", infer_shift,
      {.transposes = {{{}, transpose_shift}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(collective_ops().shift, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return roll(x, a.template as<AxisShiftAttributes>().by, 0);
       }}});
};
const CollectiveTable& collective_ops() {
  static const CollectiveTable table;
  return table;
}

Tensor shifted_along(const Tensor& x, const std::string& axis, int64_t by) {
  return apply(collective_ops().shift, {x}, ir::Attributes::of(AxisShiftAttributes{axis, by}));
}

// ---- vary: no communication, but its transpose is a sum.

void register_vary_rules() {
  const auto axes_of_vary = [](const ir::Attributes& attributes) -> const ir::AxisSet& {
    return attributes.as<ir::VaryAttributes>().axes;
  };
  static const auto axes = axes_of_vary;
  register_rules(ir::primitive(ir::Structure::vary),
                 {.transposes = {{{}, [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                    return sum_along(cotangent, axes(c.attributes));
                                  }}}});
}

}  // namespace

ir::AxisSet AxisNames::labels() const {
  ir::AxisSet labels;
  for (const std::string& name : names_) {
    const std::string& label = axis_called(name).label;
    if (labels.contains(label)) {
      throw ValueError("axis `{}` appears twice", name).at(Location::of_caller());
    }
    labels.insert(label);
  }
  if (labels.empty()) throw ValueError("no axis is named").at(Location::of_caller());
  return labels;
}

Tensor axis_index(std::string_view name) {
  const Call call("axis_index");
  return axis_called(name).index;
}

Dim axis_size(std::string_view name) {
  const Call call("axis_size");
  return axis_called(name).size;
}

Tensor all_reduce_sum(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_sum", x);
  return reduced(collective_ops().sum, widened(x), names.labels());
}

Tensor all_reduce_mean(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_mean", x);
  const DType dtype = inexact(x.dtype());
  // The sum may overflow a narrow float although the mean does not.
  const Tensor numbers = astype(x, size_of(dtype) < size_of(DType::f32) ? DType::f32 : dtype);
  const ir::AxisSet axes = names.labels();
  Dim count = 1;
  for (const std::string& axis : axes) count = count * axis_labelled(axis).size;
  return astype(reduced(collective_ops().sum, numbers, axes) / count, dtype);
}

Tensor all_reduce_max(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_max", x);
  return reduced(collective_ops().maximum, x, names.labels());
}

Tensor all_reduce_min(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_min", x);
  return reduced(collective_ops().minimum, x, names.labels());
}

Tensor all_gather(const Tensor& x, std::string_view name, int64_t axis) {
  const Call call("all_gather", x);
  const std::string& label = axis_called(name).label;
  const auto place = static_cast<int64_t>(axis_of(axis, x.rank() + 1));
  return apply(collective_ops().gather, {x}, ir::Attributes::of(AllGatherAttributes{label, place}));
}

Tensor axis_shift(const Tensor& x, std::string_view name, int64_t by) {
  const Call call("axis_shift", x);
  return shifted_along(x, axis_called(name).label, by);
}

Tensor vary(const Tensor& x, const AxisNames& names) {
  const Call call("vary", x);
  return vary_along(x, names.labels());
}

Tensor sum_along(const Tensor& x, const ir::AxisSet& axes) {
  return reduced(collective_ops().sum, x, axes);
}

void register_collective_ops() {
  collective_ops();
  static const bool once = (register_vary_rules(), true);
  static_cast<void>(once);
}

}  // namespace plait
