#include "plait/ops/inside/samples.h"

#include <algorithm>

#include "plait/ops/arrays/reshape.h"

namespace plait {

void expect_samples(const ir::Inference& inference, int64_t samples) {
  for (size_t i = 0; i < inference.operands.size(); ++i) {
    const Shape& shape = inference.array(i).shape();
    const auto rank = static_cast<int64_t>(shape.rank());
    if (samples < 0 || samples > rank) {
      inference.fail("operand {} has {} dimensions, but {} batch dimensions are needed", i, rank,
                     samples);
    }
    const auto count = static_cast<size_t>(samples);
    const auto first = inference.array(0).shape().dims().first(count);
    if (!std::ranges::equal(shape.dims().first(count), first,
                            [](Dim a, Dim b) { return same(a, b); })) {
      inference.fail("operands with different numbers of samples: {} and {}",
                     inference.array(0).text(), inference.array(i).text());
    }
  }
}

void for_each_sample(std::span<const Array> operands, int64_t samples, SampleUse use) {
  const auto axes = static_cast<size_t>(samples);
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < axes; ++axis) sizes.push_back(operands[0].sizes()[axis]);
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<int64_t> place(axes, 0);
  for (;;) {
    std::vector<Array> here;
    for (const Array& operand : operands) {
      Layout layout = operand.layout();
      for (const int64_t index : place) layout = layout.picked(0, index);
      here.push_back(operand.view(std::move(layout)));
    }
    use(here, place);
    size_t axis = axes;
    while (axis > 0 && ++place[axis - 1] == sizes[axis - 1]) place[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<Tensor> repeated_over_samples(std::span<const Tensor> operands,
                                          const std::vector<bool>& batched) {
  const auto first = std::ranges::find(batched, true) - batched.begin();
  const Dim count = operands[static_cast<size_t>(first)].shape(0);
  std::vector<Tensor> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    std::vector<Dim> dims{count};
    const Shape shape = all[i].shape();
    dims.insert(dims.end(), shape.begin(), shape.end());
    all[i] = broadcast_to(all[i], Shape(dims));
  }
  return all;
}

}  // namespace plait
