#include "plait/ops/indexing/segment.h"

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

// ---- Segments

// Ids as indices below the count. A negative id must not count from the end; it becomes an index
// out of range.
struct Segments {
  Tensor places;
  Dim count;

  Segments(std::string_view function, DTypeSet takes, const Tensor& x, const Tensor& ids,
           std::optional<Dim> given_count)
      : places(places_of(function, takes, x, ids)), count(0) {
    count = given_count ? *given_count : greatest_and_one(function, places);
    places = where(places < 0, count, places);
  }

  Tensor combined(Combine combine, const Tensor& rows) const {
    Shape shape = rows.shape();
    shape.set(0, count);
    const Tensor start = full(shape, neutral_of(combine, rows.dtype()), rows.dtype());
    return scatter_rows(combine, start, rows, {&places, 1}, {.axes = {0}});
  }

 private:
  static Tensor places_of(std::string_view function, DTypeSet takes, const Tensor& x,
                          const Tensor& ids) {
    if (!is_integer(ids.dtype())) {
      throw TypeError("{}: the ids are {}, not integers", function, ids.type().text())
          .at(Location::of_caller());
    }
    if (!takes.contains(x.dtype())) {
      throw TypeError("{}: expected {}, not {}", function, takes.text(), x.type().text())
          .at(Location::of_caller());
    }
    if (ids.rank() != 1 || x.rank() == 0 || differ(x.shape(0), ids.shape(0))) {
      throw ShapeError("{}: {} needs a vector of ids, one for each row, not {}", function,
                       x.type().text(), ids.type().text())
          .at(Location::of_caller());
    }
    return astype(ids, DType::i64);
  }

  static Dim greatest_and_one(std::string_view function, const Tensor& places) {
    if (places.is_traced()) {
      throw ValueError("{}: the number of groups would depend on the ids", function)
          .at(Location::of_caller())
          .hint("pass the count");
    }
    return same(places.shape(0), Dim(0)) ? Dim(0) : Dim(max(places).item<int64_t>() + 1);
  }
};

Tensor narrowed_to(const Tensor& x, DType dtype) {
  return is_floating(dtype) ? astype(x, dtype) : x;
}

// Converts to the accumulation dtype of sums and products.
Tensor summands_of(const Tensor& x) {
  return is_floating(x.dtype()) ? astype(x, computed(x.dtype())) : widened(x);
}

// ---- Ragged products

// Checks the types: two operands of one dtype with these ranks, and the group sizes.
void expect_ragged(const ir::Inference& in, int64_t first_rank, int64_t second_rank) {
  in.expect_array(0, in.primitive.takes);
  in.expect_array(1, in.primitive.takes);
  in.expect_array(2, kIntegers);
  const ir::Type &a = in.operands[0], &b = in.operands[1], &sizes = in.operands[2];
  if (a.dtype() != b.dtype()) {
    in.fail("expected operands of one dtype, not {} and {}", a.text(), b.text());
  }
  if (a.rank() == first_rank && b.rank() == second_rank && sizes.rank() == 1) return;
  throw ShapeError("{}: expected ranks {}, {} and 1, not {}, {} and {}", in.primitive.name,
                   first_rank, second_rank, a.text(), b.text(), sizes.text())
      .at(in.location);
}

void expect_fit(const ir::Inference& in, Dim a, Dim b) {
  if (same(a, b)) return;
  throw ShapeError("{}: the sizes of {}, {} and {} do not match: {} ≠ {}", in.primitive.name,
                   in.operands[0].text(), in.operands[1].text(), in.operands[2].text(), a, b)
      .at(in.location);
}

void infer_ragged_dot(ir::Inference& in) {
  expect_ragged(in, 2, 3);
  const Shape &rows = in.operands[0].shape(), &matrices = in.operands[1].shape();
  expect_fit(in, rows[1], matrices[1]);
  expect_fit(in, matrices[0], in.operands[2].shape()[0]);
  in.give(in.operands[0].without_sharding().with_shape({rows[0], matrices[2]}));
}

void infer_ragged_outer(ir::Inference& in) {
  expect_ragged(in, 2, 2);
  const Shape &a = in.operands[0].shape(), &b = in.operands[1].shape();
  expect_fit(in, a[0], b[0]);
  in.give(in.operands[0].without_sharding().with_shape({in.operands[2].shape()[0], a[1], b[1]}));
}

struct RaggedTable;
const RaggedTable& ragged_ops();

Tensor apply_ragged_dot(const Tensor& rows, const Tensor& matrices, const Tensor& sizes);
Tensor apply_ragged_outer(const Tensor& a, const Tensor& b, const Tensor& sizes);

// The groups of all samples as one list. The rows behind the last group of each sample become an
// additional group.
Tensor with_rest(const Tensor& sizes, Dim rows) {
  const Tensor whole = astype(sizes, DType::i64);
  const Tensor both[] = {whole, rows - sum(whole, {-1}, true)};
  return flatten(concat(both, 1));
}

// Merges the first two dimensions.
Tensor samples_joined(const Tensor& x) {
  Shape shape{x.shape(0) * x.shape(1)};
  for (size_t i = 2; i < x.rank(); ++i) shape.append(x.shape()[i]);
  return reshape(x, shape);
}

std::vector<Tensor> batch_ragged_dot(const ir::Attributes&, std::span<const Tensor> operands,
                                     const std::vector<bool>& batched) {
  if (!batched[1] && !batched[2]) {  // puts the samples' rows of each group next to each other
    const Tensor rows = swapaxes(operands[0], 0, 1);
    const Tensor product =
        apply_ragged_dot(samples_joined(rows), operands[1], operands[2] * rows.shape(1));
    return {swapaxes(reshape(product, {rows.shape(0), rows.shape(1), operands[1].shape(2)}), 0, 1)};
  }
  const std::vector<Tensor> all = with_batch_in_front(operands, batched);
  const Tensor &rows = all[0], &matrices = all[1];
  const Tensor product =
      apply_ragged_dot(samples_joined(rows), samples_joined(pad_zeros(matrices, 1, 0, 1)),
                       with_rest(all[2], rows.shape(1)));
  return {reshape(product, {rows.shape(0), rows.shape(1), matrices.shape(3)})};
}

std::vector<Tensor> batch_ragged_outer(const ir::Attributes&, std::span<const Tensor> operands,
                                       const std::vector<bool>& batched) {
  const std::vector<Tensor> all = with_batch_in_front(operands, batched);
  const Tensor &a = all[0], &b = all[1];
  const Dim samples = a.shape(0), groups = all[2].shape(1);
  const Tensor products =
      apply_ragged_outer(samples_joined(a), samples_joined(b), with_rest(all[2], a.shape(1)));
  return {
      slice_axis(reshape(products, {samples, groups + 1, a.shape(2), b.shape(2)}), 1, 0, groups)};
}

ir::Effects may_fail(const ir::Instruction&) { return {.may_fail = true}; }

struct RaggedTable {
  const ir::Primitive& dot = declare(
      {.primitive = {.name = "ragged_dot",
                     .summary = "Each group of consecutive rows times its own matrix; operands "
                                "rows, matrices, and the number of rows of each group.",
                     .oracle = "numpy.matmul of each group",
                     .operands = ir::exactly(3),
                     .takes = kNumbers,
                     .infer = infer_ragged_dot,
                     .effects = may_fail},
       .rules = {.transposes = {{kSecond | kThird,
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return apply_ragged_dot(
                                       cotangent, matrix_transpose(c.operand(1)), c.operand(2));
                                 }},
                                {kFirst | kThird,
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return apply_ragged_outer(c.operand(0), cotangent, c.operand(2));
                                 }},
                                {}},
                 .batching = {batch_ragged_dot}}});
  const ir::Primitive& outer = declare(
      {.primitive = {.name = "ragged_outer",
                     .summary = "For each group of rows the product aᵀ b; operands a, b, and the "
                                "number of rows of each group.",
                     .oracle = "numpy.matmul of each group",
                     .operands = ir::exactly(3),
                     .takes = kNumbers,
                     .infer = infer_ragged_outer,
                     .effects = may_fail},
       .rules = {.transposes = {{kSecond | kThird,
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return apply_ragged_dot(
                                       c.operand(1), matrix_transpose(cotangent), c.operand(2));
                                 }},
                                {kFirst | kThird,
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return apply_ragged_dot(c.operand(0), cotangent, c.operand(2));
                                 }},
                                {}},
                 .batching = {batch_ragged_outer}}});
};
const RaggedTable& ragged_ops() {
  static const RaggedTable table;
  return table;
}

Tensor apply_ragged_dot(const Tensor& rows, const Tensor& matrices, const Tensor& sizes) {
  return apply(ragged_ops().dot, {rows, matrices, sizes});
}
Tensor apply_ragged_outer(const Tensor& a, const Tensor& b, const Tensor& sizes) {
  return apply(ragged_ops().outer, {a, b, sizes});
}

}  // namespace

Tensor segment_sum(const Tensor& x, const Tensor& ids, std::optional<Dim> count) {
  const Call call("segment_sum", x, ids);
  const Segments segments("segment_sum", kAllButKeys, x, ids, count);
  return narrowed_to(segments.combined(Combine::add, summands_of(x)), x.dtype());
}

Tensor segment_prod(const Tensor& x, const Tensor& ids, std::optional<Dim> count) {
  const Call call("segment_prod", x, ids);
  const Segments segments("segment_prod", kAllButKeys, x, ids, count);
  return narrowed_to(segments.combined(Combine::multiply, summands_of(x)), x.dtype());
}

Tensor segment_mean(const Tensor& x, const Tensor& ids, std::optional<Dim> count) {
  const Call call("segment_mean", x, ids);
  const DType dtype = inexact(x.dtype());
  const Segments segments("segment_mean", kAllButKeys, x, ids, count);
  const Tensor total = segments.combined(Combine::add, summands_of(astype(x, dtype)));
  const Tensor rows = segments.combined(Combine::add, full(ids.shape(), 1, DType::i64));
  Shape beside(total.shape());
  for (size_t i = 1; i < beside.rank(); ++i) beside.set(static_cast<int64_t>(i), 1);
  return astype(total / astype(reshape(rows, beside), total.dtype()), dtype);
}

Tensor segment_max(const Tensor& x, const Tensor& ids, std::optional<Dim> count) {
  const Call call("segment_max", x, ids);
  const Segments segments("segment_max", kOrdered, x, ids, count);
  return segments.combined(Combine::maximum, x);
}

Tensor segment_min(const Tensor& x, const Tensor& ids, std::optional<Dim> count) {
  const Call call("segment_min", x, ids);
  const Segments segments("segment_min", kOrdered, x, ids, count);
  return segments.combined(Combine::minimum, x);
}

Tensor ragged_dot(const Tensor& rows, const Tensor& matrices, const Tensor& group_sizes) {
  const Call call("ragged_dot", rows, matrices, group_sizes);
  const DType dtype = common_dtype(rows, matrices);
  return apply_ragged_dot(astype(rows, dtype), astype(matrices, dtype), group_sizes);
}

Tensor ragged_outer(const Tensor& a, const Tensor& b, const Tensor& group_sizes) {
  const Call call("ragged_outer", a, b, group_sizes);
  const DType dtype = common_dtype(a, b);
  return apply_ragged_outer(astype(a, dtype), astype(b, dtype), group_sizes);
}

const ir::Primitive& ragged_dot_primitive() { return ragged_ops().dot; }
const ir::Primitive& ragged_outer_primitive() { return ragged_ops().outer; }

void register_segment_ops() { ragged_ops(); }

}  // namespace plait
