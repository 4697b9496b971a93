#include "plait/ops/indexing/scatter.h"

#include <limits>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

void infer_scatter(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const Shape rows = rows_shape(in, 2);
  in.expect_operand(1, in.operands[0].without_sharding().with_shape(rows), "the updates");
  in.give(in.operands[0].without_sharding());
}

// The operands by name, for the rules.
struct Places {
  std::span<const Tensor> indices;
  GatherAttributes attributes;

  explicit Places(const RuleContext& c)
      : indices(c.operands.subspan(2)), attributes(c.attributes.as<GatherAttributes>()) {}

  Tensor read(const Tensor& x) const { return gather_rows(x, indices, attributes); }
  Tensor scatter(Combine combine, const Tensor& x, const Tensor& updates) const {
    return scatter_rows(combine, x, updates, indices, attributes);
  }
  Tensor sum(const Tensor& like, const Tensor& updates) const {
    return scatter(Combine::add, zeros_like(like), updates);
  }
};

// ---- set

// True for each point whose update is the last one of its row. Numbers the points, scatters the
// numbers by maximum into an array of rows, and compares what each point reads back with its own
// number.
Tensor is_last(const RuleContext& c) {
  const Places places(c);
  const Shape points = places.indices[0].shape(), x = c.operand_types[0].shape();
  const auto batch = static_cast<size_t>(places.attributes.batch);
  GatherAttributes attributes = places.attributes;
  Shape sizes(x.dims().first(batch));
  for (size_t i = 0; i < attributes.axes.size(); ++i) {
    sizes.append(x.at(attributes.axes[i]));
    attributes.axes[i] = static_cast<int64_t>(batch + i);
  }
  const Tensor number = reshape(iota(points.element_count()), points);
  const Tensor last = scatter_rows(Combine::maximum, full(sizes, -1, DType::i64), number,
                                   places.indices, attributes);
  return equal(gather_rows(last, places.indices, attributes), number);
}

Tensor transpose_set(const RuleContext& c, const Tensor& cotangent, size_t operand) {
  const Places places(c);
  const OperandType& updates = c.operand_types[1];
  if (operand == 0) {
    return places.scatter(Combine::set, cotangent, full(updates.shape(), 0, updates.dtype()));
  }
  const Tensor read = places.read(cotangent);
  if (places.attributes.unique) return read;
  Shape shape = places.indices[0].shape();
  while (shape.rank() < updates.shape().rank()) shape.append(1);
  return where(reshape(is_last(c), shape), read, 0);
}

// ---- add

Tensor transpose_add(const RuleContext& c, const Tensor& cotangent, size_t operand) {
  return operand == 0 ? cotangent : Places(c).read(cotangent);
}

// ---- multiply

// With P the product of all nonzero factors of an element, and Z the number of zero factors: the
// product of the factors other than u is P/u if Z = 0, P if u = 0 and Z = 1, else 0.
std::vector<Tensor> tangents_of_product(const RuleContext& c, std::span<const Tensor> tangents) {
  const Places places(c);
  const Tensor &x = c.operand(0), &u = c.operand(1);
  const Tensor is_zero = u == 0, not_zero = where(is_zero, 1, u);
  const Tensor zeros = places.sum(full(x.shape(), 0, DType::i32), astype(is_zero, DType::i32));
  const Tensor product = places.scatter(Combine::multiply, ones_like(x), not_zero);
  Tensor result;
  if (tangents[0]) result = tangents[0] * where(zeros == 0, product, 0);
  if (tangents[1]) {
    const Tensor zeros_there = places.read(zeros), product_there = places.read(product);
    const Tensor others = where(is_zero, where(zeros_there == 1, product_there, 0),
                                where(zeros_there == 0, product_there / not_zero, 0));
    const Tensor part = places.sum(x, tangents[1] * others * places.read(x));
    result = result ? result + part : part;
  }
  return {result};
}

// ---- minimum and maximum

std::vector<Tensor> tangents_of_extreme(const RuleContext& c, std::span<const Tensor> tangents) {
  const Places places(c);
  const DType dtype = c.operand_types[0].dtype();
  const Tensor from_x = astype(c.operand(0) == c.result(), dtype);
  const Tensor from_updates = astype(c.operand(1) == places.read(c.result()), dtype);
  const Tensor count = places.scatter(Combine::add, from_x, from_updates);
  Tensor result;
  if (tangents[0]) result = tangents[0] * from_x / count;
  if (tangents[1]) {
    // Points that read nothing get 1 instead of 0, because 0 would make the cotangent NaN.
    const Tensor shares = places.read(count) + (1 - places.read(ones_like(count)));
    const Tensor part = places.sum(c.operand(0), tangents[1] * from_updates / shares);
    result = result ? result + part : part;
  }
  return {result};
}

std::vector<Tensor> batch_scatter(Combine combine, const ir::Attributes& attributes,
                                  std::span<const Tensor> operands,
                                  const std::vector<bool>& batched) {
  const std::vector<Tensor> all = with_batch_in_front(operands, batched);
  return {scatter_rows(combine, all[0], all[1], std::span(all).subspan(2),
                       batched_once_more(attributes.as<GatherAttributes>()))};
}

constexpr Reads kIndices{.operands = ~3U};
constexpr Reads kAll{.operands = ~0U};

template <Combine combine>
const ir::Primitive& scatter(const char* name, const char* summary, const char* oracle,
                             DTypeSet takes, Rules rules) {
  rules.batching = {[](const ir::Attributes& attributes, std::span<const Tensor> operands,
                       const std::vector<bool>& batched) {
    return batch_scatter(combine, attributes, operands, batched);
  }};
  return declare({.primitive = {.name = name,
                                .summary = summary,
                                .oracle = oracle,
                                .attributes = &ir::schema_of<GatherAttributes>(),
                                .operands = ir::at_least(3),
                                .takes = takes,
                                .infer = infer_scatter,
                                .effects = effects_of_places},
                  .rules = std::move(rules)});
}

struct ScatterTable {
  const ir::Primitive& set = scatter<Combine::set>(
      "scatter_set", "The array with rows replaced by others; the last one for a row wins.",
      "assignment to rows of NumPy's arrays, one after another", kAllDTypes,
      {.transposes = {{kIndices, transpose_set}}});
  const ir::Primitive& add = scatter<Combine::add>(
      "scatter_add", "The array with other rows added to its rows.", "numpy.add, row after row",
      kNumbers, {.transposes = {{kIndices, transpose_add}}});
  const ir::Primitive& multiply = scatter<Combine::multiply>(
      "scatter_multiply", "The array with its rows multiplied by other rows.",
      "numpy.multiply, row after row", kNumbers, {.tangents = {kAll, tangents_of_product}});
  const ir::Primitive& minimum = scatter<Combine::minimum>(
      "scatter_minimum", "The lesser of an array's rows and other rows; NaN if either is NaN.",
      "numpy.minimum, row after row", kOrdered,
      {.tangents = {kAll | Reads::result(), tangents_of_extreme}});
  const ir::Primitive& maximum = scatter<Combine::maximum>(
      "scatter_maximum", "The greater of an array's rows and other rows; NaN if either is NaN.",
      "numpy.maximum, row after row", kOrdered,
      {.tangents = {kAll | Reads::result(), tangents_of_extreme}});

  const ir::Primitive& of(Combine combine) const {
    switch (combine) {
      case Combine::set: return set;
      case Combine::add: return add;
      case Combine::multiply: return multiply;
      case Combine::minimum: return minimum;
      case Combine::maximum: return maximum;
    }
    return set;
  }
};
const ScatterTable& scatter_ops() {
  static const ScatterTable table;
  return table;
}

}  // namespace

Tensor scatter_rows(Combine combine, const Tensor& x, const Tensor& updates,
                    std::span<const Tensor> indices, const GatherAttributes& attributes) {
  Tensor again = x;
  return scatter_rows_into(combine, again, updates, indices, attributes);
}

Tensor scatter_rows_into(Combine combine, Tensor& x, const Tensor& updates,
                         std::span<const Tensor> indices, const GatherAttributes& attributes) {
  std::vector<Tensor> operands{Tensor(), updates};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return located([&] {
    return apply_donating(scatter_ops().of(combine), std::move(operands), x, 0,
                          ir::Attributes::of(attributes));
  });
}

Scalar neutral_of(Combine combine, DType dtype) {
  if (combine == Combine::add || combine == Combine::set) return 0;
  if (combine == Combine::multiply) return 1;
  const bool is_minimum = combine == Combine::minimum;
  if (is_boolean(dtype)) return is_minimum;
  if (is_integer(dtype)) {
    const IntegerLimits limits = integer_limits(dtype);
    return is_minimum ? Scalar(limits.max) : Scalar(limits.min);
  }
  const double most = info_of(dtype).format.has_infinity ? std::numeric_limits<double>::infinity()
                                                         : float_limits(dtype).max;
  return is_minimum ? most : -most;
}

const ir::Primitive& scatter_set_primitive() { return scatter_ops().set; }
const ir::Primitive& scatter_add_primitive() { return scatter_ops().add; }
const ir::Primitive& scatter_multiply_primitive() { return scatter_ops().multiply; }
const ir::Primitive& scatter_minimum_primitive() { return scatter_ops().minimum; }
const ir::Primitive& scatter_maximum_primitive() { return scatter_ops().maximum; }

void register_scatter_ops() { scatter_ops(); }

}  // namespace plait
