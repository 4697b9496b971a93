#include "plait/nn/models/quantized.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

// The range of codes and their dtype.
struct Codes {
  int64_t least, greatest;
  DType dtype;
};
Codes codes_of(int64_t bits) {
  return bits == 8 ? Codes{-128, 127, DType::i8} : Codes{0, 15, DType::u8};
}

// Pairs of codes of 4 bits along the last axis in one byte, the first in the low half.
Tensor packed(const Tensor& codes) {
  const Dim width = codes.shape(-1), bytes = floor_div(width + 1, 2);
  const Tensor even = pad_zeros(codes, -1, 0, bytes * 2 - width);
  return slice_axis(even, -1, 0, bytes, 2) | left_shift(slice_axis(even, -1, 1, bytes, 2), 4);
}

// Joins the last two axes.
Tensor joined(const Tensor& x) {
  Shape shape;
  for (size_t i = 0; i + 2 < x.rank(); ++i) shape.append(x.shape()[i]);
  shape.append(x.shape(-2) * x.shape(-1));
  return reshape(x, shape);
}

Tensor unpacked(const Tensor& bytes, int64_t width) {
  const Tensor halves[] = {bytes & 15, right_shift(bytes, 4)};
  return slice_axis(joined(stack(halves, -1)), -1, 0, width);
}

Tensor in_groups(const Tensor& rows, int64_t width, std::optional<int64_t> group_size) {
  const int64_t size = group_size.value_or(width);
  return unflatten(rows, -1, {width / size, size});
}

Tensor floats_of(const QuantizedMatrix& matrix, const Tensor& codes, const Tensor& scales,
                 const Tensor& zero_points) {
  const DType dtype = scales.dtype();
  const Tensor all = matrix.bits == 4 ? unpacked(codes, matrix.width) : codes;
  const Tensor groups = in_groups(astype(all, dtype), matrix.width, matrix.group_size);
  return joined((groups - expand_dims(astype(zero_points, dtype), -1)) * expand_dims(scales, -1));
}

void expect_options(const Tensor& weight, const QuantizationOptions& options) {
  if (options.bits != 8 && options.bits != 4) {
    throw ValueError("bits is {}, expected 8 or 4", options.bits).at(Location::of_caller());
  }
  if (weight.rank() != 2 || !is_floating(weight.dtype()) || same(weight.shape(1), Dim(0))) {
    throw ShapeError("the weight is {}, expected floats [rows, columns]", weight.type().text())
        .at(Location::of_caller());
  }
  const int64_t width = weight.shape(1).number(), size = options.group_size.value_or(width);
  if (size >= 1 && width % size == 0) return;
  throw ValueError("groups of {} of {} columns: the columns must be a multiple of group_size", size,
                   width)
      .at(Location::of_caller());
}

}  // namespace

QuantizedMatrix QuantizedMatrix::of(const Tensor& weight, const QuantizationOptions& options) {
  const Call call("nn::QuantizedMatrix", weight);
  expect_options(weight, options);
  const int64_t width = weight.shape(1).number();
  const auto [least, greatest, dtype] = codes_of(options.bits);
  const DType exact = computed(weight.dtype());
  const Tensor groups = in_groups(astype(weight, exact), width, options.group_size);
  // 0 is among the numbers, and has a code of its own.
  const Tensor low = minimum(min(groups, -1), 0), high = maximum(max(groups, -1), 0);
  const Tensor steps = astype((high - low) / (greatest - least), weight.dtype());
  const Tensor scales = where(steps == 0, 1, steps), wide = astype(scales, exact);
  const Tensor zeros = round(static_cast<double>(least) - low / wide);
  const Tensor codes = astype(
      joined(clip(round(groups / expand_dims(wide, -1)) + expand_dims(zeros, -1), least, greatest)),
      dtype);
  return {.codes = options.bits == 4 ? packed(codes) : codes,
          .scales = scales,
          .zero_points = astype(clip(zeros, least, greatest), dtype),
          .bits = options.bits,
          .group_size = options.group_size,
          .width = width};
}

Tensor QuantizedMatrix::weight() const { return floats_of(*this, codes, scales, zero_points); }

Tensor QuantizedMatrix::weight_of(const Tensor& ids) const {
  return floats_of(*this, take(codes, ids, 0), take(scales, ids, 0), take(zero_points, ids, 0));
}

QuantizedLinear QuantizedLinear::init(const Tensor& key, int64_t inputs, int64_t outputs,
                                      const QuantizedLinearOptions& options) {
  const Call call("nn::QuantizedLinear");
  return from_linear(
      Linear::init(key, inputs, outputs, {.bias = options.bias, .dtype = options.dtype}),
      {.bits = options.bits, .group_size = options.group_size});
}

QuantizedLinear QuantizedLinear::from_linear(const Linear& layer,
                                             const QuantizationOptions& options) {
  const Call call("nn::QuantizedLinear", layer.weight);
  QuantizedLinear made{QuantizedMatrix::of(layer.weight, options), {}};
  if (layer.bias) made.bias = *layer.bias;
  return made;
}

Linear QuantizedLinear::dequantized() const {
  Linear made;
  made.weight = weight();
  if (bias) made.bias = *bias;
  return made;
}

Tensor QuantizedLinear::operator()(const Tensor& x) const {
  return linear(x, weight(), or_empty(bias));
}

QuantizedEmbedding QuantizedEmbedding::init(const Tensor& key, int64_t rows, int64_t width,
                                            const QuantizedEmbeddingOptions& options) {
  const Call call("nn::QuantizedEmbedding");
  expect_sizes({rows, width}, "a table");
  const Tensor table = normal(key, {rows, width}, 0, 1, options.dtype);
  return {QuantizedMatrix::of(table, {.bits = options.bits, .group_size = options.group_size})};
}

QuantizedEmbedding QuantizedEmbedding::from_embedding(const Embedding& layer,
                                                      const QuantizationOptions& options) {
  const Call call("nn::QuantizedEmbedding", layer.weight);
  return {QuantizedMatrix::of(layer.weight, options)};
}

Tensor QuantizedEmbedding::operator()(const Tensor& ids) const { return weight_of(ids); }

}  // namespace plait::nn
