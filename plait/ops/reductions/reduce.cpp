#include "plait/ops/reductions/reduce.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/blockwise.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/apply.h"

namespace plait {

namespace {

using ir::IndexSignature;
using ir::Reduction;

// "i j k -> i k" without the axes.
IndexSignature signature_without_axes(const ir::Inference& in, Reduction reduction) {
  in.expect_array(0, in.primitive.takes);
  const auto& axes = in.attributes_as<ReduceAttributes>().axes;
  const int64_t rank = in.operands[0].rank();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0 && axes[i] < rank && (i == 0 || axes[i - 1] < axes[i])) continue;
    in.fail("[{}] are not axes of {} in ascending order", fmt::join(axes, ", "),
            in.operands[0].text());
  }
  IndexSignature signature{.reduction = reduction};
  IndexSignature::Access from, to;
  for (int64_t axis = 0; axis < rank; ++axis) {
    signature.indices.push_back(fmt::format("i{}", axis));
    from.dimensions.push_back({{{{{static_cast<uint32_t>(axis)}}}}});
    if (!std::ranges::binary_search(axes, axis)) to.dimensions.push_back(from.dimensions.back());
  }
  signature.operands = {from};
  signature.results = {to};
  return signature;
}

std::vector<Tensor> batch_reduction(const ir::Primitive& primitive,
                                    const ir::Attributes& attributes,
                                    std::span<const Tensor> operands) {
  ReduceAttributes later = attributes.as<ReduceAttributes>();
  for (int64_t& axis : later.axes) ++axis;
  return apply_all(primitive, operands, ir::Attributes::of(std::move(later)));
}

ir::Effects effects_of_extreme(const ir::Instruction& instruction) {
  return {.may_fail = instruction.attributes_as<ReduceAttributes>().needs_some};
}

const ir::ScalarBody kItself = {
    .real = [](std::span<const double> x) { return x[0]; },
    .integer = [](std::span<const int64_t> x) { return x[0]; },
    .natural = [](std::span<const uint64_t> x) { return x[0]; },
    .complex = [](std::span<const std::complex<double>> x) { return x[0]; }};
const ir::ScalarBody kSquared = {.real = [](std::span<const double> x) { return x[0] * x[0]; }};

const ir::Primitive& reduction(const char* name, const char* summary, const char* oracle,
                               DTypeSet takes, Reduction kind, Batching batching, Rules rules,
                               const ir::ScalarBody& body = kItself) {
  rules.batching = batching;
  const bool is_extreme = kind == Reduction::maximum || kind == Reduction::minimum;
  const bool adds_up = kind == Reduction::sum || kind == Reduction::product;
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<ReduceAttributes>(),
                                .operands = ir::exactly(1),
                                .takes = takes,
                                .numerics = {.precision = adds_up ? ir::Precision::wide
                                                                  : ir::Precision::given},
                                .effects = is_extreme ? effects_of_extreme : nullptr,
                                .signature =
                                    [kind](const ir::Inference& in) {
                                      return signature_without_axes(in, kind);
                                    },
                                .body = body},
                  .rules = std::move(rules)});
}

// The sizes of `shape` with 1 along the axes.
Shape with_ones(Shape shape, std::span<const int64_t> axes) {
  for (const int64_t axis : axes) shape.set(axis, 1);
  return shape;
}

Tensor transpose_sum(const RuleContext& c, const Tensor& cotangent, size_t) {
  const Shape& shape = c.operand_types[0].shape();
  const auto& axes = c.attributes.as<ReduceAttributes>().axes;
  return broadcast_to(reshape(cotangent, with_ones(shape, axes)), shape);
}

std::vector<Tensor> tangent_of_squares(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  return {plait::sum(c.operand(0) * tangents[0], c.attributes.as<ReduceAttributes>().axes) * 2};
}

std::vector<Tensor> sum_of_squares_decomposed(const RuleContext& c) {
  return {plait::sum(square(c.operand(0)), c.attributes.as<ReduceAttributes>().axes)};
}

// The tangent is the mean over all that are equal to the extreme.
std::vector<Tensor> tangent_of_extreme(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  const auto& axes = c.attributes.as<ReduceAttributes>().axes;
  const Tensor& x = c.operand(0);
  const Tensor is_extreme = x == reshape(c.result(), with_ones(x.shape(), axes));
  const Tensor count = plait::sum(astype(is_extreme, tangents[0].dtype()), axes);
  return {plait::sum(where(is_extreme, tangents[0], 0), axes) / count};
}

// Moves the axes to the end, and merges them.
Tensor with_joined_axes(const Tensor& x, std::span<const int64_t> axes) {
  std::vector<int64_t> order;
  Shape shape;
  Dim count = 1;
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
    if (std::ranges::binary_search(axes, axis)) {
      count = count * x.shape(axis);
    } else {
      order.push_back(axis);
      shape.append(x.shape(axis));
    }
  }
  order.insert(order.end(), axes.begin(), axes.end());
  shape.append(count);
  return reshape(permute_dims(x, order), shape);
}

std::vector<Tensor> tangent_of_reduced_product(const RuleContext& c,
                                               std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  const auto& axes = c.attributes.as<ReduceAttributes>().axes;
  return {tangent_of_product(with_joined_axes(c.operand(0), axes),
                             with_joined_axes(tangents[0], axes), -1)};
}

struct ReduceTable;
const ReduceTable& reduce_ops();

struct ReduceTable {
  const ir::Primitive& sum = reduction(
      "reduce_sum", "The sum along the axes; 0 for no elements.", "numpy.sum", kNumbers,
      Reduction::sum,
      {[](const auto& a, auto x, const auto&) { return batch_reduction(reduce_ops().sum, a, x); }},
      {.transposes = {{{}, transpose_sum}}});
  const ir::Primitive& sum_of_squares =
      reduction("reduce_squares", "The sum of the squares along the axes; 0 for no elements.",
                "numpy.sum of numpy.square", kFloatings, Reduction::sum,
                {[](const auto& a, auto x, const auto&) {
                  return batch_reduction(reduce_ops().sum_of_squares, a, x);
                }},
                {.tangents = {Reads::operand(0), tangent_of_squares},
                 .decomposition = sum_of_squares_decomposed},
                kSquared);
  const ir::Primitive& product =
      reduction("reduce_product", "The product along the axes; 1 for no elements.", "numpy.prod",
                kNumbers, Reduction::product, {[](const auto& a, auto x, const auto&) {
                  return batch_reduction(reduce_ops().product, a, x);
                }},
                {.tangents = {Reads::operand(0), tangent_of_reduced_product}});
  const ir::Primitive& maximum =
      reduction("reduce_maximum", "The maximum along the axes; NaN if any is NaN.", "numpy.max",
                kOrdered, Reduction::maximum, {[](const auto& a, auto x, const auto&) {
                  return batch_reduction(reduce_ops().maximum, a, x);
                }},
                {.tangents = {kFirst | kResult, tangent_of_extreme}});
  const ir::Primitive& minimum =
      reduction("reduce_minimum", "The minimum along the axes; NaN if any is NaN.", "numpy.min",
                kOrdered, Reduction::minimum, {[](const auto& a, auto x, const auto&) {
                  return batch_reduction(reduce_ops().minimum, a, x);
                }},
                {.tangents = {kFirst | kResult, tangent_of_extreme}});
  const ir::Primitive& all = reduction(
      "reduce_all", "Whether all elements are true; true for no elements.", "numpy.all", kBoolean,
      Reduction::all,
      {[](const auto& a, auto x, const auto&) { return batch_reduction(reduce_ops().all, a, x); }},
      {.not_differentiable = "returns booleans"});
  const ir::Primitive& any = reduction(
      "reduce_any", "Whether any element is true; false for no elements.", "numpy.any", kBoolean,
      Reduction::any,
      {[](const auto& a, auto x, const auto&) { return batch_reduction(reduce_ops().any, a, x); }},
      {.not_differentiable = "returns booleans"});
};
const ReduceTable& reduce_ops() {
  static const ReduceTable table;
  return table;
}

Tensor reduce(const ir::Primitive& primitive, const Tensor& x, const Axes& given, bool keepdims,
              bool needs_some = false) {
  const std::vector<int64_t> axes = given.within(x.rank());
  const Tensor reduced =
      apply(primitive, {x}, ir::Attributes::of(ReduceAttributes{axes, needs_some}));
  return keepdims ? reshape(reduced, with_ones(x.shape(), axes)) : reduced;
}

// Throws for empty axes: the maximum and minimum of no elements do not exist.
Tensor extreme(const ir::Primitive& primitive, std::string_view function, const Tensor& x,
               const Axes& axes, bool keepdims) {
  if (is_complex(x.dtype())) {
    throw TypeError("{}: {}: complex numbers are not ordered", function, x.type().text())
        .at(Location::of_caller())
        .hint("absolute(x) and real(x) are");
  }
  bool is_known = true;
  for (const int64_t axis : axes.within(x.rank())) {
    const Dim size = x.shape(axis);
    is_known = is_known && size.is_number();
    if (same(size, Dim(0))) {
      throw ValueError("{}: {} is empty along axis {}", function, x.type().text(), axis);
    }
  }
  return reduce(primitive, x, axes, keepdims, !is_known);
}

}  // namespace

std::optional<ir::Reduction> reduction_of(const ir::Primitive& primitive) {
  const ReduceTable& ops = reduce_ops();
  if (&primitive == &ops.sum) return Reduction::sum;
  if (&primitive == &ops.product) return Reduction::product;
  if (&primitive == &ops.maximum) return Reduction::maximum;
  if (&primitive == &ops.minimum) return Reduction::minimum;
  if (&primitive == &ops.all) return Reduction::all;
  if (&primitive == &ops.any) return Reduction::any;
  return std::nullopt;
}

std::vector<int64_t> Axes::within(size_t rank) const {
  std::vector<int64_t> axes(is_all_ ? rank : 0);
  std::iota(axes.begin(), axes.end(), 0);
  for (const int64_t axis : axes_) axes.push_back(static_cast<int64_t>(axis_of(axis, rank)));
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  if (twice != axes.end()) throw ValueError("axis {} appears twice", *twice);
  return axes;
}

Tensor widened(const Tensor& x) {
  const Call call("widened", x);
  if (is_boolean(x.dtype())) return astype(x, DType::i64);
  if (!is_integer(x.dtype())) return x;
  return astype(x, is_signed(x.dtype()) ? DType::i64 : DType::u64);
}

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("sum", x);
  const auto total = [](const Tensor& part, const Axes& along) {
    return reduce(reduce_ops().sum, widened(part), along, false);
  };
  const bool is_wide = !is_integer(x.dtype()) && !is_boolean(x.dtype());
  if (is_wide || size_of(x.dtype()) == 8) return reduce(reduce_ops().sum, x, axes, keepdims);
  return reduce_blockwise(x, axes, keepdims, total, total);
}
Tensor sum_of_squares(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("sum_of_squares", x);
  if (is_floating(x.dtype())) return reduce(reduce_ops().sum_of_squares, x, axes, keepdims);
  if (is_complex(x.dtype())) {
    return sum_of_squares(real(x), axes, keepdims) + sum_of_squares(imag(x), axes, keepdims);
  }
  return sum(square(widened(x)), axes, keepdims);
}
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("prod", x);
  return reduce(reduce_ops().product, widened(x), axes, keepdims);
}
Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("max", x);
  return extreme(reduce_ops().maximum, "max", x, axes, keepdims);
}
Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("min", x);
  return extreme(reduce_ops().minimum, "min", x, axes, keepdims);
}
Tensor max_or_lowest(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(reduce_ops().maximum, x, axes, keepdims);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("all", x);
  return reduce(reduce_ops().all, astype(x, DType::boolean), axes, keepdims);
}
Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("any", x);
  return reduce(reduce_ops().any, astype(x, DType::boolean), axes, keepdims);
}
Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("mean", x);
  const DType dtype = inexact(x.dtype());
  // The sum may overflow a narrow float although the mean does not.
  const DType wide = size_of(dtype) < size_of(DType::f32) ? DType::f32 : dtype;
  const auto total = [&](const Tensor& part, const Axes& along) {
    return reduce(reduce_ops().sum, astype(part, wide), along, false);
  };
  Dim count = 1;
  for (const int64_t axis : axes.within(x.rank())) count = count * x.shape(axis);
  const Tensor all = x.dtype() == wide ? sum(x, axes, keepdims)
                                       : reduce_blockwise(x, axes, keepdims, total, total);
  return astype(all / count, dtype);
}

const ir::Primitive& reduce_sum_primitive() { return reduce_ops().sum; }
const ir::Primitive& reduce_squares_primitive() { return reduce_ops().sum_of_squares; }
Tensor tangent_of_product(const Tensor& x, const Tensor& dx, int64_t axis) {
  const Tensor before = shifted(cumprod(x, axis), axis, false, 1);
  const Tensor behind = shifted(cumprod(x, axis, true), axis, true, 1);
  return plait::sum(dx * before * behind, axis);
}

const ir::Primitive& reduce_product_primitive() { return reduce_ops().product; }
const ir::Primitive& reduce_maximum_primitive() { return reduce_ops().maximum; }
const ir::Primitive& reduce_minimum_primitive() { return reduce_ops().minimum; }
const ir::Primitive& reduce_all_primitive() { return reduce_ops().all; }
const ir::Primitive& reduce_any_primitive() { return reduce_ops().any; }

void register_reduce_ops() { reduce_ops(); }

}  // namespace plait
