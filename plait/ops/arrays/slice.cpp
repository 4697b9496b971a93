// Slices along an axis, their transpose (padding), and concatenation.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/slice_range.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {

struct SliceAttributes {
  int64_t axis = 0;
  Dim start = 0;
  Dim count = 0;
  int64_t step = 1;
  static constexpr std::string_view kRequired[] = {"axis", "start", "count"};
};
struct PadAttributes {
  int64_t axis = 0;
  Dim before = 0;
  Dim after = 0;
  int64_t step = 1;  // distance of neighbouring elements in the result
  static constexpr std::string_view kRequired[] = {"axis", "before", "after"};
};
struct AxisAttributes {
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"axis"};
};

namespace {

// ---- slice and pad

SliceRange range_of(const SliceAttributes& a) { return {a.start, a.count, a.step}; }

void infer_slice(ir::Inference& in) {
  const auto& a = in.attributes_as<SliceAttributes>();
  const Shape& from = in.array().shape();
  expect_axis(in, a.axis);
  const Dim size = from.at(a.axis);
  const SliceRange range = range_of(a);
  if (a.step == 0) {
    throw ValueError("{}: a step of 0 along axis {} of {}", in.primitive.name, a.axis,
                     in.operands[0].text())
        .at(in.location);
  }
  if (range.is_outside(size)) {
    range.refuse("slice", size, a.axis, in.operands[0].text(), in.location);
  }
  Shape to = from;
  to.set(a.axis, a.count);
  in.give(in.operands[0].without_sharding().with_shape(to));
}

Slice slice_of(int64_t start, int64_t count, int64_t step) {
  if (count == 0) return {.start = 0, .stop = 0};
  if (count == 1)
    return {.start = start, .stop = start + 1};  // the step is irrelevant, and could
                                                 // lead anywhere
  const int64_t stop = start + count * step;
  return {.start = start, .stop = stop < 0 ? std::nullopt : std::optional(stop), .step = step};
}

// The index map of an operation that moves elements along one axis only.
ir::IndexMap moved_along(const ir::Instruction& instruction, int64_t axis,
                         ir::IndexSignature::Affine place) {
  ir::IndexMap map = *ir::identity_map(instruction);
  map.dimensions[static_cast<size_t>(axis)] = std::move(place);
  return map;
}

std::optional<ir::IndexMap> slice_map(const ir::Instruction& instruction) {
  const auto& a = instruction.attributes_as<SliceAttributes>();
  return moved_along(instruction, a.axis, {{{static_cast<uint32_t>(a.axis), a.step}}, a.start});
}

void slice_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<SliceAttributes>();
  const Array& x = call.operands[0];
  const int64_t size = x.sizes()[static_cast<size_t>(a.axis)];
  const SliceRange range = range_of(a);
  if (range.is_outside(size)) {
    range.refuse("slice", size, a.axis,
                 fmt::format("{}{}", name_of(x.dtype()), text_of_sizes(x.sizes())));
  }
  call.results[0] =
      x.view(x.layout().sliced(a.axis, slice_of(a.start.number(), a.count.number(), a.step)));
}

// With concrete sizes the range was already checked.
ir::Effects slice_effects(const ir::Instruction& instruction) {
  const auto& a = instruction.attributes_as<SliceAttributes>();
  const Dim size = instruction.operand_type(0).shape().at(a.axis);
  return {.may_fail = !range_of(a).is_safe(size)};
}

// The distance from the first to the last of `count` elements, both included.
Dim extent(Dim count, int64_t step) { return step == 1 ? count : max((count - 1) * step + 1, 0); }

Dim padded_size(const PadAttributes& a, Dim size) {
  return a.before + extent(size, a.step) + a.after;
}

void check_widths(const PadAttributes& a, Location location = {}) {
  for (const Dim width : {a.before, a.after}) {
    if (!width.is_number() || width.number() >= 0) continue;
    throw ValueError("pad: {} zeros before and {} after along axis {}", a.before, a.after, a.axis)
        .at(location)
        .hint("slice removes elements");
  }
}

void infer_pad(ir::Inference& in) {
  const auto& a = in.attributes_as<PadAttributes>();
  const Shape& from = in.array().shape();
  expect_axis(in, a.axis);
  if (a.step < 1) in.fail("a step of {}", a.step);
  check_widths(a, in.location);
  Shape to = from;
  to.set(a.axis, padded_size(a, from.at(a.axis)));
  in.give(in.operands[0].without_sharding().with_shape(to));
}

std::optional<ir::IndexMap> pad_map(const ir::Instruction& instruction) {
  const auto& a = instruction.attributes_as<PadAttributes>();
  if (a.step != 1) return std::nullopt;
  auto map = moved_along(instruction, a.axis, {{{static_cast<uint32_t>(a.axis)}}, -a.before});
  map.guarded = true;
  return map;
}

void pad_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<PadAttributes>();
  check_widths(a);
  const Array& x = call.operands[0];
  const int64_t count = x.sizes()[static_cast<size_t>(a.axis)];
  call.results[0] =
      Array::filled_on(call.device, x.dtype(), call.types[0].sizes, Element::of(false));
  Array& whole = call.results[0];
  Array inside =
      whole.view(whole.layout().sliced(a.axis, slice_of(a.before.number(), count, a.step)));
  copy_elements(x, inside);
}

// Writes the cotangent to the sliced elements, zeros elsewhere.
Tensor transpose_slice(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<SliceAttributes>();
  const Dim size = c.operand_types[0].shape().at(a.axis);
  if (same(a.count, Dim(0))) return pad_zeros(cotangent, a.axis, 0, size);
  if (a.step > 0) {
    const Dim after = size - a.start - extent(a.count, a.step);
    return pad_zeros(cotangent, a.axis, a.start, after, a.step);
  }
  const Dim first = a.start + 1 - extent(a.count, -a.step);
  return pad_zeros(flip(cotangent, a.axis), a.axis, first, size - a.start - 1, -a.step);
}

Tensor transpose_pad(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<PadAttributes>();
  const Dim count = c.operand_types[0].shape().at(a.axis);
  return slice_axis(cotangent, a.axis, a.before, count, a.step);
}

// ---- concat

// The slice of the cotangent that belongs to the operand.
Tensor transpose_concat(const RuleContext& c, const Tensor& cotangent, size_t operand) {
  const int64_t axis = c.attributes.as<AxisAttributes>().axis;
  Dim start = 0;
  for (size_t i = 0; i < operand; ++i) start = start + c.operand_types[i].shape().at(axis);
  return slice_axis(cotangent, axis, start, c.operand_types[operand].shape().at(axis));
}

void infer_concat(ir::Inference& in) {
  const int64_t axis = in.attributes_as<AxisAttributes>().axis;
  Shape to = in.array().shape();
  expect_axis(in, axis);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    Shape each = in.array(i).shape();
    if (in.operands[i].rank() != in.operands[0].rank()) {
      throw ShapeError("concat: {} and {} differ in rank", in.operands[0].text(),
                       in.operands[i].text())
          .at(in.location);
    }
    const Dim size = each.at(axis);
    each.set(axis, to.at(axis));
    in.expect_alike(in.operands[0].with_shape(to), in.operands[i].with_shape(each));
    to.set(axis, to.at(axis) + size);
  }
  in.give(in.operands[0].without_sharding().with_shape(to));
}

void concat_now(KernelCall& call, const void*) {
  const int64_t axis = call.attributes.as<AxisAttributes>().axis;
  call.new_result(0);
  const Array& whole = call.results[0];
  int64_t at = 0;
  for (const Array& each : call.operands) {
    const int64_t count = each.sizes()[static_cast<size_t>(axis)];
    Array place = whole.view(whole.layout().sliced(axis, slice_of(at, count, 1)));
    copy_elements(each, place);
    at += count;
  }
}

// Decomposition: pads each operand with zeros, and selects between them by the index along the
// axis.
std::vector<Tensor> concat_decomposed(const RuleContext& c) {
  constexpr size_t kMost = 4;  // every operand costs a comparison per element
  if (c.operand_types.size() > kMost) return {};
  const int64_t axis = c.attributes.as<AxisAttributes>().axis, rank = c.operand(0).rank();
  Dim total = 0;
  for (size_t i = 0; i < c.operand_types.size(); ++i) total = total + c.operand(i).shape(axis);
  std::vector<Dim> along(static_cast<size_t>(rank - axis), Dim(1));
  along[0] = total;
  const Tensor place = reshape(iota(total), Shape(along));
  Tensor whole;
  Dim at = 0;
  for (size_t i = 0; i < c.operand_types.size(); ++i) {
    const Tensor& x = c.operand(i);
    const Dim end = at + x.shape(axis);
    const Tensor padded = pad_zeros(x, axis, at, total - end);
    // Broadcast to all elements, so that the selection is fused with the same loops.
    whole = i == 0 ? padded : where(less(broadcast_to(place, padded.shape()), at), whole, padded);
    at = end;
  }
  return {whole};
}

struct SliceTable;
const SliceTable& slice_ops();

struct SliceTable {
  const ir::Primitive& slice = declare(
      {.primitive = {.name = "slice",
                     .summary = "`count` elements along an axis: start, start + step, …",
                     .oracle = "numpy.take",
                     .attributes = &ir::schema_of<SliceAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_slice,
                     .effects = slice_effects,
                     .index_map = slice_map},
       .rules = {.transposes = {{{}, transpose_slice}},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<SliceAttributes>(slice_ops().slice, a, operands, batched);
                 }}},
       .evaluator = slice_now,
       .serves_devices = true});
  const ir::Primitive& pad = declare(
      {.primitive = {.name = "pad",
                     .summary = "Zeros before, after and (by a step above 1) between the elements.",
                     .oracle = "assignment to a slice of numpy.zeros",
                     .attributes = &ir::schema_of<PadAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_pad,
                     .index_map = pad_map},
       .rules = {.transposes = {{{}, transpose_pad}},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<PadAttributes>(slice_ops().pad, a, operands, batched);
                 }}},
       .evaluator = pad_now,
       .serves_devices = true});
  const ir::Primitive& concat = declare(
      {.primitive = {.name = "concat",
                     .summary = "The operands concatenated along an axis.",
                     .oracle = "numpy.concatenate",
                     .attributes = &ir::schema_of<AxisAttributes>(),
                     .operands = ir::at_least(1),
                     .infer = infer_concat},
       .rules = {.transposes = {{{}, transpose_concat}},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_along<AxisAttributes>(slice_ops().concat, a, operands, batched);
                 }},
                 .decomposition = concat_decomposed},
       .evaluator = concat_now,
       .serves_devices = true});
};
const SliceTable& slice_ops() {
  static const SliceTable table;
  return table;
}

// A slice bound, for a size that may be symbolic.
Dim bound(const std::optional<int64_t>& given, Dim size, Dim standard, Dim least, Dim most) {
  if (!given) return standard;
  const Dim place = *given < 0 ? size + *given : Dim(*given);
  return max(min(place, most), least);
}

}  // namespace

Tensor slice_axis(const Tensor& x, int64_t axis, Dim start, Dim count, int64_t step) {
  const Call call("slice_axis", x);
  const int64_t at = normal_axis(axis, x.rank());
  return apply(slice_ops().slice, {x}, ir::Attributes::of(SliceAttributes{at, start, count, step}));
}

Tensor pad_zeros(const Tensor& x, int64_t axis, Dim before, Dim after, int64_t step) {
  const Call call("pad_zeros", x);
  const int64_t at = normal_axis(axis, x.rank());
  for (const Dim size : {before, after}) {
    if (size.is_number() && size.number() < 0) {
      throw ValueError("pad_zeros: {} zeros along axis {} of {}", size, axis, x.type().text())
          .at(Location::of_caller());
    }
  }
  if (step < 1) {
    throw ValueError("pad_zeros: the step is {}, expected 1 or more", step)
        .at(Location::of_caller());
  }
  return apply(slice_ops().pad, {x}, ir::Attributes::of(PadAttributes{at, before, after, step}));
}

Tensor slice(const Tensor& x, int64_t axis, const Slice& range) {
  const Call call("slice", x);
  const int64_t at = normal_axis(axis, x.rank());
  const Dim size = x.shape(at);
  const int64_t step = range.step;
  if (step == 0) throw ValueError("slice: a step of 0");
  const Dim least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const Dim start = bound(range.start, size, step > 0 ? least : most, least, most);
  const Dim stop = bound(range.stop, size, step > 0 ? most : least, least, most);
  const Dim distance = step > 0 ? stop - start : start - stop;
  const Dim steps = floor_div(distance + (std::abs(step) - 1), std::abs(step));
  const Dim count = range.start || range.stop ? max(steps, Dim(0)) : steps;
  if (same(start, Dim(0)) && same(count, size) && step == 1) return x;
  return slice_axis(x, at, same(count, Dim(0)) ? Dim(0) : start, count, step);
}

Tensor flip(const Tensor& x, int64_t axis) {
  const Call call("flip", x);
  return slice(x, axis, {.step = -1});
}

Tensor concat(std::span<const Tensor> tensors, int64_t axis) {
  const Call call("concat", tensors);
  if (tensors.empty()) throw ValueError("concat: expected at least one tensor");
  std::vector<DType> dtypes;
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  const bool are_keys = std::ranges::all_of(dtypes, is_key);
  const DType dtype = are_keys ? DType::key : promote(dtypes);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(are_keys ? tensor : astype(tensor, dtype));
  return plait::apply(slice_ops().concat, parts,
                      ir::Attributes::of(AxisAttributes{normal_axis(axis, tensors[0].rank())}));
}

Tensor stack(std::span<const Tensor> tensors, int64_t axis) {
  const Call call("stack", tensors);
  if (tensors.empty()) throw ValueError("stack: expected at least one tensor");
  const int64_t at = normal_axis(axis, tensors[0].rank() + 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(expand_dims(tensor, at));
  return concat(parts, at);
}

const ir::Primitive& concat_primitive() { return slice_ops().concat; }

void register_slice_ops() { slice_ops(); }

}  // namespace plait
