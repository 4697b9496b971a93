#include "plait/ops/batch.h"

#include <algorithm>

#include "plait/ops/shape.h"

namespace plait {

std::vector<Tensor> batch_all(std::span<const Tensor> operands, const std::vector<bool>& batched) {
  std::vector<Tensor> all(operands.begin(), operands.end());
  const auto first = std::ranges::find(batched, true) - batched.begin();
  const Dim count = operands[static_cast<size_t>(first)].shape(0);
  for (size_t i = 0; i < all.size(); ++i) {
    if (batched[i]) continue;
    Shape shape{count};
    for (const Dim dim : all[i].shape()) shape.append(dim);
    all[i] = broadcast_to(all[i], shape);
  }
  return all;
}

}  // namespace plait
