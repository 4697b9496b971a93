#include "plait/ops/indexing/update_slice.h"

#include <optional>
#include <vector>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {

struct UpdateSliceAttributes {
  std::vector<Dim> starts;  // one per axis
  std::vector<int64_t> steps;
  static constexpr std::string_view kRequired[] = {"starts", "steps"};
};

namespace {

SliceRange range_of(const UpdateSliceAttributes& a, size_t axis, Dim count) {
  return {a.starts[axis], count, a.steps[axis]};
}

void infer_update_slice(ir::Inference& in) {
  const auto& a = in.attributes_as<UpdateSliceAttributes>();
  in.expect_array(0, kAllDTypes);
  in.expect_array(1, kAllDTypes);
  const ir::Type &x = in.operands[0], &part = in.operands[1];
  const auto rank = static_cast<size_t>(x.rank());
  if (part.rank() != x.rank() || a.starts.size() != rank || a.steps.size() != rank) {
    in.fail("{} starts and {} steps for {} in {}", a.starts.size(), a.steps.size(), part.text(),
            x.text());
  }
  if (part.dtype() != x.dtype()) in.expect_alike(x, part);
  for (size_t i = 0; i < rank; ++i) {
    if (a.steps[i] == 0) in.fail("a step of 0 along axis {}", i);
    const SliceRange range = range_of(a, i, part.shape()[i]);
    if (range.is_outside(x.shape()[i])) {
      range.refuse("update_slice", x.shape()[i], static_cast<int64_t>(i), x.text(), in.location);
    }
  }
  in.give(x.without_sharding());
}

ir::Effects effects_of_update_slice(const ir::Instruction& instruction) {
  const auto& a = instruction.attributes_as<UpdateSliceAttributes>();
  const Shape &x = instruction.operand_type(0).shape(), &part = instruction.operand_type(1).shape();
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!range_of(a, i, part[i]).is_safe(x[i])) return {.may_fail = true};
  }
  return {};
}

// The axis along which the part is smaller than x, if there is only one and its step is 1.
std::optional<size_t> only_cut_axis(const UpdateSliceAttributes& a, const Array& x,
                                    const Array& part) {
  std::optional<size_t> cut;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool is_whole = part.sizes()[i] == x.sizes()[i];
    if (a.steps[i] != 1 || (!is_whole && cut)) return std::nullopt;
    if (!is_whole) cut = i;
  }
  return cut;
}

// Writes each element once: those before the part, the part, those after it.
Array joined_along(size_t axis, const Array& x, const Array& part, int64_t start) {
  Array result = Array::empty_on(x.device(), x.dtype(), x.sizes());
  const auto along = static_cast<int64_t>(axis);
  const int64_t end = start + part.sizes()[axis];
  const auto copy = [&](const Array& from, int64_t first, int64_t last) {
    Array to = result.view(result.layout().sliced(along, Slice{first, last}));
    copy_elements(from, to);
  };
  const auto of_x = [&](int64_t first, int64_t last) {
    copy(x.view(x.layout().sliced(along, Slice{first, last})), first, last);
  };
  of_x(0, start);
  copy(part, start, end);
  of_x(end, x.sizes()[axis]);
  return result;
}

// Copies, on any device.
void update_slice_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<UpdateSliceAttributes>();
  const Array &x = call.operands[0], &part = call.operands[1];
  const bool in_place = x.is_writable() && !x.layout().repeats();
  Layout place = in_place ? x.layout() : Layout::contiguous(x.sizes());
  for (size_t i = 0; i < x.rank(); ++i) {
    const SliceRange range = range_of(a, i, part.sizes()[i]);
    if (range.is_outside(x.sizes()[i])) {
      range.refuse("update_slice", x.sizes()[i], static_cast<int64_t>(i),
                   fmt::format("{}{}", name_of(x.dtype()), text_of_sizes(x.sizes())));
    }
    if (part.element_count() > 0) place.offset += range.start.number() * place.strides[i];
    place.sizes[i] = part.sizes()[i];
    if (part.sizes()[i] > 1) place.strides[i] *= range.step;
  }
  const std::optional<size_t> cut = in_place ? std::nullopt : only_cut_axis(a, x, part);
  if (cut) {
    call.results[0] = joined_along(*cut, x, part, a.starts[*cut].number());
    return;
  }
  call.results[0] = in_place ? x : x.copy();
  Array view = call.results[0].view(std::move(place));
  copy_elements(part, view);
}

std::vector<SliceRange> ranges_of(const UpdateSliceAttributes& a, const Shape& part) {
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < part.rank(); ++i) ranges.push_back(range_of(a, i, part[i]));
  return ranges;
}

Tensor transpose_update_slice(const RuleContext& c, const Tensor& cotangent, size_t operand) {
  const OperandType& part = c.operand_types[1];
  const auto ranges = ranges_of(c.attributes.as<UpdateSliceAttributes>(), part.shape());
  if (operand == 0) {
    Tensor again = cotangent;
    return update_slice_into(again, full(part.shape(), 0, part.dtype()), ranges);
  }
  Tensor taken = cotangent;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].is_whole(c.operand_types[0].shape()[i])) continue;
    taken = slice_axis(taken, static_cast<int64_t>(i), ranges[i].start, ranges[i].count,
                       ranges[i].step);
  }
  return taken;
}

std::vector<Tensor> batch_update_slice(const ir::Attributes& attributes,
                                       std::span<const Tensor> operands,
                                       const std::vector<bool>& batched) {
  std::vector<Tensor> all = with_batch_in_front(operands, batched);
  std::vector<SliceRange> ranges =
      ranges_of(attributes.as<UpdateSliceAttributes>(), Shape(all[1].shape().dims().subspan(1)));
  ranges.insert(ranges.begin(), SliceRange{0, all[0].shape(0), 1});
  return {update_slice_into(all[0], all[1], ranges)};
}

struct UpdateSliceTable {
  const ir::Primitive& update_slice = declare(
      {.primitive = {.name = "update_slice",
                     .summary = "The first operand with the elements start, start + step, … along "
                                "each axis replaced by the second.",
                     .oracle = "assignment at numpy.ix_",
                     .attributes = &ir::schema_of<UpdateSliceAttributes>(),
                     .operands = ir::exactly(2),
                     .infer = infer_update_slice,
                     .effects = effects_of_update_slice},
       .rules = {.transposes = {{{}, transpose_update_slice}}, .batching = {batch_update_slice}},
       .evaluator = update_slice_now});
};
const UpdateSliceTable& update_slice_ops() {
  static const UpdateSliceTable table;
  return table;
}

}  // namespace

Tensor update_slice_into(Tensor& x, const Tensor& part, std::span<const SliceRange> ranges) {
  UpdateSliceAttributes attributes;
  for (const SliceRange& range : ranges) {
    attributes.starts.push_back(range.start);
    attributes.steps.push_back(range.step);
  }
  return located([&] {
    return apply_donating(update_slice_ops().update_slice, {Tensor(), part}, x, 0,
                          ir::Attributes::of(attributes));
  });
}

const ir::Primitive& update_slice_primitive() { return update_slice_ops().update_slice; }

void register_update_slice() { update_slice_ops(); }

}  // namespace plait
