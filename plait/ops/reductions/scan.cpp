#include "plait/ops/reductions/scan.h"

#include <limits>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

using Tangent = std::vector<Tensor>;
using Given = std::span<const Tensor>;

void infer_scan(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  expect_axis(in, in.attributes_as<ScanAttributes>().axis);
  for (size_t i = 1; i < in.operands.size(); ++i) in.expect_alike(in.operands[0], in.operands[i]);
  in.give(in.operands[0].without_sharding());
}

const ScanAttributes& attributes_of(const RuleContext& c) {
  return c.attributes.as<ScanAttributes>();
}

Tensor previous(const Tensor& x, const ScanAttributes& a, const Operand& first) {
  return shifted(x, a.axis, a.reverse, first);
}

// h[k] = x[k]·h[k−1] + y[k−1]·dx[k], without division, so that zeros are no problem.
Tangent tangent_of_running_product(const RuleContext& c, Given tangents) {
  if (!tangents[0]) return {Tensor()};
  const ScanAttributes& a = attributes_of(c);
  const Tensor added = previous(c.result(), a, 1) * tangents[0];
  return {linear_recurrence(c.operand(0), added, a.axis, a.reverse)};
}

// The tangent of the current extreme; equal elements share it evenly, as in `max`.
Tangent tangent_of_running_extreme(const RuleContext& c, Given tangents) {
  const Tensor& dx = tangents[0];
  if (!dx) return {Tensor()};
  const ScanAttributes& a = attributes_of(c);
  const Tensor &y = c.result(), before = previous(y, a, 0);
  const Tensor has_before = previous(full(y.shape(), true), a, false);
  const Tensor stays = ((y == before) | (isnan(y) & isnan(before))) & has_before;
  const Tensor joins = stays & (c.operand(0) == y), counts = ~stays | joins;
  const auto number = [&](const Tensor& truth) { return astype(truth, dx.dtype()); };
  const Tensor alike = linear_recurrence(number(stays), number(counts), a.axis, a.reverse);
  const Tensor kept = where(joins, 1 - 1 / alike, number(stays));
  const Tensor added = where(counts, dx / alike, 0);
  return {linear_recurrence(kept, added, a.axis, a.reverse)};
}

// e^(x − y) for x ≤ y; 1 if both are the same infinity.
Tensor share(const Tensor& x, const Tensor& y) { return exp(where(x == y, 0, x - y)); }

// dy[k] = e^(y[k−1] − y[k])·dy[k−1] + e^(x[k] − y[k])·dx[k]; terms of −∞ contribute 0.
Tangent tangent_of_log_sum(const RuleContext& c, Given tangents) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  if (!tangents[0]) return {Tensor()};
  const ScanAttributes& a = attributes_of(c);
  const Tensor &x = c.operand(0), &y = c.result();
  const Tensor part = where(x == kNothing, 0, share(x, y));
  const Tensor kept = share(previous(y, a, kNothing), y);
  return {linear_recurrence(kept, part * tangents[0], a.axis, a.reverse)};
}

// dh[k] = a[k]·dh[k−1] + (da[k]·h[k−1] + db[k])
Tangent tangent_of_recurrence(const RuleContext& c, Given tangents) {
  const ScanAttributes& a = attributes_of(c);
  const Tensor &da = tangents[0], &db = tangents[1];
  if (!da && !db) return {Tensor()};
  Tensor added = db;
  if (da) {
    const Tensor turned = da * previous(c.result(), a, 0);
    added = db ? turned + db : turned;
  }
  return {linear_recurrence(c.operand(0), added, a.axis, a.reverse)};
}

// The same in the other direction: h[k] contributes to h[k+1] with the factor a[k+1].
Tensor transpose_recurrence(const RuleContext& c, const Tensor& cotangent, size_t) {
  const ScanAttributes& a = attributes_of(c);
  const ScanAttributes back{a.axis, !a.reverse};
  return linear_recurrence(previous(c.operand(0), back, 0), cotangent, a.axis, back.reverse);
}

struct ScanTable;
const ScanTable& scan_ops();

struct Scan {
  const char* name;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::Precision precision = ir::Precision::given;
  uint32_t operands = 1;
};

const ir::Primitive& scan(const Scan& declared, Rules rules) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .attributes = &ir::schema_of<ScanAttributes>(),
                                .operands = ir::exactly(declared.operands),
                                .takes = declared.takes,
                                .numerics = {.precision = declared.precision},
                                .infer = infer_scan},
                  .rules = std::move(rules)});
}

struct ScanTable {
  const ir::Primitive& sum =
      scan({"cumulative_sum", "The cumulative sum.", "numpy.cumsum", kNumbers, ir::Precision::wide},
           {.transposes = {{{},
                            [](const RuleContext& c, const Tensor& cotangent, size_t) {
                              const ScanAttributes& a = attributes_of(c);
                              return cumsum(cotangent, a.axis, !a.reverse);
                            }}},
            .batching = {[](const auto& a, auto operands, const auto& batched) {
              return batch_along<ScanAttributes>(scan_ops().sum, a, operands, batched);
            }}});
  const ir::Primitive& product =
      scan({"cumulative_product", "The cumulative product.", "numpy.cumprod", kNumbers,
            ir::Precision::wide},
           {.tangents = {kFirst | kResult, tangent_of_running_product},
            .batching = {[](const auto& a, auto operands, const auto& batched) {
              return batch_along<ScanAttributes>(scan_ops().product, a, operands, batched);
            }}});
  const ir::Primitive& maximum =
      scan({"cumulative_maximum", "The cumulative maximum; NaN from the first NaN on.",
            "numpy.maximum.accumulate", kOrdered},
           {.tangents = {kFirst | kResult, tangent_of_running_extreme},
            .batching = {[](const auto& a, auto operands, const auto& batched) {
              return batch_along<ScanAttributes>(scan_ops().maximum, a, operands, batched);
            }}});
  const ir::Primitive& minimum =
      scan({"cumulative_minimum", "The cumulative minimum; NaN from the first NaN on.",
            "numpy.minimum.accumulate", kOrdered},
           {.tangents = {kFirst | kResult, tangent_of_running_extreme},
            .batching = {[](const auto& a, auto operands, const auto& batched) {
              return batch_along<ScanAttributes>(scan_ops().minimum, a, operands, batched);
            }}});
  const ir::Primitive& log_sum =
      scan({"cumulative_logsumexp", "The logarithm of the cumulative sum of e^x.",
            "numpy.logaddexp.accumulate", kFloatings, ir::Precision::wide},
           {.tangents = {kFirst | kResult, tangent_of_log_sum},
            .batching = {[](const auto& a, auto operands, const auto& batched) {
              return batch_along<ScanAttributes>(scan_ops().log_sum, a, operands, batched);
            }}});
  const ir::Primitive& recurrence = scan(
      {"linear_recurrence", "h[k] = a[k]·h[k−1] + b[k], with 0 before the first.",
       "the sum and product of each step, in a Python loop", kInexacts, ir::Precision::wide, 2},
      {.transposes = {{}, {Reads::operand(0), transpose_recurrence}},
       .tangents = {kFirst | kResult, tangent_of_recurrence},
       .batching = {[](const auto& a, auto operands, const auto& batched) {
         return batch_along<ScanAttributes>(scan_ops().recurrence, a, operands, batched);
       }}});
};
const ScanTable& scan_ops() {
  static const ScanTable table;
  return table;
}

Tensor scanned(const ir::Primitive& primitive, const Tensor& x, int64_t axis, bool reverse) {
  return apply(primitive, {x},
               ir::Attributes::of(ScanAttributes{normal_axis(axis, x.rank()), reverse}));
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis, bool reverse) {
  const Call call("cumsum", x);
  return scanned(scan_ops().sum, widened(x), axis, reverse);
}
Tensor cumprod(const Tensor& x, int64_t axis, bool reverse) {
  const Call call("cumprod", x);
  return scanned(scan_ops().product, widened(x), axis, reverse);
}
Tensor cummax(const Tensor& x, int64_t axis, bool reverse) {
  const Call call("cummax", x);
  return scanned(scan_ops().maximum, x, axis, reverse);
}
Tensor cummin(const Tensor& x, int64_t axis, bool reverse) {
  const Call call("cummin", x);
  return scanned(scan_ops().minimum, x, axis, reverse);
}
Tensor logcumsumexp(const Tensor& x, int64_t axis, bool reverse) {
  const Call call("logcumsumexp", x);
  return scanned(scan_ops().log_sum, astype(x, inexact(x.dtype())), axis, reverse);
}

Tensor shifted(const Tensor& x, int64_t axis, bool reverse, const Operand& first) {
  const Call call("shifted", x, first);
  const int64_t at = normal_axis(axis, x.rank());
  Shape one = x.shape();
  const Dim size = one.at(at);
  one.set(at, 1);
  const Tensor begin = broadcast_to(first.as(x.dtype()), one);
  const Tensor both[] = {reverse ? x : begin, reverse ? begin : x};
  return slice_axis(concat(both, at), at, reverse ? 1 : 0, size);
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t axis, bool reverse) {
  const Call call("linear_recurrence", a, b);
  const DType dtype = inexact(common_dtype(a, b));
  const std::vector<Tensor> both =
      broadcast_together("linear_recurrence", {astype(a, dtype), astype(b, dtype)});
  const ScanAttributes attributes{normal_axis(axis, both[0].rank()), reverse};
  return apply(scan_ops().recurrence, both, ir::Attributes::of(attributes));
}

const ir::Primitive& cumulative_sum_primitive() { return scan_ops().sum; }
const ir::Primitive& cumulative_product_primitive() { return scan_ops().product; }
const ir::Primitive& cumulative_maximum_primitive() { return scan_ops().maximum; }
const ir::Primitive& cumulative_minimum_primitive() { return scan_ops().minimum; }
const ir::Primitive& cumulative_logsumexp_primitive() { return scan_ops().log_sum; }
const ir::Primitive& linear_recurrence_primitive() { return scan_ops().recurrence; }

void register_scan_ops() { scan_ops(); }

}  // namespace plait
