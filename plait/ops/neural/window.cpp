#include "plait/ops/neural/window.h"

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/operand.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

// The shape with its last dimensions replaced.
Shape with_plane(const Shape& shape, std::span<const Dim> plane) {
  Shape result(shape.dims().first(shape.rank() - plane.size()));
  for (const Dim size : plane) result.append(size);
  return result;
}

std::span<const Dim> plane_of(const Shape& shape, size_t dimensions) {
  return shape.dims().last(dimensions);
}

void check_dimensions(const ir::Inference& in, size_t dimensions) {
  if (dimensions < 1 || dimensions > 3)
    in.fail("windows over {} dimensions, expected 1 to 3", dimensions);
  if (static_cast<size_t>(in.operands[0].rank()) >= dimensions) return;
  throw ShapeError("{}: {} has fewer than {} dimensions", in.primitive.name, in.operands[0].text(),
                   dimensions)
      .at(in.location);
}

void check_windows(const ir::Inference& in) {
  const auto& a = in.attributes_as<WindowAttributes>();
  in.expect_array(0, in.primitive.takes);
  const size_t dimensions = a.counts.size(), given = a.window.size();
  check_dimensions(in, dimensions);
  if ((given != 0 && given != dimensions) || a.strides.size() != given ||
      a.dilation.size() != given || a.padding.size() != given) {
    in.fail("the number of attributes does not match {} dimensions", dimensions);
  }
  constexpr int64_t kMost = int64_t{1} << 31;  // products of such numbers are far from overflow in
                                               // 64 bits
  for (size_t i = 0; i < given; ++i) {
    const bool is_sound = a.window[i] >= 1 && a.strides[i] >= 1 && a.dilation[i] >= 1 &&
                          a.window[i] < kMost && a.strides[i] < kMost && a.dilation[i] < kMost &&
                          a.padding[i] > -kMost && a.padding[i] < kMost;
    if (is_sound) continue;
    throw ValueError(
        "{}: a window of {}, a stride of {}, a dilation of {} or a padding of {} is out of range",
        in.primitive.name, a.window[i], a.strides[i], a.dilation[i], a.padding[i])
        .at(in.location);
  }
  for (const Dim count : a.counts) {
    if (!count.is_number() || count.number() >= 0) continue;
    throw ShapeError("{}: {} windows, expected 0 or more", in.primitive.name, count)
        .at(in.location);
  }
}

void infer_sum(ir::Inference& in) {
  check_windows(in);
  const auto& a = in.attributes_as<WindowAttributes>();
  in.give(
      in.operands[0].without_sharding().with_shape(with_plane(in.operands[0].shape(), a.counts)));
}

void infer_index(ir::Inference& in) {
  check_windows(in);
  const auto& a = in.attributes_as<WindowAttributes>();
  in.give(in.operands[0]
              .without_sharding()
              .with_dtype(DType::i64)
              .with_shape(with_plane(in.operands[0].shape(), a.counts)));
}

void infer_spread(ir::Inference& in) {
  check_windows(in);
  const auto& a = in.attributes_as<WindowAttributes>();
  const Shape& shape = in.operands[0].shape();
  if (a.sizes.size() != a.counts.size())
    in.fail("{} sizes for {} dimensions", a.sizes.size(), a.counts.size());
  const auto plane = plane_of(shape, a.counts.size());
  for (size_t i = 0; i < plane.size(); ++i) {
    if (!differ(plane[i], a.counts[i])) continue;
    throw ShapeError("window_spread: {} does not have {} windows", in.operands[0].text(),
                     Shape(a.counts).text())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding().with_shape(with_plane(shape, a.sizes)));
}

// ---- Indexing in planes

void check_planes(const ir::Inference& in) {
  const auto dimensions = static_cast<size_t>(in.attributes_as<PlaneAttributes>().dimensions);
  in.expect_array(0, in.primitive.takes);
  in.expect_array(1, DType::i64);
  check_dimensions(in, dimensions);
  const Shape &x = in.operands[0].shape(), &index = in.operands[1].shape();
  bool fits = x.rank() == index.rank();
  for (size_t i = 0; fits && i + dimensions < x.rank(); ++i) fits = same(x[i], index[i]);
  if (fits) return;
  throw ShapeError("{}: {} and the indices {} have different planes", in.primitive.name,
                   in.operands[0].text(), in.operands[1].text())
      .at(in.location);
}

void infer_take(ir::Inference& in) {
  check_planes(in);
  in.give(in.operands[0].without_sharding().with_shape(in.operands[1].shape()));
}

void infer_put(ir::Inference& in) {
  check_planes(in);
  const auto& a = in.attributes_as<PlaneAttributes>();
  if (static_cast<int64_t>(a.sizes.size()) != a.dimensions) {
    in.fail("{} sizes for planes of {} dimensions", a.sizes.size(), a.dimensions);
  }
  if (!same(in.operands[0].shape(), in.operands[1].shape())) {
    throw ShapeError("plane_put: {} does not match the indices {}", in.operands[0].text(),
                     in.operands[1].text())
        .at(in.location);
  }
  in.give(
      in.operands[0].without_sharding().with_shape(with_plane(in.operands[0].shape(), a.sizes)));
}

Tensor transpose_window_sum(const RuleContext& c, const Tensor& cotangent, size_t);
Tensor transpose_spread(const RuleContext& c, const Tensor& cotangent, size_t);
Tensor transpose_take(const RuleContext& c, const Tensor& cotangent, size_t);
Tensor transpose_put(const RuleContext& c, const Tensor& cotangent, size_t);

// The tangent is that of the first maximum.
std::vector<Tensor> tangent_of_maximum(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[0]) return {Tensor()};
  const auto& a = c.attributes.as<WindowAttributes>();
  return {plane_take(tangents[0], window_maximum_index(c.operand(0), a), a.counts.size())};
}

// All primitives act on the last dimensions, so an additional leading dimension changes nothing.
template <const ir::Primitive& (*primitive)()>
std::vector<Tensor> batch_one(const ir::Attributes& attributes, std::span<const Tensor> operands,
                              const std::vector<bool>&) {
  return {plait::apply(primitive(), operands, attributes)};
}

template <const ir::Primitive& (*primitive)()>
std::vector<Tensor> batch_two(const ir::Attributes& attributes, std::span<const Tensor> operands,
                              const std::vector<bool>& batched) {
  std::vector<Tensor> both(operands.begin(), operands.end());
  const Dim batches = both[batched[0] ? 0 : 1].shape(0);
  for (size_t i = 0; i < both.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{batches};
    for (const Dim size : both[i].shape()) shape.append(size);
    both[i] = broadcast_to(both[i], shape);
  }
  return {plait::apply(primitive(), both, attributes)};
}

struct WindowTable {
  const ir::Primitive& sum =
      declare({.primitive = {.name = "window_sum",
                             .summary = "The sum of each window.",
                             .oracle = "numpy.sum of each window",
                             .attributes = &ir::schema_of<WindowAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kNumbers,
                             .infer = infer_sum},
               .rules = {.transposes = {{{}, transpose_window_sum}},
                         .batching = {batch_one<window_sum_primitive>}}});
  const ir::Primitive& spread = declare(
      {.primitive =
           {.name = "window_spread",
            .summary =
                "The transpose of window_sum: the sum over the windows that contain each element.",
            .oracle = "sums over the windows, written out in Python",
            .attributes = &ir::schema_of<WindowAttributes>(),
            .operands = ir::exactly(1),
            .takes = kNumbers,
            .infer = infer_spread},
       .rules = {.transposes = {{{}, transpose_spread}},
                 .batching = {batch_one<window_spread_primitive>}}});
  const ir::Primitive& maximum = declare(
      {.primitive =
           {.name = "window_maximum",
            .summary =
                "The maximum of each window, NaN if any is NaN; the least number for an empty one.",
            .oracle = "numpy.max of each window",
            .attributes = &ir::schema_of<WindowAttributes>(),
            .operands = ir::exactly(1),
            .takes = kOrdered,
            .infer = infer_sum},
       .rules = {.tangents = {Reads::operand(0), tangent_of_maximum},
                 .batching = {batch_one<window_maximum_primitive>}}});
  const ir::Primitive& index =
      declare({.primitive = {.name = "window_maximum_index",
                             .summary = "The index in its plane of the maximum of each window, the "
                                        "first of several; −1 for an empty one.",
                             .oracle = "numpy.argmax of each window",
                             .attributes = &ir::schema_of<WindowAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kOrdered,
                             .infer = infer_index},
               .rules = {.not_differentiable = "returns integers",
                         .batching = {batch_one<window_maximum_index_primitive>}}});
  const ir::Primitive& take =
      declare({.primitive = {.name = "plane_take",
                             .summary = "x[p, index[p, i]], where indices count the elements of "
                                        "the last `dimensions`; 0 for −1.",
                             .oracle = "numpy.take_along_axis",
                             .attributes = &ir::schema_of<PlaneAttributes>(),
                             .operands = ir::exactly(2),
                             .takes = kAllButKeys,
                             .infer = infer_take},
               .rules = {.transposes = {{Reads::operand(1), transpose_take}, {}},
                         .batching = {batch_two<plane_take_primitive>}}});
  const ir::Primitive& put = declare(
      {.primitive = {.name = "plane_put",
                     .summary = "The transpose of plane_take: x[p, i] is added at index[p, i].",
                     .oracle = "sums, written out in Python",
                     .attributes = &ir::schema_of<PlaneAttributes>(),
                     .operands = ir::exactly(2),
                     .takes = kNumbers,
                     .infer = infer_put},
       .rules = {.transposes = {{Reads::operand(1), transpose_put}, {}},
                 .batching = {batch_two<plane_put_primitive>}}});
};
const WindowTable& window_ops() {
  static const WindowTable table;
  return table;
}

std::vector<Dim> sizes_of_plane(const Shape& shape, size_t dimensions) {
  const auto plane = plane_of(shape, dimensions);
  return {plane.begin(), plane.end()};
}

Tensor transpose_window_sum(const RuleContext& c, const Tensor& cotangent, size_t) {
  WindowAttributes a = c.attributes.as<WindowAttributes>();
  a.sizes = sizes_of_plane(c.operand_types[0].shape(), a.counts.size());
  return plait::apply(window_ops().spread, {cotangent}, ir::Attributes::of(std::move(a)));
}

Tensor transpose_spread(const RuleContext& c, const Tensor& cotangent, size_t) {
  WindowAttributes a = c.attributes.as<WindowAttributes>();
  a.sizes.clear();
  return window_sum(cotangent, a);
}

Tensor transpose_take(const RuleContext& c, const Tensor& cotangent, size_t) {
  PlaneAttributes a = c.attributes.as<PlaneAttributes>();
  a.sizes = sizes_of_plane(c.operand_types[0].shape(), static_cast<size_t>(a.dimensions));
  return plait::apply(window_ops().put, {cotangent, c.operand(1)},
                      ir::Attributes::of(std::move(a)));
}

Tensor transpose_put(const RuleContext& c, const Tensor& cotangent, size_t) {
  const int64_t dimensions = c.attributes.as<PlaneAttributes>().dimensions;
  return plait::apply(window_ops().take, {cotangent, c.operand(1)},
                      ir::Attributes::of(PlaneAttributes{dimensions}));
}

}  // namespace

Tensor window_sum(const Tensor& x, const WindowAttributes& attributes) {
  return plait::apply(window_ops().sum, {x}, ir::Attributes::of(attributes));
}

Tensor window_maximum(const Tensor& x, const WindowAttributes& attributes) {
  return plait::apply(window_ops().maximum, {x}, ir::Attributes::of(attributes));
}

Tensor window_maximum_index(const Tensor& x, const WindowAttributes& attributes) {
  return plait::apply(window_ops().index, {x}, ir::Attributes::of(attributes));
}

Tensor plane_take(const Tensor& x, const Tensor& index, size_t dimensions) {
  const Shape x_shape = x.shape(), index_shape = index.shape();
  const auto outer = [&](const Shape& shape) {
    return Shape(shape.dims().first(shape.rank() - dimensions));
  };
  const Shape planes = common_shape("plane_take", outer(x_shape), outer(index_shape));
  const auto with_planes = [&](const Shape& shape) {
    Shape whole = planes;
    for (const Dim size : plane_of(shape, dimensions)) whole.append(size);
    return whole;
  };
  return plait::apply(
      window_ops().take,
      {broadcast_to(x, with_planes(x_shape)), broadcast_to(index, with_planes(index_shape))},
      ir::Attributes::of(PlaneAttributes{static_cast<int64_t>(dimensions)}));
}

const ir::Primitive& window_sum_primitive() { return window_ops().sum; }
const ir::Primitive& window_spread_primitive() { return window_ops().spread; }
const ir::Primitive& window_maximum_primitive() { return window_ops().maximum; }
const ir::Primitive& window_maximum_index_primitive() { return window_ops().index; }
const ir::Primitive& plane_take_primitive() { return window_ops().take; }
const ir::Primitive& plane_put_primitive() { return window_ops().put; }

void register_window_ops() { window_ops(); }

}  // namespace plait
