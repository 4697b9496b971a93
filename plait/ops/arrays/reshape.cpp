#include "plait/ops/arrays/reshape.h"

#include <numeric>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/function_ref.h"
#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/operand.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

struct ConvertAttributes {
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"dtype"};
};
namespace {

using ir::IndexSignature;

Sizes numbers(std::span<const Dim> dims) {
  Sizes sizes;
  for (const Dim dim : dims) sizes.push_back(dim.number());
  return sizes;
}

Shape in_front(Dim lanes, std::span<const Dim> sizes) {
  Shape shape{lanes};
  for (const Dim size : sizes) shape.append(size);
  return shape;
}

// ---- convert

void infer_convert(ir::Inference& in) {
  const DType to = in.attributes_as<ConvertAttributes>().dtype;
  const ir::Type& from = in.array();
  if (to != from.dtype() && (is_key(to) || is_key(from.dtype()))) {
    in.fail("{} cannot be converted to {}: keys are not numbers", from.text(), name_of(to));
  }
  in.give(from.without_sharding().with_dtype(to));
}

void convert_now(KernelCall& call, const void*) {
  call.results[0] = call.operands[0].converted(call.attributes.as<ConvertAttributes>().dtype);
}

IndexSignature convert_signature(const ir::Inference& in) {
  const int64_t rank = in.operands[0].rank();
  return IndexSignature::parse("... -> ...", {&rank, 1});
}

// ---- broadcast

void infer_broadcast(ir::Inference& in) {
  const auto& sizes = in.attributes_as<SizesAttributes>().sizes;
  const Shape& from = in.array().shape();
  bool fits = from.rank() <= sizes.size();
  for (size_t i = 0; fits && i < from.rank(); ++i) {
    fits = same(from[i], Dim(1)) || same(from[i], sizes[sizes.size() - from.rank() + i]);
  }
  if (!fits) {
    throw ShapeError("broadcast: {} cannot be broadcast to {}", in.operands[0].text(),
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

using Place = IndexSignature::Affine;

// The index of the result's dimension itself.
Place index_of(size_t dimension) { return {{{static_cast<uint32_t>(dimension)}}}; }

std::optional<ir::IndexMap> broadcast_map(const ir::Instruction& instruction) {
  const Shape &from = instruction.operand_type(0).shape(),
              &to = instruction.result_types()[0].shape();
  const size_t added = to.rank() - from.rank();
  ir::IndexMap map;
  for (size_t i = 0; i < from.rank(); ++i) {
    map.dimensions.push_back(same(from[i], Dim(1)) ? Place() : index_of(added + i));
  }
  return map;
}

Tensor sum_to(const Tensor& cotangent, const Shape& shape) {
  const size_t added = cotangent.rank() - shape.rank();
  std::vector<int64_t> axes(added);
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (!same(shape[i], cotangent.shape()[added + i]))
      axes.push_back(static_cast<int64_t>(added + i));
  }
  const Tensor summed = axes.empty() ? cotangent
                                     : apply(reduce_sum_primitive(), {cotangent},
                                             ir::Attributes::of(ReduceAttributes{std::move(axes)}));
  return reshape(summed, shape);
}

// Inserts ones between the batch dimension and those of the operand.
std::vector<Tensor> batch_broadcast(const ir::Attributes& attributes,
                                    std::span<const Tensor> operands, const std::vector<bool>&) {
  const auto& sizes = attributes.as<SizesAttributes>().sizes;
  const Shape from = operands[0].shape();
  std::vector<Dim> aligned(sizes.size() + 1, Dim(1));
  aligned[0] = from[0];
  std::copy(from.begin() + 1, from.end(), aligned.end() - static_cast<ptrdiff_t>(from.rank()) + 1);
  return {broadcast_to(reshape(operands[0], Shape(aligned)), in_front(from[0], sizes))};
}

// ---- reshape

std::vector<Tensor> batch_reshape(const ir::Attributes& attributes,
                                  std::span<const Tensor> operands, const std::vector<bool>&) {
  const auto& sizes = attributes.as<SizesAttributes>().sizes;
  return {reshape(operands[0], in_front(operands[0].shape(0), sizes))};
}

void infer_reshape(ir::Inference& in) {
  const Shape to(in.attributes_as<SizesAttributes>().sizes);
  const Shape& from = in.array().shape();
  if (!same(from.element_count(), to.element_count())) {
    throw ShapeError("reshape: {} has {} elements, {} has {}", in.operands[0].text(),
                     from.element_count(), to.text(), to.element_count())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding().with_shape(to));
}

// Each dimension of the operand must be one of the result, or be split into several ones; sizes of
// 1 are inserted or removed.
std::optional<ir::IndexMap> reshape_map(const ir::Instruction& instruction) {
  const Shape &from = instruction.operand_type(0).shape(),
              &to = instruction.result_types()[0].shape();
  ir::IndexMap map;
  size_t next = 0;
  const auto skip_ones = [&] {
    while (next < to.rank() && same(to[next], Dim(1))) ++next;
  };
  for (const Dim size : from) {
    Place place;
    if (!same(size, Dim(1))) {
      Dim covered = 1;
      std::vector<size_t> parts;
      do {
        skip_ones();
        if (next == to.rank()) return std::nullopt;
        covered = covered * to[next];
        parts.push_back(next++);
      } while (!same(covered, size));
      Dim step = 1;
      for (size_t i = parts.size(); i-- > 0;) {
        place.terms.push_back({static_cast<uint32_t>(parts[i]), step});
        step = step * to[parts[i]];
      }
    }
    map.dimensions.push_back(std::move(place));
  }
  skip_ones();
  return next == to.rank() ? std::optional(map) : std::nullopt;
}

void reshape_now(KernelCall& call, const void*) {
  call.results[0] = call.operands[0].reshaped(numbers(call.attributes.as<SizesAttributes>().sizes));
}

// ---- permute

IndexSignature permute_signature(const ir::Inference& in) {
  const auto& axes = in.attributes_as<PermuteAttributes>().axes;
  IndexSignature signature;
  IndexSignature::Access from, to;
  const auto rank = static_cast<size_t>(in.array().rank());
  std::vector<bool> seen(rank);
  for (const int64_t axis : axes) {
    if (axes.size() != rank || axis < 0 || axis >= static_cast<int64_t>(rank) ||
        seen[static_cast<size_t>(axis)]) {
      in.fail("[{}] is not a permutation of the axes of {}", fmt::join(axes, ", "),
              in.operands[0].text());
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

std::optional<ir::IndexMap> permute_map(const ir::Instruction& instruction) {
  const auto& axes = instruction.attributes_as<PermuteAttributes>().axes;
  ir::IndexMap map{std::vector<Place>(axes.size())};
  for (size_t i = 0; i < axes.size(); ++i) {
    map.dimensions[static_cast<size_t>(axes[i])] = index_of(i);
  }
  return map;
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

struct ShapeTable;
const ShapeTable& shape_ops();

std::vector<Tensor> batch_permute(const ir::Attributes& attributes,
                                  std::span<const Tensor> operands, const std::vector<bool>&) {
  std::vector<int64_t> axes{0};
  for (const int64_t axis : attributes.as<PermuteAttributes>().axes) axes.push_back(axis + 1);
  return {permute_dims(operands[0], axes)};
}

struct ShapeTable {
  const ir::Primitive& convert = declare(
      {.primitive = {.name = "convert",
                     .summary =
                         "The same numbers in another dtype (core/numbers/element.h says how).",
                     .oracle = "astype of NumPy's arrays; floats to integers saturate",
                     .attributes = &ir::schema_of<ConvertAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_convert,
                     .signature = convert_signature},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return astype(cotangent, c.operand_types[0].dtype());
                                 }}},
                 .batching = {[](const auto& a, auto operands, const auto&) {
                   return apply_all(shape_ops().convert, operands, a);
                 }}},
       .evaluator = convert_now});
  const ir::Primitive& broadcast = declare(
      {.primitive = {.name = "broadcast",
                     .summary = "x repeated along axes of size 1 and along new axes in front.",
                     .oracle = "numpy.broadcast_to",
                     .attributes = &ir::schema_of<SizesAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_broadcast,
                     .index_map = broadcast_map},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return sum_to(cotangent, c.operand_types[0].shape());
                                 }}},
                 .batching = {batch_broadcast}},
       .evaluator = broadcast_now,
       .finds_types = true,
       .serves_devices = true});
  const ir::Primitive& reshape = declare(
      {.primitive = {.name = "reshape",
                     .summary = "The same elements in row-major order in another shape.",
                     .oracle = "numpy.reshape",
                     .attributes = &ir::schema_of<SizesAttributes>(),
                     .operands = ir::exactly(1),
                     .infer = infer_reshape,
                     .index_map = reshape_map},
       .rules = {.transposes = {{{},
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return plait::reshape(cotangent, c.operand_types[0].shape());
                                 }}},
                 .batching = {batch_reshape}},
       .evaluator = reshape_now,
       .finds_types = true,
       .serves_devices = true});
  const ir::Primitive& permute =
      declare({.primitive = {.name = "permute",
                             .summary = "The dimensions in another order (a transpose).",
                             .oracle = "numpy.transpose",
                             .attributes = &ir::schema_of<PermuteAttributes>(),
                             .operands = ir::exactly(1),
                             .signature = permute_signature,
                             .index_map = permute_map},
               .rules = {.transposes = {{{},
                                         [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                           const auto& axes =
                                               c.attributes.as<PermuteAttributes>().axes;
                                           return permute_dims(cotangent, inverse_of(axes));
                                         }}},
                         .batching = {batch_permute}},
               .evaluator = permute_now,
               .finds_types = true,
               .serves_devices = true});
};
const ShapeTable& shape_ops() {
  static const ShapeTable table;
  return table;
}

// In a trace: replaces sizes in the type that are assumed to be equal to those of the shape, or to
// be 1. `common_shape` makes these assumptions, which are checked when the program runs.
Tensor refined_to(const Tensor& x, const Shape& shape) {
  Trace* const trace = Trace::current();
  if (trace == nullptr || x.rank() > shape.rank()) return x;
  const Shape own = x.shape();
  Shape refined = own;
  for (size_t i = 0; i < own.rank(); ++i) {
    const Dim size = own[i], wanted = shape[shape.rank() - own.rank() + i];
    if (same(size, wanted) || same(size, Dim(1)) || (size.is_number() && wanted.is_number()))
      continue;
    const bool is_one = trace->sizes().facts().prove({size, SizeFact::equal, 1}) == true;
    refined.set(static_cast<int64_t>(i), is_one ? Dim(1) : wanted);
  }
  return same(refined, own) ? x : trace->refine(x, refined);
}

// In canonical form n and 2 * (n//2) differ. If the elements would not fit otherwise, a size that
// is known to be a multiple of k, or is one at present, is replaced by k * (size // k).
Tensor refined_to_multiple(Trace& trace, const Tensor& x, std::span<const Dim> wanted,
                           FunctionRef<bool(const Shape&)> fits) {
  const Shape own = x.shape();
  if (fits(own)) return x;
  const auto numbers_in = [](std::span<const Dim> sizes) {
    Dim product = 1;
    for (const Dim size : sizes) {
      if (size.is_number() && size.number() > 1) product = product * size;
    }
    return product.number();
  };
  const int64_t there = numbers_in(wanted), k = there / std::gcd(there, numbers_in(own.dims()));
  for (size_t i = 0; i < own.rank() && k > 1; ++i) {
    Shape refined = own;
    refined.set(static_cast<int64_t>(i), floor_div(own[i], k) * k);
    if (own[i].is_number() || !fits(refined)) continue;
    SizeContext& sizes = trace.sizes();
    const SizeFact divides{mod(own[i], k), SizeFact::equal, 0};
    const bool holds =
        sizes.actual(own[i]) ? sizes.decide(divides) : sizes.facts().prove(divides) == true;
    if (holds) return trace.refine(x, refined);
  }
  return x;
}

}  // namespace

Tensor astype(const Tensor& x, DType dtype) {
  const Call call("astype", x);
  if (x.dtype() == dtype) return x;
  return apply(shape_ops().convert, {x}, ir::Attributes::of(ConvertAttributes{dtype}));
}

Tensor broadcast_to(const Tensor& given, const Shape& shape) {
  const Call call("broadcast_to", given, shape);
  const Tensor x = refined_to(given, shape);
  if (same(x.shape(), shape)) return x;
  return apply(shape_ops().broadcast, {x},
               ir::Attributes::of(SizesAttributes{{shape.begin(), shape.end()}}));
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Call call("reshape", x, shape);
  std::vector<Dim> sizes(shape.begin(), shape.end());
  Dim known = 1;
  Dim* open = nullptr;
  for (Dim& size : sizes) {
    if (!same(size, Dim(-1))) {
      known = known * size;
    } else if (open == nullptr) {
      open = &size;
    } else {
      throw ValueError("reshape: two sizes of {} are -1", shape.text());
    }
  }
  if (open != nullptr && (known.is_number() ? same(known, Dim(0)) : !is_nonempty(known))) {
    throw ValueError("reshape: -1 in {} cannot be inferred: the other sizes have no element",
                     shape.text());
  }
  if (Trace* const trace = Trace::current()) {
    const Tensor refined = refined_to_multiple(*trace, x, sizes, [&](const Shape& from) {
      const Dim count = from.element_count();
      return same(count, open != nullptr ? floor_div(count, known) * known : known);
    });
    if (!same(refined.shape(), x.shape())) return reshape(refined, shape);
  }
  if (open != nullptr) *open = floor_div(x.shape().element_count(), known);
  if (same(x.shape(), Shape(sizes))) return x;
  return apply(shape_ops().reshape, {x}, ir::Attributes::of(SizesAttributes{std::move(sizes)}));
}

Tensor permute_dims(const Tensor& x, std::span<const int64_t> axes) {
  const Call call("permute_dims", x);
  std::vector<int64_t> order;
  std::vector<bool> seen(x.rank());
  bool is_order = axes.size() == x.rank();
  for (const int64_t axis : axes) {
    order.push_back(normal_axis(axis, x.rank()));
    const auto place = static_cast<size_t>(order.back());
    is_order = is_order && !seen[place];
    seen[place] = true;
  }
  if (!is_order) {
    throw ValueError("permute_dims: [{}] is not a permutation of the axes of {}",
                     fmt::join(axes, ", "), x.type().text())
        .at(Location::of_caller());
  }
  return apply(shape_ops().permute, {x}, ir::Attributes::of(PermuteAttributes{std::move(order)}));
}

Tensor permute_dims(const Tensor& x, std::initializer_list<int64_t> axes) {
  return permute_dims(x, std::span(axes.begin(), axes.size()));
}

Tensor swapaxes(const Tensor& x, int64_t a, int64_t b) {
  const Call call("swapaxes", x);
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis_of(a, x.rank())], order[axis_of(b, x.rank())]);
  return permute_dims(x, order);
}

Tensor matrix_transpose(const Tensor& x) {
  const Call call("matrix_transpose", x);
  if (x.rank() < 2) {
    throw ShapeError("matrix_transpose: {} has fewer than two dimensions", x.type().text());
  }
  return swapaxes(x, -1, -2);
}

Tensor moveaxis(const Tensor& x, int64_t from, int64_t to) {
  const Call call("moveaxis", x);
  std::vector<int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  const size_t source = axis_of(from, x.rank()), target = axis_of(to, x.rank());
  order.erase(order.begin() + static_cast<ptrdiff_t>(source));
  order.insert(order.begin() + static_cast<ptrdiff_t>(target), static_cast<int64_t>(source));
  return permute_dims(x, order);
}

Tensor expand_dims(const Tensor& x, int64_t axis) {
  const Call call("expand_dims", x);
  const Shape shape = x.shape();
  std::vector<Dim> sizes(shape.begin(), shape.end());
  sizes.insert(sizes.begin() + normal_axis(axis, x.rank() + 1), Dim(1));
  return reshape(x, Shape(sizes));
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  const Call call("squeeze", x);
  const Shape shape = x.shape();
  const size_t at = axis_of(axis, x.rank());
  if (!same(shape[at], Dim(1))) {
    throw ShapeError("squeeze: dimension {} of {} has the size {}, not 1", at, x.type().text(),
                     shape[at]);
  }
  std::vector<Dim> sizes(shape.begin(), shape.end());
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(at));
  return reshape(x, Shape(sizes));
}

Tensor flatten(const Tensor& x) {
  const Call call("flatten", x);
  return reshape(x, {x.shape().element_count()});
}

const ir::Primitive& convert_primitive() { return shape_ops().convert; }
const ir::Primitive& broadcast_primitive() { return shape_ops().broadcast; }
const ir::Primitive& reshape_primitive() { return shape_ops().reshape; }
const ir::Primitive& permute_primitive() { return shape_ops().permute; }

void register_shape_ops() { shape_ops(); }

}  // namespace plait
