#include "plait/ops/shape.h"

#include <numeric>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/declare.h"
#include "plait/ops/operand.h"
#include "plait/ops/reduce.h"
#include "plait/ops/slice_range.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/trace.h"

namespace plait {

struct ConvertAttributes {
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"dtype"};
};
struct SizesAttributes {
  std::vector<Dim> sizes;
  static constexpr std::string_view kRequired[] = {"sizes"};
};
struct PermuteAttributes {
  std::vector<int64_t> axes;
  static constexpr std::string_view kRequired[] = {"axes"};
};
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
  int64_t step = 1;  // how far apart neighbours come to lie
  static constexpr std::string_view kRequired[] = {"axis", "before", "after"};
};
struct AxisAttributes {
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"axis"};
};

namespace {

using ir::IndexSignature;

Sizes numbers(std::span<const Dim> dims) {
  Sizes sizes;
  for (const Dim dim : dims) sizes.push_back(dim.number());
  return sizes;
}

const ir::Type& array_operand(const ir::Inference& in, size_t i = 0) {
  in.expect_array(i, kAllDTypes);
  return in.operands[i];
}

void expect_axis(const ir::Inference& in, int64_t axis) {
  if (axis >= 0 && axis < in.operands[0].rank()) return;
  throw IndexError("{}: axis {} of {}", in.primitive.name, axis, in.operands[0].text())
      .at(in.location);
}

// ---- convert

void infer_convert(ir::Inference& in) {
  const DType to = in.attributes_as<ConvertAttributes>().dtype;
  const ir::Type& from = array_operand(in);
  if (to != from.dtype() && (is_key(to) || is_key(from.dtype()))) {
    in.fail("{} cannot become {}: keys are not numbers", from.text(), name_of(to));
  }
  in.give(from.without_sharding().with_dtype(to));
}

void convert_now(KernelCall& call, const void*) {
  call.results[0] = call.operands[0].converted(call.attributes.as<ConvertAttributes>().dtype);
}

// ---- broadcast

void infer_broadcast(ir::Inference& in) {
  const auto& sizes = in.attributes_as<SizesAttributes>().sizes;
  const Shape& from = array_operand(in).shape();
  bool fits = from.rank() <= sizes.size();
  for (size_t i = 0; fits && i < from.rank(); ++i) {
    fits = from[i] == Dim(1) || from[i] == sizes[sizes.size() - from.rank() + i];
  }
  if (!fits) {
    throw ShapeError("broadcast: {} does not stretch to {}", in.operands[0].text(),
                     Shape(sizes).text())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding().with_shape(Shape(sizes)));
}

void broadcast_now(KernelCall& call, const void*) {
  const Array& x = call.operands[0];
  const Sizes to = numbers(call.attributes.as<SizesAttributes>().sizes);
  call.results[0] = x.view(x.layout().broadcast_to(to));
}

Tensor sum_to(const Tensor& cotangent, const Shape& shape) {
  const size_t added = cotangent.rank() - shape.rank();
  std::vector<int64_t> axes(added);
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] != cotangent.shape()[added + i]) axes.push_back(static_cast<int64_t>(added + i));
  }
  return reshape(axes.empty() ? cotangent : sum(cotangent, axes), shape);
}

// ---- reshape

void infer_reshape(ir::Inference& in) {
  const Shape to(in.attributes_as<SizesAttributes>().sizes);
  const Shape& from = array_operand(in).shape();
  if (from.element_count() != to.element_count()) {
    throw ShapeError("reshape: {} has {} elements, {} has {}", in.operands[0].text(),
                     from.element_count(), to.text(), to.element_count())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding().with_shape(to));
}

void reshape_now(KernelCall& call, const void*) {
  call.results[0] = call.operands[0].reshaped(numbers(call.attributes.as<SizesAttributes>().sizes));
}

// ---- permute

IndexSignature permute_signature(const ir::Inference& in) {
  const auto& axes = in.attributes_as<PermuteAttributes>().axes;
  IndexSignature signature;
  IndexSignature::Access from, to;
  const auto rank = static_cast<size_t>(array_operand(in).rank());
  std::vector<bool> seen(rank);
  for (const int64_t axis : axes) {
    if (axes.size() != rank || axis < 0 || axis >= static_cast<int64_t>(rank) ||
        seen[static_cast<size_t>(axis)]) {
      in.fail("[{}] is no order of the axes of {}", fmt::join(axes, ", "), in.operands[0].text());
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  if (axes.size() != rank) in.fail("needs {} axes for {}", rank, in.operands[0].text());
  for (size_t i = 0; i < rank; ++i) {
    signature.indices.push_back(fmt::format("i{}", i));
    from.dimensions.push_back({{{{{static_cast<uint32_t>(i)}}}}});
    to.dimensions.push_back({{{{{static_cast<uint32_t>(axes[i])}}}}});
  }
  signature.operands = {from};
  signature.results = {to};
  return signature;
}

void permute_now(KernelCall& call, const void*) {
  const Array& x = call.operands[0];
  call.results[0] = x.view(x.layout().permuted(call.attributes.as<PermuteAttributes>().axes));
}

std::vector<int64_t> inverse_of(std::span<const int64_t> axes) {
  std::vector<int64_t> inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

// ---- slice and pad

SliceRange range_of(const SliceAttributes& a) { return {a.start, a.count, a.step}; }

void infer_slice(ir::Inference& in) {
  const auto& a = in.attributes_as<SliceAttributes>();
  const Shape& from = array_operand(in).shape();
  expect_axis(in, a.axis);
  const SliceRange range = range_of(a);
  const Dim size = from.at(a.axis);
  if (range.is_outside(size)) {
    range.refuse("slice", size, a.axis, in.operands[0].text(), in.location);
  }
  Shape to = from;
  to.set(a.axis, a.count);
  in.give(in.operands[0].without_sharding().with_shape(to));
}

Slice slice_of(int64_t start, int64_t count, int64_t step) {
  if (count == 0) return {.start = 0, .stop = 0};
  const int64_t stop = start + count * step;
  return {.start = start, .stop = stop < 0 ? std::nullopt : std::optional(stop), .step = step};
}

void slice_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<SliceAttributes>();
  const Array& x = call.operands[0];
  const SliceRange range = range_of(a);
  const int64_t size = x.sizes()[static_cast<size_t>(a.axis)];
  if (range.is_outside(size)) {
    range.refuse("slice", size, a.axis,
                 fmt::format("{}{}", name_of(x.dtype()), text_of_sizes(x.sizes())));
  }
  call.results[0] =
      x.view(x.layout().sliced(a.axis, slice_of(a.start.number(), a.count.number(), a.step)));
}

// Within sizes that are known by number it was checked before.
ir::Effects slice_effects(const ir::Instruction& instruction) {
  const auto& a = instruction.attributes_as<SliceAttributes>();
  const Dim size = instruction.operand_type(0).shape().at(a.axis);
  return {.may_fail = !range_of(a).is_safe(size)};
}

Dim padded_size(const PadAttributes& a, Dim size) {
  const Dim spread = size == Dim(0) ? Dim(0) : (size - 1) * a.step + 1;
  return a.before + spread + a.after;
}

void infer_pad(ir::Inference& in) {
  const auto& a = in.attributes_as<PadAttributes>();
  const Shape& from = array_operand(in).shape();
  expect_axis(in, a.axis);
  if (a.step < 1) in.fail("neighbours {} apart", a.step);
  Shape to = from;
  to.set(a.axis, padded_size(a, from.at(a.axis)));
  in.give(in.operands[0].without_sharding().with_shape(to));
}

void pad_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<PadAttributes>();
  const Array& x = call.operands[0];
  const int64_t count = x.sizes()[static_cast<size_t>(a.axis)];
  call.results[0] = Array::filled(x.dtype(), call.types[0].sizes, Element::of(false));
  Array& whole = call.results[0];
  Array inside =
      whole.view(whole.layout().sliced(a.axis, slice_of(a.before.number(), count, a.step)));
  copy_elements(x, inside);
}

Tensor pad_axis(const Tensor& x, int64_t axis, Dim before, Dim after, int64_t step);

// Where a slice was taken from, zeros elsewhere.
Tensor transpose_slice(const RuleContext& c, const Tensor& cotangent, size_t);

// ---- concat

// The part of the whole that the operand was.
Tensor transpose_concat(const RuleContext& c, const Tensor& cotangent, size_t operand);

void infer_concat(ir::Inference& in) {
  const int64_t axis = in.attributes_as<AxisAttributes>().axis;
  Shape to = array_operand(in).shape();
  expect_axis(in, axis);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    Shape each = array_operand(in, i).shape();
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
  call.results[0] = Array::empty(call.types[0].dtype, call.types[0].sizes);
  const Array& whole = call.results[0];
  int64_t at = 0;
  for (const Array& each : call.operands) {
    const int64_t count = each.sizes()[static_cast<size_t>(axis)];
    Array place = whole.view(whole.layout().sliced(axis, slice_of(at, count, 1)));
    copy_elements(each, place);
    at += count;
  }
}

struct Table {
  const ir::Primitive& convert = declare(
      {.primitive = {.name = "convert",
                     .summary = "The same numbers in another dtype (core/element.h says how).",
                     .attributes = &ir::schema_of<ConvertAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_convert},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return astype(cotangent, c.operand_types[0].dtype());
                                 }}}},
       .evaluator = convert_now});
  const ir::Primitive& broadcast =
      declare({.primitive = {.name = "broadcast",
                             .summary = "Sizes of 1, and dimensions in front, repeat.",
                             .attributes = &ir::schema_of<SizesAttributes>(),
                             .operands = ir::exactly(1),
                             .infer = infer_broadcast},
               .rules = {.transposes = {{{},
                                         [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                           return sum_to(cotangent, c.operand_types[0].shape());
                                         }}}},
               .evaluator = broadcast_now,
               .finds_types = true});
  const ir::Primitive& reshape = declare(
      {.primitive = {.name = "reshape",
                     .summary = "The same elements in row-major order under other sizes.",
                     .attributes = &ir::schema_of<SizesAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_reshape},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return plait::reshape(cotangent, c.operand_types[0].shape());
                                 }}}},
       .evaluator = reshape_now,
       .finds_types = true});
  const ir::Primitive& permute =
      declare({.primitive = {.name = "permute",
                             .summary = "The dimensions in another order.",
                             .attributes = &ir::schema_of<PermuteAttributes>(),
                             .operands = ir::exactly(1),
                             .signature = permute_signature},
               .rules = {.transposes = {{{},
                                         [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                           const auto& axes =
                                               c.attributes.as<PermuteAttributes>().axes;
                                           return permute_dims(cotangent, inverse_of(axes));
                                         }}}},
               .evaluator = permute_now,
               .finds_types = true});
  const ir::Primitive& slice =
      declare({.primitive = {.name = "slice",
                             .summary = "`count` elements along an axis: start, start + step, …",
                             .attributes = &ir::schema_of<SliceAttributes>(),
                             .operands = ir::exactly(1),
                             .infer = infer_slice,
                             .effects = slice_effects},
               .rules = {.transposes = {{{}, transpose_slice}}},
               .evaluator = slice_now});
  const ir::Primitive& pad = declare(
      {.primitive = {.name = "pad",
                     .summary =
                         "Zeros before, behind and (by a step above 1) between the elements.",
                     .attributes = &ir::schema_of<PadAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_pad},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   const auto& a = c.attributes.as<PadAttributes>();
                                   const Dim count = c.operand_types[0].shape().at(a.axis);
                                   return slice_axis(cotangent, a.axis, a.before, count, a.step);
                                 }}}},
       .evaluator = pad_now});
  const ir::Primitive& concat =
      declare({.primitive = {.name = "concat",
                             .summary = "One after another along an axis.",
                             .attributes = &ir::schema_of<AxisAttributes>(),
                             .operands = ir::at_least(1),
                             .infer = infer_concat},
               .rules = {.transposes = {{{}, transpose_concat}}},
               .evaluator = concat_now});
};
const Table& ops() {
  static const Table table;
  return table;
}

Tensor pad_axis(const Tensor& x, int64_t axis, Dim before, Dim after, int64_t step) {
  return apply(ops().pad, {x}, ir::Attributes::of(PadAttributes{axis, before, after, step}));
}

Tensor transpose_slice(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<SliceAttributes>();
  const Dim size = c.operand_types[0].shape().at(a.axis);
  if (a.step > 0) {
    const Dim after = size - a.start - (a.count - 1) * a.step - 1;
    return pad_axis(cotangent, a.axis, a.start, after, a.step);
  }
  const Dim first = a.start + (a.count - 1) * a.step;
  return pad_axis(flip(cotangent, a.axis), a.axis, first, size - a.start - 1, -a.step);
}

Tensor transpose_concat(const RuleContext& c, const Tensor& cotangent, size_t operand) {
  const int64_t axis = c.attributes.as<AxisAttributes>().axis;
  Dim start = 0;
  for (size_t i = 0; i < operand; ++i) start = start + c.operand_types[i].shape().at(axis);
  return slice_axis(cotangent, axis, start, c.operand_types[operand].shape().at(axis), 1);
}

// While a trace is open, sizes that it takes to be equal to those of the shape, or to be 1, become
// so in the type. `common_shape` decides which; what it took for granted is checked when it runs.
Tensor refined_to(const Tensor& x, const Shape& shape) {
  Trace* const trace = Trace::current();
  if (trace == nullptr || x.rank() > shape.rank()) return x;
  const Shape own = x.shape();
  Shape refined = own;
  for (size_t i = 0; i < own.rank(); ++i) {
    const Dim size = own[i], wanted = shape[shape.rank() - own.rank() + i];
    if (size == wanted || size == Dim(1) || (size.is_number() && wanted.is_number())) continue;
    const bool is_one = trace->sizes().facts().prove({size, SizeFact::equal, 1}) == true;
    refined.set(static_cast<int64_t>(i), is_one ? Dim(1) : wanted);
  }
  return refined == own ? x : trace->refine(x, refined);
}

// The axis from the beginning.
int64_t normal_axis(int64_t axis, size_t rank) { return static_cast<int64_t>(axis_of(axis, rank)); }

// What a slice bound means in a size that may be symbolic.
Dim bound(const std::optional<int64_t>& given, Dim size, Dim standard, Dim least, Dim most) {
  if (!given) return standard;
  const Dim place = *given < 0 ? size + *given : Dim(*given);
  return max(min(place, most), least);
}

}  // namespace

Tensor astype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply(ops().convert, {x}, ir::Attributes::of(ConvertAttributes{dtype}));
}

Tensor broadcast_to(const Tensor& given, const Shape& shape) {
  const Tensor x = refined_to(given, shape);
  if (x.shape() == shape) return x;
  return apply(ops().broadcast, {x},
               ir::Attributes::of(SizesAttributes{{shape.begin(), shape.end()}}));
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  std::vector<Dim> sizes(shape.begin(), shape.end());
  Dim known = 1;
  Dim* open = nullptr;
  for (Dim& size : sizes) {
    if (size != Dim(-1)) {
      known = known * size;
    } else if (open == nullptr) {
      open = &size;
    } else {
      throw ValueError("reshape: two sizes of {} are -1", shape.text());
    }
  }
  if (open != nullptr) {
    const Dim count = x.shape().element_count();
    if (known == Dim(0)) {
      throw ValueError("reshape: -1 in {} could be anything: the other sizes hold no element",
                       shape.text());
    }
    *open = floor_div(count, known);
  }
  if (x.shape() == Shape(sizes)) return x;
  return apply(ops().reshape, {x}, ir::Attributes::of(SizesAttributes{std::move(sizes)}));
}

Tensor permute_dims(const Tensor& x, std::span<const int64_t> axes) {
  std::vector<int64_t> order;
  for (const int64_t axis : axes) order.push_back(normal_axis(axis, x.rank()));
  return apply(ops().permute, {x}, ir::Attributes::of(PermuteAttributes{std::move(order)}));
}

Tensor permute_dims(const Tensor& x, std::initializer_list<int64_t> axes) {
  return permute_dims(x, std::span(axes.begin(), axes.size()));
}

Tensor swapaxes(const Tensor& x, int64_t a, int64_t b) {
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis_of(a, x.rank())], order[axis_of(b, x.rank())]);
  return permute_dims(x, order);
}

Tensor matrix_transpose(const Tensor& x) {
  if (x.rank() < 2) {
    throw ShapeError("matrix_transpose: {} has fewer than two dimensions", x.type().text());
  }
  return swapaxes(x, -1, -2);
}

Tensor moveaxis(const Tensor& x, int64_t from, int64_t to) {
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  const size_t source = axis_of(from, x.rank()), target = axis_of(to, x.rank());
  order.erase(order.begin() + static_cast<ptrdiff_t>(source));
  order.insert(order.begin() + static_cast<ptrdiff_t>(target), static_cast<int64_t>(source));
  return permute_dims(x, order);
}

Tensor expand_dims(const Tensor& x, int64_t axis) {
  const Shape shape = x.shape();
  std::vector<Dim> sizes(shape.begin(), shape.end());
  sizes.insert(sizes.begin() + normal_axis(axis, x.rank() + 1), Dim(1));
  return reshape(x, Shape(sizes));
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  const Shape shape = x.shape();
  const size_t at = axis_of(axis, x.rank());
  if (shape[at] != Dim(1)) {
    throw ShapeError("squeeze: dimension {} of {} has the size {}, not 1", at, x.type().text(),
                     shape[at]);
  }
  std::vector<Dim> sizes(shape.begin(), shape.end());
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(at));
  return reshape(x, Shape(sizes));
}

Tensor flatten(const Tensor& x) { return reshape(x, {x.shape().element_count()}); }

Tensor slice_axis(const Tensor& x, int64_t axis, Dim start, Dim count, int64_t step) {
  return apply(ops().slice, {x}, ir::Attributes::of(SliceAttributes{axis, start, count, step}));
}

Tensor slice(const Tensor& x, int64_t axis, const Slice& range) {
  const int64_t at = normal_axis(axis, x.rank());
  const Dim size = x.shape(at);
  const int64_t step = range.step;
  if (step == 0) throw ValueError("slice: a step of 0");
  const Dim least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const Dim start = bound(range.start, size, step > 0 ? least : most, least, most);
  const Dim stop = bound(range.stop, size, step > 0 ? most : least, least, most);
  const Dim distance = step > 0 ? stop - start : start - stop;
  const Dim count = max(floor_div(distance + (std::abs(step) - 1), std::abs(step)), Dim(0));
  if (start == Dim(0) && count == size && step == 1) return x;
  return slice_axis(x, at, count == Dim(0) ? Dim(0) : start, count, step);
}

Tensor flip(const Tensor& x, int64_t axis) { return slice(x, axis, {.step = -1}); }

Tensor concat(std::span<const Tensor> tensors, int64_t axis) {
  if (tensors.empty()) throw ValueError("concat: nothing to put together");
  std::vector<DType> dtypes;
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  const DType dtype = promote(dtypes);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(astype(tensor, dtype));
  return plait::apply(ops().concat, parts,
                      ir::Attributes::of(AxisAttributes{normal_axis(axis, tensors[0].rank())}));
}

Tensor stack(std::span<const Tensor> tensors, int64_t axis) {
  if (tensors.empty()) throw ValueError("stack: nothing to put together");
  const int64_t at = normal_axis(axis, tensors[0].rank() + 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(expand_dims(tensor, at));
  return concat(parts, at);
}

void register_shape_ops() { ops(); }

}  // namespace plait
