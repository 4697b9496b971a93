// Collectives that move values between the places of a named axis.
#include <algorithm>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/communication.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {

struct AllGatherAttributes {
  std::string along = {};
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"along"};
};
struct ReduceScatterAttributes {
  std::string along = {};
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"along"};
};
struct AllToAllAttributes {
  std::string along = {};
  int64_t split = 0;
  int64_t concat = 0;
  static constexpr std::string_view kRequired[] = {"along"};
};
struct AxisShiftAttributes {
  std::string along = {};
  int64_t by = 0;
  static constexpr std::string_view kRequired[] = {"along", "by"};
};
struct AxisPermuteAttributes {
  std::string along = {};
  std::vector<Dim> sources = {};
  std::vector<Dim> targets = {};
  static constexpr std::string_view kRequired[] = {"along", "sources", "targets"};
};
struct AxisBroadcastAttributes {
  std::string along = {};
  int64_t source = 0;
  static constexpr std::string_view kRequired[] = {"along", "source"};
};

namespace {

Dim size_along(const ir::Inference& in, const std::string& axis) {
  return in.axes.find(axis)->size;
}

std::vector<Dim> dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

Shape with_dim(const Shape& shape, int64_t axis, Dim size) {
  std::vector<Dim> dims = dims_of(shape);
  dims.insert(dims.begin() + axis, size);
  return Shape(dims);
}

Shape without_dim(const Shape& shape, int64_t axis) {
  std::vector<Dim> dims = dims_of(shape);
  dims.erase(dims.begin() + axis);
  return Shape(dims);
}

void expect_place(const ir::Inference& in, const std::string& axis, Dim place) {
  const Dim size = size_along(in, axis);
  if (!place.is_number()) in.fail("place {} is not a number", place.text());
  const bool is_below = !size.is_number() || place.number() < size.number();
  if (place.number() >= 0 && is_below) return;
  throw IndexError("{}: place {} is out of range for axis `{}` of size {}", in.primitive.name,
                   place.number(), axis, size.text())
      .at(in.location);
}

// The dimension holds one value for each place.
void expect_parts(const ir::Inference& in, int64_t axis, const std::string& along) {
  expect_axis(in, axis);
  const Dim size = size_along(in, along);
  if (same(in.operands[0].shape()[static_cast<size_t>(axis)], size)) return;
  throw ShapeError("{}: dimension {} of {} must have the size {} of axis `{}`", in.primitive.name,
                   axis, in.operands[0].text(), size.text(), along)
      .at(in.location);
}

// ---- Type rules

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
  in.give(without_axes(x, axes).with_shape(
      with_dim(x.shape(), attributes.axis, size_along(in, attributes.along))));
}

void infer_reduce_scatter(ir::Inference& in) {
  const auto& attributes = in.attributes_as<ReduceScatterAttributes>();
  expect_varying(in, axis_in<ReduceScatterAttributes>(in.attributes));
  expect_parts(in, attributes.axis, attributes.along);
  const ir::Type& x = in.operands[0];
  in.give(x.without_sharding().with_shape(without_dim(x.shape(), attributes.axis)));
}

void infer_all_to_all(ir::Inference& in) {
  const auto& attributes = in.attributes_as<AllToAllAttributes>();
  expect_varying(in, axis_in<AllToAllAttributes>(in.attributes));
  expect_parts(in, attributes.split, attributes.along);
  expect_axis(in, attributes.concat);
  const ir::Type& x = in.operands[0];
  in.give(x.without_sharding().with_shape(with_dim(without_dim(x.shape(), attributes.split),
                                                   attributes.concat,
                                                   size_along(in, attributes.along))));
}

void infer_shift(ir::Inference& in) {
  expect_varying(in, axis_in<AxisShiftAttributes>(in.attributes));
  in.give(in.operands[0].without_sharding());
}

void infer_permute(ir::Inference& in) {
  const auto& attributes = in.attributes_as<AxisPermuteAttributes>();
  expect_varying(in, axis_in<AxisPermuteAttributes>(in.attributes));
  if (attributes.sources.size() != attributes.targets.size()) {
    in.fail("{} sources and {} targets", attributes.sources.size(), attributes.targets.size());
  }
  for (const auto& places : {attributes.sources, attributes.targets}) {
    std::unordered_set<int64_t> seen;
    for (const Dim place : places) {
      expect_place(in, attributes.along, place);
      if (!seen.insert(place.number()).second) in.fail("place {} occurs twice", place.number());
    }
  }
  in.give(in.operands[0].without_sharding());
}

void infer_broadcast(ir::Inference& in) {
  const auto& attributes = in.attributes_as<AxisBroadcastAttributes>();
  const ir::AxisSet axes = axis_in<AxisBroadcastAttributes>(in.attributes);
  expect_varying(in, axes);
  expect_place(in, attributes.along, Dim(attributes.source));
  in.give(without_axes(in.operands[0], axes));
}

// ---- The primitives

struct MovementTable;
const MovementTable& movements();

template <class Attributes>
Tensor moved(const ir::Primitive& primitive, const Tensor& x, Attributes attributes) {
  return apply(primitive, {x}, ir::Attributes::of(std::move(attributes)));
}

Tensor scattered_along(const Tensor& x, const std::string& axis, int64_t dimension);
Tensor exchanged_along(const Tensor& x, AllToAllAttributes attributes);
Tensor shifted_along(const Tensor& x, const std::string& axis, int64_t by);
Tensor permuted_along(const Tensor& x, AxisPermuteAttributes attributes);

std::vector<Tensor> batch_all_to_all(const ir::Primitive& primitive,
                                     const ir::Attributes& attributes,
                                     std::span<const Tensor> operands) {
  auto later = attributes.as<AllToAllAttributes>();
  ++later.split;
  ++later.concat;
  return apply_all(primitive, operands, ir::Attributes::of(std::move(later)));
}

// Each place receives the cotangent of its own part.
Tensor transpose_all_gather(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& attributes = c.attributes.as<AllGatherAttributes>();
  return take(cotangent, axis_labelled(attributes.along).index, attributes.axis);
}

// Only the value of one place was used.
Tensor transpose_broadcast(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& attributes = c.attributes.as<AxisBroadcastAttributes>();
  return where(axis_labelled(attributes.along).index == attributes.source, cotangent, 0);
}

Tensor places_of(const std::vector<Dim>& places) {
  std::vector<int64_t> numbers;
  for (const Dim place : places) numbers.push_back(place.number());
  return tensor(numbers, {static_cast<int64_t>(numbers.size())});
}

// `all` has the values of all places along its first dimension.
Tensor permute_first(const AxisPermuteAttributes& attributes, const Tensor& all) {
  const Tensor given = take(all, places_of(attributes.sources), 0);
  return zeros_like(all).at(places_of(attributes.targets)).set(given);
}

// The value of one rank, which may be another one on each.
Tensor received_from(Communicator& ranks, const Tensor& x, int64_t from) {
  return take(ranks.all_gather(x), scalar_tensor(from, DType::i64), 0);
}

struct MovementTable {
  const ir::Primitive& gather = declare_along<AllGatherAttributes>(
      "all_gather", "The values of all samples along a named axis, along a new dimension.",
      "jax.lax.all_gather", kAllDTypes, infer_all_gather,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<AllGatherAttributes>();
        return moveaxis(ranks_along(a.along).all_gather(x), 0, a.axis);
      },
      {.transposes = {{{}, transpose_all_gather}},
       .batching = {[](const auto& a, auto x, const auto& batched) {
         return batch_along<AllGatherAttributes>(movements().gather, a, x, batched);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return moveaxis(x, 0, a.template as<AllGatherAttributes>().axis);
       }}});
  const ir::Primitive& scatter = declare_along<ReduceScatterAttributes>(
      "reduce_scatter",
      "The sum along a named axis, of which each sample keeps its own part along a dimension.",
      "jax.lax.psum_scatter", kNumbers, infer_reduce_scatter,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<ReduceScatterAttributes>();
        return ranks_along(a.along).reduce_scatter(moveaxis(x, a.axis, 0));
      },
      {.transposes = {{{},
                       [](const RuleContext& c, const Tensor& cotangent, size_t) {
                         const auto& a = c.attributes.as<ReduceScatterAttributes>();
                         return vary_along(gather_along(cotangent, a.along, a.axis),
                                           axis_in<ReduceScatterAttributes>(c.attributes));
                       }}},
       .batching = {[](const auto& a, auto x, const auto& batched) {
         return batch_along<ReduceScatterAttributes>(movements().scatter, a, x, batched);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return moveaxis(sum_of_places(x), a.template as<ReduceScatterAttributes>().axis, 0);
       }}});
  const ir::Primitive& exchange = declare_along<AllToAllAttributes>(
      "all_to_all",
      "Gives each sample along a named axis one part along a dimension; the parts that a sample "
      "receives are stacked along another.",
      "jax.lax.all_to_all", kAllDTypes, infer_all_to_all,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<AllToAllAttributes>();
        return moveaxis(ranks_along(a.along).all_to_all(moveaxis(x, a.split, 0)), 0, a.concat);
      },
      {.transposes = {{{},
                       [](const RuleContext& c, const Tensor& cotangent, size_t) {
                         const auto& a = c.attributes.as<AllToAllAttributes>();
                         return exchanged_along(cotangent, {a.along, a.concat, a.split});
                       }}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return batch_all_to_all(movements().exchange, a, x);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         const auto& exchange = a.template as<AllToAllAttributes>();
         return moveaxis(moveaxis(x, exchange.split + 1, 0), 1, exchange.concat + 1);
       }}});
  const ir::Primitive& shift = declare_along<AxisShiftAttributes>(
      "axis_shift",
      "The value of the sample that is a given number of positions before, cyclically.",
      "jax.lax.ppermute", kAllDTypes, infer_shift,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<AxisShiftAttributes>();
        Communicator& ranks = ranks_along(a.along);
        const int64_t from = ((ranks.place() - a.by) % ranks.size() + ranks.size()) % ranks.size();
        return received_from(ranks, x, from);
      },
      {.transposes = {{{},
                       [](const RuleContext& c, const Tensor& cotangent, size_t) {
                         const auto& a = c.attributes.as<AxisShiftAttributes>();
                         return shifted_along(cotangent, a.along, -a.by);
                       }}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(movements().shift, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return roll(x, a.template as<AxisShiftAttributes>().by, 0);
       }}});
  const ir::Primitive& permute = declare_along<AxisPermuteAttributes>(
      "axis_permute",
      "The value of another sample, for pairs of samples along a named axis; zeros where no pair "
      "leads.",
      "jax.lax.ppermute", kAllButKeys, infer_permute,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<AxisPermuteAttributes>();
        Communicator& ranks = ranks_along(a.along);
        const auto pair = std::ranges::find_if(
            a.targets, [&](Dim target) { return target.number() == ranks.place(); });
        const bool receives = pair != a.targets.end();
        const auto from =
            receives ? a.sources[static_cast<size_t>(pair - a.targets.begin())] : Dim(0);
        const Tensor received = received_from(ranks, x, from.number());
        return receives ? received : zeros_like(x);
      },
      {.transposes = {{{},
                       [](const RuleContext& c, const Tensor& cotangent, size_t) {
                         const auto& a = c.attributes.as<AxisPermuteAttributes>();
                         return permuted_along(cotangent, {a.along, a.targets, a.sources});
                       }}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(movements().permute, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return permute_first(a.template as<AxisPermuteAttributes>(), x);
       }}});
  const ir::Primitive& broadcast = declare_along<AxisBroadcastAttributes>(
      "axis_broadcast", "The value of one sample along a named axis, for all.",
      "jax.lax.pbroadcast", kAllDTypes, infer_broadcast,
      [](const ir::Attributes& attributes, const Tensor& x) {
        const auto& a = attributes.as<AxisBroadcastAttributes>();
        return ranks_along(a.along).broadcast(x, a.source);
      },
      {.transposes = {{{}, transpose_broadcast}},
       .batching = {[](const auto& a, auto x, const auto&) {
         return apply_all(movements().broadcast, x, a);
       }},
       .collective = {[](const auto& a, const Tensor& x, auto) {
         return take(x, scalar_tensor(a.template as<AxisBroadcastAttributes>().source, DType::i64),
                     0);
       }}});
};
const MovementTable& movements() {
  static const MovementTable table;
  return table;
}

Tensor scattered_along(const Tensor& x, const std::string& axis, int64_t dimension) {
  return moved(movements().scatter, x, ReduceScatterAttributes{axis, dimension});
}
Tensor exchanged_along(const Tensor& x, AllToAllAttributes attributes) {
  return moved(movements().exchange, x, std::move(attributes));
}
Tensor shifted_along(const Tensor& x, const std::string& axis, int64_t by) {
  return moved(movements().shift, x, AxisShiftAttributes{axis, by});
}
Tensor permuted_along(const Tensor& x, AxisPermuteAttributes attributes) {
  return moved(movements().permute, x, std::move(attributes));
}

// ---- Dimensions that hold a part for each place

// Dimension `axis` and the next one become one.
Tensor joined_dims(const Tensor& x, int64_t axis) {
  const Shape shape = x.shape();
  std::vector<Dim> dims = dims_of(shape);
  dims[static_cast<size_t>(axis)] =
      dims[static_cast<size_t>(axis)] * dims[static_cast<size_t>(axis) + 1];
  dims.erase(dims.begin() + axis + 1);
  return reshape(x, Shape(dims));
}

// Dimension `axis` becomes the given sizes and, if `has_rest`, what is left.
Tensor divided_dim(std::string_view function, const Tensor& x, int64_t axis,
                   const std::vector<Dim>& parts, bool has_rest) {
  Dim count = 1;
  for (const Dim part : parts) count = count * part;
  const Dim whole = x.shape(axis);
  const SizeFact fits = has_rest ? SizeFact{mod(whole, count), SizeFact::equal, 0}
                                 : SizeFact{whole, SizeFact::equal, count};
  if (!sizes_hold(fits)) {
    throw ShapeError("{}: dimension {} of {} {} {}, the number of places", function, axis,
                     x.type().text(), has_rest ? "must be divisible by" : "must have the size",
                     count.text())
        .at(Location::of_caller());
  }
  std::vector<Dim> dims = dims_of(x.shape());
  dims.erase(dims.begin() + axis);
  if (has_rest) dims.insert(dims.begin() + axis, floor_div(whole, count));
  dims.insert(dims.begin() + axis, parts.begin(), parts.end());
  return reshape(x, Shape(dims));
}

std::vector<Dim> sizes_along(const std::vector<std::string>& axes) {
  std::vector<Dim> sizes;
  for (const std::string& axis : axes) sizes.push_back(axis_labelled(axis).size);
  return sizes;
}

void expect_once(std::string_view what, const std::vector<AxisPair>& pairs,
                 int64_t AxisPair::* member) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (pairs[i].*member != pairs[j].*member) continue;
      throw ValueError("axis_permute: place {} is {} twice", pairs[i].*member, what)
          .at(Location::of_caller());
    }
  }
}

}  // namespace

Tensor gather_along(const Tensor& x, const std::string& axis, int64_t dimension) {
  return moved(movements().gather, x, AllGatherAttributes{axis, dimension});
}

Tensor all_gather(const Tensor& x, const AxisNames& names, int64_t axis, bool tiled) {
  const Call call("all_gather", x);
  const std::vector<std::string> axes = names.in_order();
  const auto place = static_cast<int64_t>(axis_of(axis, x.rank() + !tiled));
  Tensor gathered = x;
  for (size_t i = axes.size(); i-- > 0;) {
    gathered = gather_along(gathered, axes[i], place);
    if (i + 1 < axes.size() || tiled) gathered = joined_dims(gathered, place);
  }
  return gathered;
}

Tensor reduce_scatter(const Tensor& x, const AxisNames& names, int64_t axis, bool tiled) {
  const Call call("reduce_scatter", x);
  const std::vector<std::string> axes = names.in_order();
  const auto place = static_cast<int64_t>(axis_of(axis, x.rank()));
  Tensor scattered = divided_dim("reduce_scatter", widened(x), place, sizes_along(axes), tiled);
  for (const std::string& each : axes) scattered = scattered_along(scattered, each, place);
  return scattered;
}

Tensor all_to_all(const Tensor& x, std::string_view name, int64_t split_axis, int64_t concat_axis,
                  bool tiled) {
  const Call call("all_to_all", x);
  const std::string label = axis_called(name).label;
  const auto from = static_cast<int64_t>(axis_of(split_axis, x.rank()));
  const auto to = static_cast<int64_t>(axis_of(concat_axis, x.rank()));
  const Tensor parts = divided_dim("all_to_all", x, from, {axis_labelled(label).size}, tiled);
  const Tensor received = exchanged_along(parts, {label, from, to});
  return tiled ? joined_dims(received, to) : received;
}

Tensor axis_shift(const Tensor& x, std::string_view name, int64_t by) {
  const Call call("axis_shift", x);
  return shifted_along(x, axis_called(name).label, by);
}

Tensor axis_permute(const Tensor& x, std::string_view name, const std::vector<AxisPair>& pairs) {
  const Call call("axis_permute", x);
  expect_once("a source", pairs, &AxisPair::from);
  expect_once("a target", pairs, &AxisPair::to);
  AxisPermuteAttributes attributes{.along = axis_called(name).label};
  for (const AxisPair& pair : pairs) {
    attributes.sources.emplace_back(pair.from);
    attributes.targets.emplace_back(pair.to);
  }
  return permuted_along(x, std::move(attributes));
}

Tensor axis_broadcast(const Tensor& x, std::string_view name, int64_t source) {
  const Call call("axis_broadcast", x);
  return moved(movements().broadcast, x, AxisBroadcastAttributes{axis_called(name).label, source});
}

void register_axis_movements() { movements(); }

}  // namespace plait
