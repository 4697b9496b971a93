#include "plait/ops/neural/softmax.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/memory/layout.h"

namespace plait {
namespace {

constexpr DTypeSet kComputed = DTypeSet(DType::f32) | DType::f64;

// Narrow floats are computed in f32, and rounded once.

void infer_softmax(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const int64_t axis = in.attributes_as<SoftmaxAttributes>().axis;
  if (axis < 0 || axis >= in.operands[0].rank()) {
    throw IndexError("{}: axis {} is out of range for {}", in.primitive.name, axis,
                     in.operands[0].text())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding());
}

void infer_standardize(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const Shape& shape = in.operands[0].shape();
  if (shape.rank() == 0) {
    throw ShapeError("{}: {} is a scalar, without rows", in.primitive.name, in.operands[0].text())
        .at(in.location);
  }
  in.give(in.operands[0].without_sharding());
  in.give(
      in.operands[0].without_sharding().with_shape(Shape(shape.dims().first(shape.rank() - 1))));
}

int64_t axis_in(const RuleContext& c) { return c.attributes.as<SoftmaxAttributes>().axis; }

// y · (t − Σ y t)
std::vector<Tensor> tangents_of_softmax(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor& y = c.result();
  return {y * (tangents[0] - sum(y * tangents[0], axis_in(c), true))};
}

// t − Σ e^y t
std::vector<Tensor> tangents_of_log(const RuleContext& c, std::span<const Tensor> tangents) {
  return {tangents[0] - sum(exp(c.result()) * tangents[0], axis_in(c), true)};
}

// scale · (t − mean t − y · mean (y t)), and −scale² · mean (y t) for the scale itself.
std::vector<Tensor> tangents_of_rows(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor &y = c.result(0), &scale = c.result(1), &t = tangents[0];
  const Tensor along = mean(y * t, -1, true);
  Tensor rest = t - y * along;
  if (c.attributes.as<StandardizeAttributes>().is_centred) rest = rest - mean(t, -1, true);
  return {expand_dims(scale, -1) * rest, -square(scale) * squeeze(along, -1)};
}

// Along the last axis, the only one that the kernels support.
bool is_of_rows(const RuleContext& c) { return axis_in(c) + 1 == c.operand_types[0].rank(); }

std::vector<Tensor> softmax_decomposed(const RuleContext& c) {
  if (!is_of_rows(c)) return {};
  const Tensor& x = c.operand(0);
  Tensor maximum_of_row = max_or_lowest(x, -1, true);
  const bool masked_is_zero = c.attributes.as<SoftmaxAttributes>().masked_is_zero;
  if (masked_is_zero) maximum_of_row = where(equal(maximum_of_row, -INFINITY), 0, maximum_of_row);
  const Tensor exponentials = exp(x - maximum_of_row);
  Tensor total = sum(exponentials, -1, true);
  if (masked_is_zero) total = where(equal(total, 0), 1, total);
  return {exponentials / total};
}

std::vector<Tensor> log_softmax_decomposed(const RuleContext& c) {
  if (!is_of_rows(c) || c.attributes.as<SoftmaxAttributes>().masked_is_zero) return {};
  const Tensor& x = c.operand(0);
  const Tensor centred = x - max_or_lowest(x, -1, true);
  return {centred - log(sum(exp(centred), -1, true))};
}

std::vector<Tensor> standardize_decomposed(const RuleContext& c) {
  const auto& a = c.attributes.as<StandardizeAttributes>();
  const Tensor& x = c.operand(0);
  const Dim count = x.shape(-1);
  const Tensor centred = a.is_centred ? x - sum(x, -1, true) / count : x;
  const Tensor scale = rsqrt(sum(square(centred), -1, true) / count + a.epsilon);
  return {centred * scale, squeeze(scale, -1)};
}

template <const ir::Primitive& (*primitive)()>
std::vector<Tensor> batch_axis(const ir::Attributes& attributes, std::span<const Tensor> operands,
                               const std::vector<bool>&) {
  SoftmaxAttributes a = attributes.as<SoftmaxAttributes>();
  ++a.axis;
  return {plait::apply(primitive(), operands, ir::Attributes::of(a))};
}

std::vector<Tensor> batch_rows(const ir::Attributes& attributes, std::span<const Tensor> operands,
                               const std::vector<bool>&);

struct SoftmaxTable {
  const ir::Primitive& softmax =
      declare({.primitive = {.name = "softmax",
                             .summary = "e^x divided by its sum along the axis; NaN, or optionally "
                                        "0, where all elements are −∞.",
                             .oracle = "scipy.special.softmax",
                             .attributes = &ir::schema_of<SoftmaxAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kComputed,
                             .numerics = {.precision = ir::Precision::wide},
                             .infer = infer_softmax},
               .rules = {.tangents = {Reads::result(), tangents_of_softmax},
                         .batching = {batch_axis<softmax_primitive>},
                         .decomposition = softmax_decomposed}});
  const ir::Primitive& log_softmax =
      declare({.primitive = {.name = "log_softmax",
                             .summary = "The logarithm of softmax.",
                             .oracle = "scipy.special.log_softmax",
                             .attributes = &ir::schema_of<SoftmaxAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kComputed,
                             .numerics = {.precision = ir::Precision::wide},
                             .infer = infer_softmax},
               .rules = {.tangents = {Reads::result(), tangents_of_log},
                         .batching = {batch_axis<log_softmax_primitive>},
                         .decomposition = log_softmax_decomposed}});
  const ir::Primitive& standardize =
      declare({.primitive = {.name = "standardize",
                             .summary = "(x − mean) · scale of each row, and scale = 1/√(variance "
                                        "+ epsilon); without the mean if not centred.",
                             .oracle = "numpy.mean and numpy.sqrt, as its summary says",
                             .attributes = &ir::schema_of<StandardizeAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kComputed,
                             .numerics = {.precision = ir::Precision::wide},
                             .infer = infer_standardize},
               .rules = {.tangents = {Reads::result(0) | Reads::result(1), tangents_of_rows},
                         .batching = {batch_rows},
                         .decomposition = standardize_decomposed}});
};
const SoftmaxTable& softmax_ops() {
  static const SoftmaxTable table;
  return table;
}

std::vector<Tensor> batch_rows(const ir::Attributes& attributes, std::span<const Tensor> operands,
                               const std::vector<bool>&) {
  return apply_all(softmax_ops().standardize, operands, attributes);
}

Tensor along(const ir::Primitive& primitive, const Tensor& x, int64_t axis, bool masked_is_zero) {
  const DType dtype = inexact(x.dtype());
  const auto place = static_cast<int64_t>(axis_of(axis, x.rank()));
  const Tensor result = plait::apply(primitive, {astype(x, computed(dtype))},
                                     ir::Attributes::of(SoftmaxAttributes{place, masked_is_zero}));
  return astype(result, dtype);
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  const Call call("softmax", x);
  return along(softmax_ops().softmax, x, axis, false);
}
Tensor softmin(const Tensor& x, int64_t axis) {
  const Call call("softmin", x);
  return softmax(-astype(x, inexact(x.dtype())), axis);
}
Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int64_t axis,
                      const Tensor& key) {
  const Call call("gumbel_softmax", logits, key);
  if (!(tau > 0)) {
    throw ValueError("gumbel_softmax: tau is {}, expected more than 0", tau)
        .at(Location::of_caller());
  }
  if (!kReals.contains(logits.dtype())) {
    throw TypeError("gumbel_softmax: the logits are {}, expected real numbers",
                    logits.type().text())
        .at(Location::of_caller());
  }
  const int64_t at = normal_axis(axis, logits.rank());
  const DType dtype = inexact(logits.dtype());
  const Tensor numbers = astype(logits, computed(dtype));
  const Tensor noise =
      random::gumbel(random::key_or_next("gumbel_softmax", key), logits.shape(), numbers.dtype());
  const Tensor soft = softmax((numbers + noise) / tau, at);
  if (!hard) return astype(soft, dtype);
  Shape line;
  for (int64_t i = 0; i < static_cast<int64_t>(logits.rank()); ++i) {
    line.append(i == at ? logits.shape(at) : 1);
  }
  const Tensor constant = stop_gradient(soft);
  const Tensor one_hot = equal(reshape(iota(logits.shape(at)), line), argmax(constant, at, true));
  return astype(astype(one_hot, soft.dtype()) + (soft - constant), dtype);
}
Tensor log_softmax(const Tensor& x, int64_t axis) {
  const Call call("log_softmax", x);
  return along(softmax_ops().log_softmax, x, axis, false);
}
Tensor masked_softmax(const Tensor& x, int64_t axis) {
  const Call call("masked_softmax", x);
  return along(softmax_ops().softmax, x, axis, true);
}

Standardized standardize(const Tensor& x, double epsilon, bool is_centred) {
  const Call call("standardize", x);
  expect_not_negative("eps", epsilon);
  const auto results = apply_all(softmax_ops().standardize, std::span(&x, 1),
                                 ir::Attributes::of(StandardizeAttributes{epsilon, is_centred}));
  return {results[0], results[1]};
}

const ir::Primitive& softmax_primitive() { return softmax_ops().softmax; }
const ir::Primitive& log_softmax_primitive() { return softmax_ops().log_softmax; }
const ir::Primitive& standardize_primitive() { return softmax_ops().standardize; }

void register_softmax_ops() { softmax_ops(); }

}  // namespace plait
