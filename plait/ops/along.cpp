#include "plait/ops/along.h"

#include "plait/core/error.h"
#include "plait/ops/shape.h"
#include "plait/tensor/trace.h"

namespace plait {

void expect_axis(const ir::Inference& in, int64_t axis, size_t operand) {
  if (axis >= 0 && axis < in.operands[operand].rank()) return;
  throw IndexError("{}: axis {} of {}", in.primitive.name, axis, in.operands[operand].text())
      .at(in.location);
}

void expect_some(std::string_view function, const Tensor& x, Dim size) {
  bool is_none = size.is_number() && size.number() < 1;
  if (Trace* const trace = Trace::current(); trace != nullptr && !size.is_number()) {
    SizeContext& sizes = trace->sizes();
    is_none = sizes.actual(size) == 0;
    if (!is_none && sizes.facts().prove(size >= Dim(1)) != true) sizes.assume(size >= Dim(1));
  }
  if (!is_none) return;
  throw ShapeError("{}: a size of 0 in {}", function, x.type().text()).at(Location::of_caller());
}

int64_t normal_axis(int64_t axis, size_t rank) { return static_cast<int64_t>(axis_of(axis, rank)); }

std::vector<Tensor> all_batched(std::span<const Tensor> operands,
                                const std::vector<bool>& batched) {
  const auto first = static_cast<size_t>(std::ranges::find(batched, true) - batched.begin());
  const Dim lanes = operands[first].shape(0);
  std::vector<Tensor> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{lanes};
    for (const Dim size : all[i].shape()) shape.append(size);
    all[i] = broadcast_to(all[i], shape);
  }
  return all;
}

}  // namespace plait
