// The three convolution primitives, and their rules.
#include "plait/ops/neural/convolution.h"

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

// The result. The operands are the other two, in the order x, w, out, except for the input
// gradient, whose operands are out and w.
enum class Kind : uint8_t { out, x, w };

constexpr DTypeSet kConvolved =
    kIntegers | kComplexes | DTypeSet(DType::f64) | DType::f32 | DType::f16 | DType::bf16;

// (count − 1) · step + 1, and 0 for a count of 0.
Dim extent_of(Dim count, int64_t step) {
  return step == 1 ? count : max((count - 1) * step + 1, Dim(0));
}

Dim out_size(const ConvolutionAttributes& a, size_t axis, Dim in, Dim kernel) {
  const Dim padded =
      extent_of(in, a.input_dilation[axis]) + a.padding_low[axis] + a.padding_high[axis];
  const Dim rest = padded - extent_of(kernel, a.dilation[axis]);
  if (a.strides[axis] == 1) return max(rest + 1, Dim(0));
  return max(floor_div(rest, a.strides[axis]) + 1, Dim(0));
}

size_t check_attributes(const ir::Inference& in, bool has_sizes) {
  const auto& a = in.attributes_as<ConvolutionAttributes>();
  const size_t dimensions = a.strides.size();
  if (dimensions < 1 || dimensions > 3) {
    throw ValueError("{}: {} spatial dimensions, not 1 to 3", in.primitive.name, dimensions)
        .at(in.location);
  }
  if (a.dilation.size() != dimensions || a.input_dilation.size() != dimensions ||
      a.padding_low.size() != dimensions || a.padding_high.size() != dimensions ||
      a.sizes.size() != (has_sizes ? dimensions : 0)) {
    throw ValueError(
        "{}: the number of dilations, paddings or sizes does not match {} spatial dimensions",
        in.primitive.name, dimensions)
        .at(in.location);
  }
  for (const auto* steps : {&a.strides, &a.dilation, &a.input_dilation}) {
    for (const int64_t step : *steps) {
      if (step < 1)
        throw ValueError("{}: a stride or dilation is {}, expected 1 or more", in.primitive.name,
                         step)
            .at(in.location);
    }
  }
  if (a.groups.is_number() && a.groups.number() < 1) {
    throw ValueError("{}: {} groups, expected 1 or more", in.primitive.name, a.groups)
        .at(in.location);
  }
  return dimensions;
}

const Shape& operand_shape(const ir::Inference& in, size_t i, size_t dimensions) {
  in.expect_array(i, in.primitive.takes);
  if (in.operands[i].dtype() != in.operands[0].dtype()) {
    in.fail("dtypes differ: {} and {}", in.operands[0].text(), in.operands[i].text());
  }
  const Shape& shape = in.operands[i].shape();
  if (shape.rank() != dimensions + 2) {
    throw ShapeError("{}: {} for {} spatial dimensions, expected two dimensions more",
                     in.primitive.name, in.operands[i].text(), dimensions)
        .at(in.location);
  }
  return shape;
}

// Channels per group.
Dim in_each(Dim channels, Dim groups) {
  return same(channels, groups) ? Dim(1) : floor_div(channels, groups);
}

Shape shape_of(Dim first, Dim second, std::span<const Dim> rest) {
  Shape shape{first, second};
  for (const Dim size : rest) shape.append(size);
  return shape;
}

// The shape of the result for x and w; throws if they do not match.
Shape forward_shape(const ir::Inference& in, const Shape& x, const Shape& w) {
  const auto& a = in.attributes_as<ConvolutionAttributes>();
  if (!same(x[1], w[1] * a.groups) || differ(mod(w[0], a.groups), 0)) {
    throw ShapeError(
        "{}: {} channels in {} group{} do not match the kernel {}, which expects {} each",
        in.primitive.name, x[1], a.groups, same(a.groups, Dim(1)) ? "" : "s", w.text(), w[1])
        .at(in.location);
  }
  Shape out{x[0], w[0]};
  for (size_t axis = 0; axis < a.strides.size(); ++axis) {
    if (same(w[axis + 2], Dim(0))) {
      throw ShapeError("{}: a kernel {} without elements", in.primitive.name, w.text())
          .at(in.location);
    }
    out.append(out_size(a, axis, x[axis + 2], w[axis + 2]));
  }
  return out;
}

void expect_out(const ir::Inference& in, const Shape& x, const Shape& w, const Shape& out) {
  const Shape wanted = forward_shape(in, x, w);
  for (size_t i = 0; i < out.rank(); ++i) {
    if (!differ(wanted[i], out[i])) continue;
    throw ShapeError("{}: {} by a kernel {} has the result {}, not {}", in.primitive.name, x.text(),
                     w.text(), wanted.text(), out.text())
        .at(in.location);
  }
}

template <Kind kind>
void infer(ir::Inference& in) {
  const auto& a = in.attributes_as<ConvolutionAttributes>();
  const size_t dimensions = check_attributes(in, kind != Kind::out);
  const Shape& first = operand_shape(in, 0, dimensions);
  const Shape& second = operand_shape(in, 1, dimensions);
  Shape result;
  if constexpr (kind == Kind::out) {
    result = forward_shape(in, first, second);
  } else if constexpr (kind == Kind::x) {
    result = shape_of(first[0], second[1] * a.groups, a.sizes);
    expect_out(in, result, second, first);
  } else {
    result = shape_of(second[1], in_each(first[1], a.groups), a.sizes);
    expect_out(in, first, result, second);
  }
  in.give(in.operands[0].without_sharding().with_shape(result));
}

const ir::Primitive& primitive_of(Kind kind);

Tensor apply_to(Kind kind, const Tensor& a, const Tensor& b, ConvolutionAttributes attributes) {
  const Call call(primitive_of(kind).name, a, b);
  return plait::apply(primitive_of(kind), {a, b}, ir::Attributes::of(std::move(attributes)));
}

// ---- Batches

Tensor reshaped(const Tensor& x, size_t dropped, std::initializer_list<Dim> leading) {
  Shape shape(leading);
  const Shape from = x.shape();
  for (size_t i = dropped; i < from.rank(); ++i) shape.append(from[i]);
  return reshape(x, shape);
}

// Turns the batch into groups: merges it with the channels, the second dimension, or the first one
// for w.
Tensor into_groups(const Tensor& x, bool is_w) {
  const Tensor moved = is_w ? x : moveaxis(x, 0, 1);
  const Shape shape = moved.shape();
  return is_w ? reshaped(moved, 2, {shape[0] * shape[1]})
              : reshaped(moved, 3, {shape[0], shape[1] * shape[2]});
}

Tensor out_of_groups(const Tensor& x, bool is_w, Dim batches, Dim channels) {
  if (is_w) return reshaped(x, 1, {batches, channels});
  return moveaxis(reshaped(x, 2, {x.shape(0), batches, channels}), 1, 0);
}

// Channels of the result without the batch, from the second operand without the batch.
Dim channels_of(Kind kind, const Shape& second, const ConvolutionAttributes& a) {
  switch (kind) {
    case Kind::out: return second[0];
    case Kind::x: return second[1] * a.groups;
    default: return second[1];  // weight gradient: the channels of the images
  }
}

// An empty batch: computed for one sample and then sliced to none, because a convolution cannot
// have 0 groups.
template <class Batch>
std::vector<Tensor> none_of(const Batch& batch, const ir::Attributes& attributes,
                            std::span<const Tensor> operands, const std::vector<bool>& batched) {
  std::vector<Tensor> of_one(operands.begin(), operands.end());
  for (size_t i = 0; i < of_one.size(); ++i) {
    if (!batched[i]) continue;
    Shape shape{1};
    for (size_t axis = 1; axis < of_one[i].rank(); ++axis) shape.append(of_one[i].shape()[axis]);
    of_one[i] = zeros(shape, of_one[i].dtype());
  }
  return {slice_axis(batch(attributes, of_one, batched)[0], 0, 0, 0)};
}

template <Kind kind>
std::vector<Tensor> batch(const ir::Attributes& attributes, std::span<const Tensor> operands,
                          const std::vector<bool>& batched) {
  ConvolutionAttributes a = attributes.as<ConvolutionAttributes>();
  const Dim batches = operands[batched[0] ? 0 : 1].shape(0);
  if (same(batches, 0)) return none_of(batch<kind>, attributes, operands, batched);
  if (kind != Kind::w && !batched[1]) {  // the batch becomes additional images for the same w
    const Dim images = operands[0].shape(1);
    const Tensor result =
        apply_to(kind, reshaped(operands[0], 2, {batches * images}), operands[1], a);
    return {reshaped(result, 1, {batches, images})};
  }
  const Shape second = operands[1].shape();
  const Dim channels = channels_of(kind, Shape(second.dims().subspan(batched[1] ? 1 : 0)), a);
  std::vector<Tensor> folded;
  for (size_t i = 0; i < 2; ++i) {
    const bool is_w = kind != Kind::w && i == 1;
    Tensor operand = operands[i];
    if (!batched[i]) {
      Shape shape{batches};
      for (const Dim size : operand.shape()) shape.append(size);
      operand = broadcast_to(operand, shape);
    }
    folded.push_back(into_groups(operand, is_w));
  }
  a.groups = a.groups * batches;
  return {
      out_of_groups(apply_to(kind, folded[0], folded[1], a), kind == Kind::w, batches, channels)};
}

// ---- Transposes: each primitive is the transpose of the others.

std::vector<Dim> space_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// Attributes of the gradient with respect to an operand. `sizes` of x or w are those of that
// operand.
ConvolutionAttributes attributes_for(const RuleContext& c, Kind kind, size_t operand) {
  ConvolutionAttributes a = c.attributes.as<ConvolutionAttributes>();
  a.sizes.clear();
  if (kind != Kind::out) a.sizes = space_of(c.operand_types[operand].shape());
  return a;
}

const Reads kReadsFirst = Reads::operand(0), kReadsSecond = Reads::operand(1);

const ir::Primitive& declare_convolution(const char* name, const char* summary, const char* oracle,
                                         void (*infer)(ir::Inference&),
                                         std::vector<Transpose> transposes, Batching batching) {
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<ConvolutionAttributes>(),
                                .operands = ir::exactly(2),
                                .takes = kConvolved,
                                .numerics = {.precision = ir::Precision::narrow},
                                .infer = infer},
                  .rules = {.transposes = std::move(transposes), .batching = batching}});
}

struct ConvolutionTable {
  const ir::Primitive& convolution = declare_convolution(
      "convolution",
      "out[n, o, s] = Σ w[o, c, k] · x[n, c, s · stride + k · dilation − padding], over c and k.",
      "sums of products, written out in Python", infer<Kind::out>,
      {{kReadsSecond,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::x, cotangent, c.operand(1), attributes_for(c, Kind::x, operand));
        }},
       {kReadsFirst,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::w, c.operand(0), cotangent, attributes_for(c, Kind::w, operand));
        }}},
      {batch<Kind::out>});
  const ir::Primitive& input_gradient = declare_convolution(
      "convolution_input_gradient",
      "The transpose of convolution in x: operands out and w; `sizes` are those of x.",
      "sums of products, written out in Python", infer<Kind::x>,
      {{kReadsSecond,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::out, cotangent, c.operand(1),
                          attributes_for(c, Kind::out, operand));
        }},
       {kReadsFirst,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::w, cotangent, c.operand(0), attributes_for(c, Kind::w, operand));
        }}},
      {batch<Kind::x>});
  const ir::Primitive& weight_gradient = declare_convolution(
      "convolution_weight_gradient",
      "The transpose of convolution in w: operands x and out; `sizes` are those of w.",
      "sums of products, written out in Python", infer<Kind::w>,
      {{kReadsSecond,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::x, c.operand(1), cotangent, attributes_for(c, Kind::x, operand));
        }},
       {kReadsFirst,
        [](const RuleContext& c, const Tensor& cotangent, size_t operand) {
          return apply_to(Kind::out, c.operand(0), cotangent,
                          attributes_for(c, Kind::out, operand));
        }}},
      {batch<Kind::w>});
};
const ConvolutionTable& convolution_ops() {
  static const ConvolutionTable table;
  return table;
}

const ir::Primitive& primitive_of(Kind kind) {
  switch (kind) {
    case Kind::out: return convolution_ops().convolution;
    case Kind::x: return convolution_ops().input_gradient;
    case Kind::w: break;
  }
  return convolution_ops().weight_gradient;
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& w, const ConvolutionAttributes& attributes) {
  return apply_to(Kind::out, x, w, attributes);
}
Tensor convolution_input_gradient(const Tensor& out, const Tensor& w,
                                  const ConvolutionAttributes& attributes) {
  return apply_to(Kind::x, out, w, attributes);
}
Tensor convolution_weight_gradient(const Tensor& x, const Tensor& out,
                                   const ConvolutionAttributes& attributes) {
  return apply_to(Kind::w, x, out, attributes);
}

const ir::Primitive& convolution_primitive() { return convolution_ops().convolution; }
const ir::Primitive& convolution_input_gradient_primitive() {
  return convolution_ops().input_gradient;
}
const ir::Primitive& convolution_weight_gradient_primitive() {
  return convolution_ops().weight_gradient;
}

void register_convolution_ops() { convolution_ops(); }

}  // namespace plait
