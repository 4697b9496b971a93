#include "plait/ops/indexing/gather.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

void check_axes(const ir::Inference& in, const GatherAttributes& a, size_t first) {
  const int64_t rank = in.operands[0].rank();
  if (a.batch < 0 || a.batch > rank) in.fail("{} batch dimensions of {} dimensions", a.batch, rank);
  if (a.axes.size() != in.operands.size() - first) {
    in.fail("{} axes, but {} arrays of indices", a.axes.size(), in.operands.size() - first);
  }
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const int64_t least = i == 0 ? a.batch : a.axes[i - 1] + 1;
    if (a.axes[i] >= least && a.axes[i] < rank) continue;
    in.fail("[{}] are not axes of {} in ascending order, after {} batch dimensions",
            fmt::join(a.axes, ", "), in.operands[0].text(), a.batch);
  }
}

void infer_gather(ir::Inference& in) {
  in.expect_array(0, kAllDTypes);
  in.give(in.operands[0].without_sharding().with_shape(rows_shape(in, 1)));
}

Tensor transpose_gather(const RuleContext& c, const Tensor& cotangent, size_t) {
  const OperandType& x = c.operand_types[0];
  return scatter_rows(Combine::add, full(x.shape(), 0, x.dtype()), cotangent, c.operands.subspan(1),
                      c.attributes.as<GatherAttributes>());
}

std::vector<Tensor> batch_gather(const ir::Attributes& attributes, std::span<const Tensor> operands,
                                 const std::vector<bool>& batched) {
  GatherAttributes a = attributes.as<GatherAttributes>();
  std::vector<Tensor> all = with_batch_in_front(operands, batched);
  if (batched[0] || a.batch != 0) {
    return {gather_rows(all[0], std::span(all).subspan(1), batched_once_more(a))};
  }
  // x is shared by the batch: the points of all samples select rows of the same array, possibly the
  // same rows.
  a.unique = false;
  return {gather_rows(operands[0], std::span(all).subspan(1), a)};
}

void infer_nonzero(ir::Inference& in) {
  in.expect_array(0, kAllButKeys);
  in.give(ir::Type::array(DType::i64, {in.operands[0].rank(), in.new_size("k")}));
}

std::vector<Tensor> refuse_batch(const ir::Attributes&, std::span<const Tensor> operands,
                                 const std::vector<bool>&) {
  throw ValueError("nonzero: each sample of {} along the mapped axis could have another size",
                   operands[0].type().text())
      .at(Location::of_caller())
      .hint("where(mask, a, b) keeps sizes; so does x.at(mask).set(a number)");
}

struct GatherTable {
  const ir::Primitive& gather =
      declare({.primitive = {.name = "gather",
                             .summary = "The rows selected by integer indices.",
                             .oracle = "indexing of NumPy's arrays",
                             .attributes = &ir::schema_of<GatherAttributes>(),
                             .operands = ir::at_least(2),
                             .infer = infer_gather,
                             .effects = effects_of_places},
               .rules = {.transposes = {{{.operands = ~1U}, transpose_gather}},
                         .batching = {batch_gather}}});
  const ir::Primitive& nonzero =
      declare({.primitive = {.name = "nonzero",
                             .summary = "The indices of nonzero elements, in row-major order: a "
                                        "row of coordinates for each axis.",
                             .oracle = "numpy.nonzero",
                             .operands = ir::exactly(1),
                             .takes = kAllButKeys,
                             .infer = infer_nonzero},
               .rules = {.not_differentiable = "returns indices", .batching = {refuse_batch}}});
};
const GatherTable& gather_ops() {
  static const GatherTable table;
  return table;
}

}  // namespace

std::span<const std::string_view> enumerator_names(Outside) {
  static constexpr std::array<std::string_view, 2> kNames = {"fails", "ignored"};
  return kNames;
}

Shape rows_shape(const ir::Inference& in, size_t first) {
  const auto& a = in.attributes_as<GatherAttributes>();
  check_axes(in, a, first);
  const Shape& x = in.operands[0].shape();
  for (size_t i = first; i < in.operands.size(); ++i) {
    in.expect_array(i, kIntegers);
    const Shape& places = in.operands[i].shape();
    if (!same(places, in.operands[first].shape())) {
      throw ShapeError("{}: arrays of indices differ in sizes: {} and {}", in.primitive.name,
                       in.operands[first].text(), in.operands[i].text())
          .at(in.location);
    }
  }
  Shape rows = in.operands[first].shape();
  const auto batch = static_cast<size_t>(a.batch);
  if (rows.rank() < batch ||
      !std::ranges::equal(rows.dims().first(batch), x.dims().first(batch), kSame)) {
    throw ShapeError("{}: the first {} sizes of {} and of the indices {} differ", in.primitive.name,
                     batch, in.operands[0].text(), in.operands[first].text())
        .at(in.location);
  }
  for (size_t axis = batch; axis < x.rank(); ++axis) {
    if (!std::ranges::binary_search(a.axes, static_cast<int64_t>(axis))) rows.append(x[axis]);
  }
  return rows;
}

ir::Effects effects_of_places(const ir::Instruction& instruction) {
  return {.may_fail = instruction.attributes_as<GatherAttributes>().outside == Outside::fails};
}

std::vector<Tensor> with_batch_in_front(std::span<const Tensor> operands,
                                        const std::vector<bool>& batched) {
  const size_t one = static_cast<size_t>(std::ranges::find(batched, true) - batched.begin());
  const Dim count = operands[one].shape(0);
  std::vector<Tensor> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{count};
    for (const Dim dim : all[i].shape()) shape.append(dim);
    all[i] = broadcast_to(all[i], shape);
  }
  return all;
}

GatherAttributes batched_once_more(GatherAttributes attributes) {
  ++attributes.batch;
  for (int64_t& axis : attributes.axes) ++axis;
  return attributes;
}

Tensor located(FunctionRef<Tensor()> compute) {
  try {
    return compute();
  } catch (Error& error) {
    if (!error.location().known()) error.set_location(Location::of_caller());
    throw;
  }
}

Tensor gather_rows(const Tensor& x, std::span<const Tensor> indices,
                   const GatherAttributes& attributes) {
  std::vector<Tensor> operands{x};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return located(
      [&] { return plait::apply(gather_ops().gather, operands, ir::Attributes::of(attributes)); });
}

Tensor nonzero_places(const Tensor& x) { return plait::apply(gather_ops().nonzero, {x}); }

const ir::Primitive& gather_primitive() { return gather_ops().gather; }
const ir::Primitive& nonzero_primitive() { return gather_ops().nonzero; }

void register_gather_ops() { gather_ops(); }

}  // namespace plait
