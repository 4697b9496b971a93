#include "plait/ops/collectives/collective.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/communication.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {

struct AllReduceAttributes {
  ir::AxisSet axes = {};
  static constexpr std::string_view kRequired[] = {"axes"};
};
struct AllReduceProductAttributes {
  std::string along = {};
  static constexpr std::string_view kRequired[] = {"along"};
};

namespace {

// ---- Reductions

ir::AxisSet axes_in(const ir::Attributes& attributes) {
  return attributes.as<AllReduceAttributes>().axes;
}

void infer_all_reduce(ir::Inference& in) {
  const ir::AxisSet& axes = in.attributes_as<AllReduceAttributes>().axes;
  expect_varying(in, axes);
  in.give(without_axes(in.operands[0], axes));
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

template <Communicator::Reduction how>
Tensor reduced_on_ranks(const ir::Attributes& attributes, const Tensor& x) {
  Tensor result = x;
  for (Communicator* ranks : ranks_along(axes_in(attributes))) {
    result = ranks->all_reduce(result, how);
  }
  return result;
}

template <Communicator::Reduction how>
const ir::Primitive& all_reduction(const char* name, const char* summary, const char* oracle,
                                   DTypeSet takes, const Rules& rules) {
  return declare_collective<AllReduceAttributes>(name, summary, oracle, takes, axes_in,
                                                 infer_all_reduce, reduced_on_ranks<how>, rules);
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

// ---- Products

void infer_product(ir::Inference& in) {
  const ir::AxisSet axes = axis_in<AllReduceProductAttributes>(in.attributes);
  expect_varying(in, axes);
  in.give(without_axes(in.operands[0], axes));
}

std::vector<Tensor> tangent_along_axis(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  const std::string& along = c.attributes.as<AllReduceProductAttributes>().along;
  return {tangent_of_product(gather_along(c.operand(0), along, 0),
                             gather_along(tangents[0], along, 0), 0)};
}

struct CollectiveTable {
  const ir::Primitive& sum = all_reduction<Communicator::Reduction::sum>(
      "all_reduce_sum", "The sum along named axes.", "jax.lax.psum", kNumbers,
      {.transposes = {{{},
                       [](const RuleContext& c, const Tensor& cotangent, size_t) {
                         return vary_along(cotangent, axes_in(c.attributes));
                       }}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(collective_ops().sum, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto axis) {
         return reduce_first(collective_ops().sum, a, axis, sum_of_places(x));
       }}});
  const ir::Primitive& maximum = all_reduction<Communicator::Reduction::maximum>(
      "all_reduce_maximum", "The maximum along named axes; NaN if any is NaN.", "jax.lax.pmax",
      kOrdered,
      {.tangents = {kFirst | kResult, tangent_of_greatest},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(collective_ops().maximum, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto axis) {
         return reduce_first(collective_ops().maximum, a, axis, plait::max(x, 0));
       }}});
  const ir::Primitive& minimum = all_reduction<Communicator::Reduction::minimum>(
      "all_reduce_minimum", "The minimum along named axes; NaN if any is NaN.", "jax.lax.pmin",
      kOrdered,
      {.tangents = {kFirst | kResult, tangent_of_greatest},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(collective_ops().minimum, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto axis) {
         return reduce_first(collective_ops().minimum, a, axis, plait::min(x, 0));
       }}});
  const ir::Primitive& product = declare_along<AllReduceProductAttributes>(
      "all_reduce_product", "The product along a named axis.", "numpy.prod", kNumbers,
      infer_product,
      [](const ir::Attributes& a, const Tensor& x) {
        return ranks_along(a.as<AllReduceProductAttributes>().along)
            .all_reduce(x, Communicator::Reduction::product);
      },
      {.tangents = {kFirst, tangent_along_axis},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(collective_ops().product, x, a);
       }},
       .collective = {[](const auto&, const Tensor& x, auto) { return product_of_places(x); }}});
};
const CollectiveTable& collective_ops() {
  static const CollectiveTable table;
  return table;
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

void expect_booleans(std::string_view function, const Tensor& x) {
  if (x.dtype() == DType::boolean) return;
  throw TypeError("{}: takes booleans, not {}", function, x.type().text())
      .at(Location::of_caller())
      .hint("compare first: x != 0");
}

}  // namespace

std::vector<std::string> AxisNames::in_order() const {
  std::vector<std::string> labels;
  for (const std::string& name : names_) {
    const std::string& label = axis_called(name).label;
    if (std::ranges::find(labels, label) != labels.end()) {
      throw ValueError("axis `{}` appears twice", name).at(Location::of_caller());
    }
    labels.push_back(label);
  }
  if (labels.empty()) throw ValueError("no axis is named").at(Location::of_caller());
  return labels;
}

ir::AxisSet AxisNames::labels() const {
  ir::AxisSet labels;
  for (const std::string& label : in_order()) labels.insert(label);
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

Tensor all_reduce_prod(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_prod", x);
  Tensor product = widened(x);
  for (const std::string& axis : names.labels()) {
    product = apply(collective_ops().product, {product},
                    ir::Attributes::of(AllReduceProductAttributes{axis}));
  }
  return product;
}

Tensor all_reduce_and(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_and", x);
  const ir::AxisSet axes = names.labels();
  expect_booleans("all_reduce_and", x);
  return reduced(collective_ops().minimum, x, axes);
}

Tensor all_reduce_or(const Tensor& x, const AxisNames& names) {
  const Call call("all_reduce_or", x);
  const ir::AxisSet axes = names.labels();
  expect_booleans("all_reduce_or", x);
  return reduced(collective_ops().maximum, x, axes);
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
  register_axis_movements();
  static const bool once = (register_vary_rules(), true);
  static_cast<void>(once);
}

}  // namespace plait
