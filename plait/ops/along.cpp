#include "plait/ops/along.h"

#include "plait/core/error.h"
#include "plait/ops/shape.h"

namespace plait {

void expect_axis(const ir::Inference& in, int64_t axis, size_t operand) {
  if (axis >= 0 && axis < in.operands[operand].rank()) return;
  throw IndexError("{}: axis {} of {}", in.primitive.name, axis, in.operands[operand].text())
      .at(in.location);
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
