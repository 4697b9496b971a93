#include "plait/ops/arrays/reinterpret.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/primitives.h"

namespace plait {
namespace {

struct ViewDtypeAttributes {
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"dtype"};
};

void infer_view_dtype(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  const DType to = in.attributes_as<ViewDtypeAttributes>().dtype;
  const ir::Type from = in.operands[0].without_sharding();
  if (is_key(to) || (is_boolean(to) && !is_boolean(from.dtype()))) {
    in.fail("the bytes of {} cannot be reinterpreted as {}", from.text(), name_of(to));
  }
  const int64_t given = size_of(from.dtype()), wanted = size_of(to);
  if (given == wanted) return in.give(from.with_dtype(to));
  Shape shape = from.shape();
  const bool fits =
      shape.rank() != 0 && (given > wanted || same(mod(shape.at(-1), wanted / given), Dim(0)));
  if (!fits) {
    throw ShapeError("{}: the last dimension of {} does not divide into elements of {}, {} bytes",
                     in.primitive.name, from.text(), name_of(to), wanted)
        .at(in.location);
  }
  shape.set(-1, given > wanted ? shape.at(-1) * (given / wanted)
                               : floor_div(shape.at(-1), wanted / given));
  in.give(from.with_dtype(to).with_shape(shape));
}

// True if the first element is at a place of an element of the size, in memory and in the buffer.
bool is_aligned(const Array& x, int64_t size) {
  const auto address = reinterpret_cast<uintptr_t>(x.device_data());
  return x.layout().offset * x.element_size() % size == 0 &&
         address % static_cast<uintptr_t>(size) == 0;
}

// A view, or one copy, on any device.
void view_dtype_now(KernelCall& call, const void*) {
  const auto [dtype, sizes] = call.types[0];
  Array x = call.operands[0].contiguous();
  if (!is_aligned(x, size_of(dtype))) x = x.copy();
  Layout layout = Layout::contiguous(sizes);
  layout.offset = x.layout().offset * x.element_size() / size_of(dtype);
  call.results[0] = Array(dtype, std::move(layout), x.buffer());
}

struct ReinterpretTable {
  const ir::Primitive& view_dtype =
      declare({.primitive = {.name = "view_dtype",
                             .summary = "The same bytes reinterpreted as another dtype; the last "
                                        "dimension grows or shrinks.",
                             .oracle = "views of NumPy's arrays",
                             .attributes = &ir::schema_of<ViewDtypeAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kAllButKeys,
                             .infer = infer_view_dtype},
               .rules = {.not_differentiable = "reinterprets bits",
                         .batching = {[](const auto& a, auto operands, const auto&) {
                           return apply_all(view_dtype_primitive(), operands, a);
                         }}},
               .evaluator = view_dtype_now});
};
const ReinterpretTable& reinterpret_ops() {
  static const ReinterpretTable table;
  return table;
}
bool are_numbers(const Shape& shape) {
  return std::ranges::all_of(shape, [](Dim size) { return size.is_number(); });
}

// For concrete sizes: true if the least or the greatest index is out of range.
bool leads_outside(const Shape& shape, std::span<const int64_t> strides, int64_t offset,
                   int64_t count) {
  int64_t least = offset, greatest = offset;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape[i].number();
    if (size == 0) return false;
    (strides[i] < 0 ? least : greatest) += (size - 1) * strides[i];
  }
  return least < 0 || greatest >= count;
}

}  // namespace

Tensor contiguous(const Tensor& x) {
  const Call call("contiguous", x);
  if (x.is_traced() || x.array().is_contiguous()) return x;
  return Tensor(x.array().contiguous()).with_derivation(x.derivation());
}

Tensor as_strided(const Tensor& x, const Shape& shape, std::span<const int64_t> strides,
                  int64_t offset) {
  const Call call("as_strided", x, shape);
  if (strides.size() != shape.rank()) {
    throw ShapeError("as_strided: {} strides for {}", strides.size(), shape.text())
        .at(Location::of_caller());
  }
  const Tensor elements = flatten(x);
  const Dim count = elements.shape(0);
  const bool is_known = are_numbers(shape) && count.is_number();
  if (is_known && leads_outside(shape, strides, offset, count.number())) {
    throw IndexError("as_strided: {} with strides [{}] from offset {} exceeds {} elements",
                     shape.text(), fmt::join(strides, ", "), offset, count)
        .at(Location::of_caller());
  }
  Tensor places = full({}, offset, DType::i64);
  for (size_t i = 0; i < shape.rank(); ++i) {
    places = expand_dims(places, -1) + iota(shape[i]) * strides[i];
  }
  if (!is_known) places = where(places < 0, count, places);
  return take(elements, places);
}

Tensor as_strided(const Tensor& x, const Shape& shape, std::initializer_list<int64_t> strides,
                  int64_t offset) {
  return as_strided(x, shape, std::span(strides.begin(), strides.size()), offset);
}

Tensor view_dtype(const Tensor& x, DType dtype) {
  const Call call("view_dtype", x);
  return apply(reinterpret_ops().view_dtype, {x}, ir::Attributes::of(ViewDtypeAttributes{dtype}));
}

const ir::Primitive& view_dtype_primitive() { return reinterpret_ops().view_dtype; }

void register_view_dtype() { reinterpret_ops(); }

}  // namespace plait
